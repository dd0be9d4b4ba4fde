"""Streaming LZ4 and Snappy against cramjam's encoders and decoders, on any data, however it is sliced."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.raw_blocks import HISTORY_BYTES, OUTPUT_BYTES, lz4_pieces, snappy_pieces
from tests.examples import examples

Pieces = Callable[[list[bytes]], Iterator[memoryview]]
CODECS: dict[str, tuple[Callable[[bytes], bytes], Pieces]] = {
    "lz4": (lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)), lz4_pieces),
    "snappy": (lambda data: bytes(cramjam.snappy.compress_raw(data)), snappy_pieces),
}

repetitive = st.lists(
    st.one_of(
        st.binary(max_size=40), st.builds(lambda b, n: b * n, st.binary(min_size=1, max_size=9), st.integers(1, 400))
    ),
    max_size=30,
).map(b"".join)


def sliced(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def joined(pieces: Iterator[memoryview]) -> bytes:
    return b"".join(bytes(piece) for piece in pieces)


@pytest.mark.parametrize("codec", CODECS)
@examples(300)
@given(data=repetitive, size=st.integers(1, 50))
def test_what_was_compressed_comes_back(codec: str, data: bytes, size: int) -> None:
    compress, pieces = CODECS[codec]
    assert joined(pieces(sliced(compress(data), size))) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "data",
    [
        bytes(3 * OUTPUT_BYTES + 17),  # one match over many outputs: the length goes on for thousands of bytes
        os.urandom(2 * OUTPUT_BYTES + 5),  # one literal run over many outputs
        (os.urandom(HISTORY_BYTES - 9) + b"x") * 40,  # matches that reach back nearly the whole history
    ],
    ids=["zeros", "random", "far"],
)
def test_output_larger_than_is_held(codec: str, data: bytes) -> None:
    compress, pieces = CODECS[codec]
    block = compress(data)
    for size in (4093, 1 << 20):
        assert joined(pieces(sliced(block, size))) == data


@pytest.mark.parametrize("codec", CODECS)
@examples(300)
@given(data=st.binary(max_size=300))
def test_any_bytes_give_output_or_an_error(codec: str, data: bytes) -> None:
    try:
        joined(CODECS[codec][1]([data]))
    except DecodeError as error:
        assert error.code in ("payload_undecodable", "payload_too_large")


@pytest.mark.parametrize("codec", CODECS)
def test_a_block_that_is_cut_off_is_noticed(codec: str) -> None:
    compress, pieces = CODECS[codec]
    text = b"the quick brown fox jumps over the lazy dog and the quick brown fox " * 5
    block = compress(text)
    cut_short = 0
    for length in range(len(block)):
        try:
            # LZ4 ends after any literals: only the length of what comes out can tell then.
            assert len(joined(pieces([block[:length]]))) < len(text)
        except DecodeError:
            cut_short += 1
    assert cut_short > len(block) // 2


def test_offsets_before_the_beginning_are_refused() -> None:
    with pytest.raises(DecodeError):
        joined(lz4_pieces([b"\x10a\x02\x00\x00"]))  # one literal, then a match two bytes back
    with pytest.raises(DecodeError):
        joined(snappy_pieces([b"\x05\x00a\x01\x02"]))  # the same
    with pytest.raises(DecodeError):
        joined(lz4_pieces([b"\x10a\x00\x00\x00"]))  # offset 0


def test_snappy_that_reaches_back_too_far_is_told_from_damage() -> None:
    literal = b"\xf8" + HISTORY_BYTES.to_bytes(3, "little") + os.urandom(HISTORY_BYTES + 1)
    far = b"\x03" + (HISTORY_BYTES + 1).to_bytes(4, "little")  # one byte, from 65,537 back
    block = b"\x82\x80\x04" + literal + far
    assert len(bytes(cramjam.snappy.decompress_raw(block))) == HISTORY_BYTES + 2
    with pytest.raises(DecodeError) as caught:
        joined(snappy_pieces([block]))
    assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize("codec", CODECS)
def test_memory_does_not_grow_with_the_output(codec: str) -> None:
    compress, pieces = CODECS[codec]
    block = compress(bytes(64 * OUTPUT_BYTES))
    joined(pieces([compress(b"warm")]))
    tracemalloc.start()
    total = sum(len(piece) for piece in pieces(sliced(block, 1 << 16)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == 64 * OUTPUT_BYTES
    assert peak < 2 * OUTPUT_BYTES + len(block)
