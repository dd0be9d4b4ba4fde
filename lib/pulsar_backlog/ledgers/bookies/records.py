"""The compiled loops over entry logs and journals: chains of records, and what stands between them.

A record that its digest proves is believed. One that nothing proves may be damaged, so its size and ids may be wrong:
it is given as `UNPROVED` where another record, padding or the end follows it and no proved record begins inside it, and
is a gap up to that one otherwise. Records go on behind a gap where the next one is proved, or may be one whose digest
is not known. Time is linear in bytes, whatever the sizes in them say, and nothing is read outside the buffer.

To import this loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.ledgers.bookies.crc import SUM_BYTES, fill_sums, quick_proof, summed_proof
from pulsar_backlog.ledgers.bookies.kernel import (
    COLUMNS,
    ENTRY,
    HEAD_BYTES,
    LAC,
    LEDGER,
    LENGTH,
    MAX_RECORD_BYTES,
    META_BYTES,
    PLACE,
    PROOF,
    SIZE,
    SIZE_BYTES,
    UNPROVED,
)
from pulsar_backlog.wire import big_endian
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.jit import compiled

END, NEED_MORE = range(2)
"""Why a walk stopped: at the end; at the window's end."""

POSITION, RECORDS, REASON, NEEDED, GAP_START, GAP_DIRTY, GAPS = range(7)
"""What `walk_records` keeps in its state: where it is, records found, why it stopped, how many bytes from the position
on it needs; where the gap that it is in began (-1 in none, counted from the file's start) and whether it holds anything
but padding; and how many gaps that do it has left behind."""
_HAS_SUMS, _FOUND_PROOF, _SEARCHED, _NEXT = range(7, 11)
"""Besides, of one window: whether its sums are made; what proved the record at the position; up to where a proved
record was searched, and where the last one begins that was found."""
_STATE_SIZE = 11

MASTER_KEY, FENCE, FORCE, EXPLICIT_LAC = -0x1000, -0x2000, -0x4000, -0x8000
"""Entry ids of a journal's control records."""

_MAX_ENTRY_ID = 1 << 40
_MAX_LENGTH = 1 << 56
_MAP_HEAD_BYTES = 20
_JOURNAL_PADDING = -0x100
_MAX_PADDING_BYTES = 1024 * 1024
"""Most bytes that a journal pads at once: it aligns to 512 unless told otherwise, to its write buffer at most."""
_PADDING_BYTE = 0xF0
_FLUSH_BYTES = 4096
"""To whose multiples direct I/O pads what it writes."""
_NO_LEDGER = -1
_RECORD, _NONE, _SKIP, _WAIT = range(4)
_NOWHERE = -1

i32, i64 = big_endian.i32.compiled, big_endian.i64.compiled


def new_state() -> Int64s:
    """The state before the first record of a file."""
    state = np.zeros(_STATE_SIZE, dtype=np.int64)
    state[GAP_START], state[REASON] = _NOWHERE, NEED_MORE
    return state


def walk_records(buffer: Bytes, base: int, end: int, journal: bool, state: Int64s, gaps: Int64s) -> Int64s:
    """Follow the records from `state[POSITION]` as far as the window has them whole.

    Args:
        buffer: the window.
        base: place of the window in the file.
        end: end of the file, or of what is looked at, counted from the window's start; may lie beyond the window.
        journal: whether it is a journal: it has padding records and control records.
        state: position and gap in, all of the state out.
        gaps: out: first byte and end, in the file, of stretches that are neither record nor padding; what finds no room
            is only counted.

    Returns:
        A column for each record, rows as `LEDGER` and following.
    """
    records = np.empty((COLUMNS, buffer.size // (SIZE_BYTES + 16) + 1), dtype=np.int64)
    sums = np.empty((2, buffer.size // SUM_BYTES + 1), dtype=np.int64)
    state[_HAS_SUMS], state[_SEARCHED], state[_NEXT] = 0, 0, _NOWHERE
    _follow_records(buffer, base, end, journal, state, sums, records, gaps)
    found: Int64s = records[:, : int(state[RECORDS])]
    return found


@compiled
def _is_record(buffer: Any, at: int, end: int, journal: bool) -> int:
    """Whether a record begins here: `_RECORD`, one without an entry `_SKIP`, `_NONE`, or `_WAIT` for more bytes."""
    remaining, there = end - at, buffer.size - at
    if remaining < SIZE_BYTES + 16:
        return _NONE
    if there < SIZE_BYTES + 16:
        return _WAIT
    size = i32(buffer, at)
    if size < 16 or size > MAX_RECORD_BYTES or size > remaining - SIZE_BYTES:
        return _NONE
    ledger, entry = i64(buffer, at + 4), i64(buffer, at + 12)
    if ledger == _NO_LEDGER and not journal:
        return _SKIP
    if ledger < 0:
        return _NONE
    if entry < 0:
        control = entry in (MASTER_KEY, FENCE, FORCE, EXPLICIT_LAC)
        return _RECORD if journal and control else _NONE
    if size < META_BYTES or entry >= _MAX_ENTRY_ID:
        return _NONE
    if there < HEAD_BYTES:
        return _WAIT
    lac, length = i64(buffer, at + 20), i64(buffer, at + 28)
    return _RECORD if -1 <= lac < _MAX_ENTRY_ID and 0 <= length < _MAX_LENGTH else _NONE


@compiled
def _journal_padding(buffer: Any, at: int, end: int) -> int:
    """Bytes of the padding record `[ -256 i32 ][ n i32 ][ n bytes ]` at this place; 0 where there is none."""
    if end - at < 8 or buffer.size - at < 8 or i32(buffer, at) != _JOURNAL_PADDING:
        return 0
    n = i32(buffer, at + 4)
    return 8 + n if 0 <= n <= min(end - at - 8, _MAX_PADDING_BYTES) else 0


@compiled
def _close_gap(state: Any, gaps: Any, at: int) -> None:
    if state[GAP_START] >= 0 and state[GAP_DIRTY]:
        if state[GAPS] < gaps.shape[0]:
            gaps[state[GAPS], 0] = state[GAP_START]
            gaps[state[GAPS], 1] = at
        state[GAPS] += 1
    state[GAP_START] = -1
    state[GAP_DIRTY] = 0


@compiled
def _is_followed(buffer: Any, base: int, after: int, end: int, journal: bool) -> int:
    """Whether another record, padding or the end stands behind a record: `_RECORD`, `_NONE`, or `_WAIT`."""
    if after >= end:
        return _RECORD
    flushed = min(after + _FLUSH_BYTES - (base + after) % _FLUSH_BYTES, end)
    if max(flushed, min(after + HEAD_BYTES, end)) > buffer.size:
        return _WAIT
    if _is_record(buffer, after, end, journal) != _NONE or (journal and _journal_padding(buffer, after, end)):
        return _RECORD
    byte = buffer[after]
    if byte not in (0, _PADDING_BYTE, 0xFF):
        return _NONE
    for at in range(after, flushed):
        if buffer[at] != byte:
            return _NONE
    return _RECORD


@compiled
def _proof(buffer: Any, at: int, state: Any, sums: Any) -> int:
    """Which digest the record at `at` carries; it lies in the window wholly."""
    size = i32(buffer, at)
    if not state[_HAS_SUMS]:
        proof = quick_proof(buffer, at, size)
        if proof != UNPROVED:
            return int(proof)
        fill_sums(buffer, sums)
        state[_HAS_SUMS] = 1
    return int(summed_proof(buffer, at, size, sums))


@compiled
def _is_entry(buffer: Any, at: int, end: int) -> bool:
    """Whether an entry of a ledger may begin here, and not a record without one."""
    return bool(_is_record(buffer, at, end, False) == _RECORD)


@compiled
def _inside(buffer: Any, start: int, stop: int, end: int, state: Any, sums: Any) -> int:
    """Where from `start` up to `stop` a proved record begins, or one that the window does not have wholly.

    `start` only ascends: no byte is looked at twice.
    """
    if state[_NEXT] >= start:
        return state[_NEXT] if state[_NEXT] < stop else _NOWHERE
    for at in range(max(start, state[_SEARCHED]), min(stop, buffer.size - HEAD_BYTES)):
        if buffer[at + 12] | buffer[at + 13] | buffer[at + 14] | buffer[at + 28]:
            continue  # most places are ruled out by these bytes of its ids, which are zero
        if not _is_entry(buffer, at, end):
            continue
        if at + SIZE_BYTES + i32(buffer, at) > buffer.size or _proof(buffer, at, state, sums) != UNPROVED:
            state[_NEXT], state[_SEARCHED] = at, at + 1
            return at
    state[_SEARCHED] = max(state[_SEARCHED], stop)
    return _NOWHERE


@compiled
def _judge(buffer: Any, base: int, end: int, journal: bool, found: int, state: Any, sums: Any) -> int:
    """What stands at the position, where there is `found` by its head: that, or `_NONE`, or `_WAIT`."""
    at = state[POSITION]
    state[_FOUND_PROOF] = UNPROVED
    if found in (_NONE, _WAIT):
        return found
    after = at + SIZE_BYTES + i32(buffer, at)
    if after > buffer.size:
        state[NEEDED] = after - at
        return _WAIT
    if found == _RECORD and i64(buffer, at + 12) >= 0:
        state[_FOUND_PROOF] = _proof(buffer, at, state, sums)
        if state[_FOUND_PROOF] != UNPROVED:
            return _RECORD
    in_gap = state[GAP_START] >= 0
    if in_gap and found == _SKIP and not (i64(buffer, at + 12) == -2 and i32(buffer, at) >= _MAP_HEAD_BYTES):
        return _NONE
    followed = _is_followed(buffer, base, after, end, journal)
    if followed == _WAIT:
        state[NEEDED] = after - at + _FLUSH_BYTES + HEAD_BYTES
        return _WAIT
    if followed == _NONE or _inside(buffer, at + 1, after, end, state, sums) != _NOWHERE:
        return _NONE
    return found


@compiled
def _step(buffer: Any, base: int, end: int, journal: bool, state: Any, gaps: Any, sums: Any) -> int:
    """Go on to the next record from the state's position: `_RECORD`, or `_WAIT`, or `_NONE` at the end."""
    while state[POSITION] < end:
        position = state[POSITION]
        if position >= buffer.size:
            return _WAIT
        padding = _journal_padding(buffer, position, end) if journal and state[GAP_START] < 0 else 0
        if position + padding > buffer.size:
            state[NEEDED] = padding
            return _WAIT
        if padding and _inside(buffer, position + 1, position + padding, end, state, sums) == _NOWHERE:
            state[POSITION] += padding
            continue
        record = _judge(buffer, base, end, journal, _is_record(buffer, position, end, journal), state, sums)
        if record == _WAIT:
            return _WAIT
        if record == _NONE:
            if state[GAP_START] < 0:
                state[GAP_START] = base + position
            if buffer[position] not in (0, _PADDING_BYTE):
                state[GAP_DIRTY] = 1
            state[POSITION] += 1
            continue
        _close_gap(state, gaps, base + position)
        if record == _RECORD:
            return _RECORD
        state[POSITION] += SIZE_BYTES + i32(buffer, position)
    _close_gap(state, gaps, base + end)
    return _NONE


@compiled
def _follow_records(
    buffer: Any, base: int, end: int, journal: bool, state: Any, sums: Any, records: Any, gaps: Any
) -> None:
    """`walk_records`, with room for sums and records."""
    found = 0
    while True:
        state[NEEDED] = HEAD_BYTES
        step = _step(buffer, base, end, journal, state, gaps, sums)
        position = state[POSITION]
        if step != _RECORD:
            state[REASON] = END if step == _NONE else NEED_MORE
            break
        size = i32(buffer, position)
        has_meta = size >= META_BYTES
        records[LEDGER, found] = i64(buffer, position + 4)
        records[ENTRY, found] = i64(buffer, position + 12)
        records[LAC, found] = i64(buffer, position + 20) if has_meta else -1
        records[LENGTH, found] = i64(buffer, position + 28) if has_meta else -1
        records[PLACE, found] = position
        records[SIZE, found] = size
        records[PROOF, found] = state[_FOUND_PROOF]
        found += 1
        state[POSITION] = position + SIZE_BYTES + size
    state[RECORDS] = found
