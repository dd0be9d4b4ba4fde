"""Raw LZ4 and Snappy blocks decompressed piece by piece: for messages too large to be held whole.

    LZ4     sequences of [ token ][ more literal length ][ literals ][ offset u16le ][ more match length ]
            token: literal length in the high half, match length - 4 in the low one; 15 goes on in bytes up to the
            first that is not 255. The last sequence ends after its literals. Offsets reach back 65,535 bytes.
    SNAPPY  [ length of the whole, varint ] and elements; the low two bits of an element's tag say which:
            0 literal (length - 1 in the tag; 60 to 63: in 1 to 4 bytes that follow, little-endian)
            1 copy of 4 to 11 bytes, offset of 11 bits    2 copy, offset u16le    3 copy, offset u32le

Memory: 64 KiB of history, 1 MiB of output, and the slice at hand. Snappy's format lets a copy reach back 4 GiB, but its
compressors (C++, Java, Go) cut the input into pieces of 64 KiB and never look behind one; a block that does is refused
here with `payload_too_large`, and whoever has the memory uses `codecs`.

Source: lz4/lz4 doc/lz4_Block_format.md, google/snappy format_description.txt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.codecs import CODE_TOO_LARGE, CODE_UNDECODABLE, BytesLike
from pulsar_backlog.wire.jit import compiled, copy_bytes

HISTORY_BYTES = 1 << 16
OUTPUT_BYTES = 1 << 20

_STAGE, _LITERALS, _MATCH, _OFFSET, _EXTRA, _SHIFT, _IN, _OUT, _TOTAL, _LENGTH = range(10)
_STATE_SIZE = 10
_NEED_INPUT, _FULL, _BAD, _TOO_FAR = range(4)
_PREAMBLE, _TOKEN, _LITERAL_MORE, _OFFSET_BYTES, _MATCH_MORE, _COPY_LITERALS, _COPY_MATCH = range(7)
_MAX_RUN = 1 << 40


@compiled
def _copy_literals(source: Any, output: Any, state: Any) -> None:
    """As many pending literals as input and room allow."""
    at, to = state[_IN], state[_OUT]
    length = min(state[_LITERALS], source.size - at, output.size - to)
    copy_bytes(source, at, output, to, length)
    state[_LITERALS] -= length
    state[_IN] += length
    state[_OUT] += length
    state[_TOTAL] += length


@compiled
def _copy_match(output: Any, state: Any) -> None:
    """As much of the pending match as there is room for; a match may overlap itself."""
    to, offset = state[_OUT], state[_OFFSET]
    length = min(state[_MATCH], output.size - to)
    if offset >= 8:
        copy_bytes(output, to - offset, output, to, length)
    else:
        for i in range(to, to + length):
            output[i] = output[i - offset]
    state[_MATCH] -= length
    state[_OUT] += length
    state[_TOTAL] += length


@compiled
def _copying(source: Any, output: Any, state: Any, after_literals: int) -> bool:
    """Copy what is pending; whether something still is, for want of input or room."""
    if state[_STAGE] == _COPY_LITERALS:
        _copy_literals(source, output, state)
        if state[_LITERALS] == 0:
            state[_STAGE] = after_literals
    elif state[_STAGE] == _COPY_MATCH:
        _copy_match(output, state)
        if state[_MATCH] == 0:
            state[_STAGE] = _TOKEN
    return bool(state[_STAGE] >= _COPY_LITERALS)


@compiled
def _lz4_byte(byte: int, state: Any) -> bool:
    """Take one byte that is no literal; False when it cannot be."""
    stage = state[_STAGE]
    if stage == _TOKEN:
        state[_LITERALS], state[_MATCH] = byte >> 4, (byte & 15) + 4
        state[_OFFSET] = state[_SHIFT] = 0
        more = state[_LITERALS] == 15
        state[_STAGE] = _LITERAL_MORE if more else (_COPY_LITERALS if state[_LITERALS] else _OFFSET_BYTES)
    elif stage == _LITERAL_MORE:
        state[_LITERALS] += byte
        if byte != 255:
            state[_STAGE] = _COPY_LITERALS
    elif stage == _OFFSET_BYTES:
        state[_OFFSET] |= byte << state[_SHIFT]
        state[_SHIFT] += 8
        if state[_SHIFT] == 16:
            if state[_OFFSET] == 0 or state[_OFFSET] > state[_TOTAL]:
                return False
            state[_STAGE] = _MATCH_MORE if state[_MATCH] == 19 else _COPY_MATCH
    else:
        state[_MATCH] += byte
        if byte != 255:
            state[_STAGE] = _COPY_MATCH
    return bool(state[_LITERALS] < _MAX_RUN and state[_MATCH] < _MAX_RUN)


@compiled
def _lz4_step(source: Any, output: Any, state: Any) -> int:
    """Go on until the input is used up or the output is full."""
    while True:
        if _copying(source, output, state, _OFFSET_BYTES) and state[_OUT] == output.size:
            return _FULL
        if state[_IN] == source.size:
            return _NEED_INPUT
        if state[_STAGE] < _COPY_LITERALS:
            byte = np.int64(source[state[_IN]])
            state[_IN] += 1
            if not _lz4_byte(byte, state):
                return _BAD


@compiled
def _snappy_tag(tag: int, state: Any) -> None:
    state[_OFFSET] = state[_SHIFT] = 0
    kind = tag & 3
    if kind == 0:
        length = tag >> 2
        state[_LITERALS] = length + 1 if length < 60 else 0
        state[_EXTRA] = 0 if length < 60 else length - 59
        state[_STAGE] = _COPY_LITERALS if length < 60 else _LITERAL_MORE
        return
    state[_STAGE] = _OFFSET_BYTES
    if kind == 1:
        state[_MATCH], state[_OFFSET], state[_EXTRA] = ((tag >> 2) & 7) + 4, (tag >> 5) << 8, 1
    else:
        state[_MATCH], state[_EXTRA] = (tag >> 2) + 1, 2 if kind == 2 else 4


@compiled
def _snappy_byte(byte: int, state: Any) -> int:
    """Take one byte that is no literal; `_BAD` or `_TOO_FAR` when it cannot be, else `_NEED_INPUT`."""
    stage = state[_STAGE]
    if stage == _PREAMBLE:
        state[_LENGTH] |= (byte & 127) << state[_SHIFT]
        state[_SHIFT] += 7
        if byte < 128:
            state[_STAGE] = _TOKEN
        elif state[_SHIFT] >= 35:
            return _BAD
    elif stage == _TOKEN:
        _snappy_tag(byte, state)
    else:
        state[_EXTRA] -= 1
        if stage == _LITERAL_MORE:
            state[_LITERALS] |= byte << state[_SHIFT]
        else:
            state[_OFFSET] |= byte << state[_SHIFT]
        state[_SHIFT] += 8
        if state[_EXTRA] == 0 and stage == _LITERAL_MORE:
            state[_LITERALS] += 1
            state[_STAGE] = _COPY_LITERALS
        elif state[_EXTRA] == 0:
            if state[_OFFSET] == 0 or state[_OFFSET] > state[_TOTAL]:
                return _BAD
            if state[_OFFSET] > HISTORY_BYTES:
                return _TOO_FAR
            state[_STAGE] = _COPY_MATCH
    return _NEED_INPUT


@compiled
def _snappy_step(source: Any, output: Any, state: Any) -> int:
    """Go on until the input is used up or the output is full."""
    while True:
        blocked = _copying(source, output, state, _TOKEN)
        if state[_STAGE] != _PREAMBLE and state[_TOTAL] > state[_LENGTH]:
            return _BAD
        if blocked and state[_OUT] == output.size:
            return _FULL
        if state[_IN] == source.size:
            return _NEED_INPUT
        if state[_STAGE] < _COPY_LITERALS:
            byte = np.int64(source[state[_IN]])
            state[_IN] += 1
            fault = _snappy_byte(byte, state)
            if fault != _NEED_INPUT:
                return int(fault)


def lz4_pieces(chunks: Iterable[BytesLike]) -> Iterator[memoryview]:
    """Output of a raw LZ4 block that comes in slices; each piece is good until the next is asked for.

    Raises:
        DecodeError: `payload_undecodable`.
    """
    state = np.zeros(_STATE_SIZE, dtype=np.int64)
    state[_STAGE] = _TOKEN
    yield from _pieces("LZ4", _lz4_step, state, chunks)
    if state[_STAGE] != _OFFSET_BYTES or state[_SHIFT]:
        raise _error(CODE_UNDECODABLE, "LZ4", "a block that is cut off")


def snappy_pieces(chunks: Iterable[BytesLike]) -> Iterator[memoryview]:
    """Output of a raw Snappy block that comes in slices; each piece is good until the next is asked for.

    Raises:
        DecodeError: `payload_undecodable`, or `payload_too_large` where it refers back further than 64 KiB.
    """
    state = np.zeros(_STATE_SIZE, dtype=np.int64)
    state[_STAGE] = _PREAMBLE
    yield from _pieces("SNAPPY", _snappy_step, state, chunks)
    if state[_STAGE] != _TOKEN or state[_TOTAL] != state[_LENGTH]:
        raise _error(CODE_UNDECODABLE, "SNAPPY", "a block that is cut off")


def _pieces(
    codec: str, step: Callable[[Any, Any, Any], int], state: Any, chunks: Iterable[BytesLike]
) -> Iterator[memoryview]:
    output = np.empty(HISTORY_BYTES + OUTPUT_BYTES, dtype=np.uint8)
    given = 0
    for chunk in chunks:
        source = np.frombuffer(chunk, dtype=np.uint8)
        state[_IN] = 0
        while (code := step(source, output, state)) == _FULL:
            yield output.data[given:]
            output[:HISTORY_BYTES] = output[-HISTORY_BYTES:]
            state[_OUT] = given = HISTORY_BYTES
        if code == _BAD:
            raise _error(CODE_UNDECODABLE, codec, f"bytes that are none, after {state[_TOTAL]} bytes of output")
        if code == _TOO_FAR:
            raise _error(CODE_TOO_LARGE, codec, "a reference further back than 64 KiB")
    if state[_OUT] > given:
        yield output.data[given : int(state[_OUT])]


def _error(code: str, codec: str, found: str) -> DecodeError:
    return DecodeError(code, offset=0, field="payload", expected=f"a {codec} payload", found=found)
