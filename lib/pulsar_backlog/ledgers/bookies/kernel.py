"""The compiled loops over entry logs and journals: chains of records, and what stands between them.

```
record  [ size i32 ][ ledger id i64 ][ entry id i64 ][ LAC i64 ][ length i64 ][ digest ][ payload ]
          0           4                12                20         28            36
```
`size` counts from the ledger id on. No Python object per entry; nothing is read outside the buffer that is given,
whatever the sizes in it say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.big_endian import i32, i64
from pulsar_backlog.wire.loops import Loop

END, NEED_MORE, FULL = range(3)
"""Why a walk stopped: at the end; at the window's end; because the arrays are full."""

POSITION, RECORDS, REASON, NEEDED, GAP_START, GAP_DIRTY, GAPS = range(7)
"""What `walk_records` keeps in its state: where it is, records found, why it stopped, how many bytes from the position
on it needs; where the gap that it is in began (-1 in none, counted from the file's start) and whether it holds anything
but padding; and how many gaps that do it has left behind."""
STATE_SIZE = 7

SIZE_BYTES = 4
META_BYTES = 32
"""Ledger id, entry id, LAC and length."""
HEAD_BYTES = SIZE_BYTES + META_BYTES
MAX_RECORD_BYTES = 256 * 1024 * 1024
"""Largest record that is believed; brokers take entries of 5 MiB unless told otherwise."""

MASTER_KEY, FENCE, FORCE, EXPLICIT_LAC = -0x1000, -0x2000, -0x4000, -0x8000
"""Entry ids of a journal's control records."""

LEDGER, ENTRY, LAC, LENGTH, PLACE, SIZE = range(6)
"""Rows of the array that records are given in: the place counts from the window's start."""
COLUMNS = 6

_MAX_ENTRY_ID = 1 << 40
_MAX_LENGTH = 1 << 56
_MAP_HEAD_BYTES = 20
_CHUNK_BYTES = 64
_JOURNAL_PADDING = -0x100
_PADDING_BYTE = 0xF0
_NO_LEDGER = -1
_RECORD, _NONE, _SKIP, _WAIT = range(4)


@Loop
def _is_record(buffer: Any, at: int, end: int, journal: bool) -> int:
    """Whether a record begins here: `_RECORD`, one without an entry `_SKIP`, `_NONE`, or `_WAIT` for more bytes."""
    left, there = end - at, buffer.size - at
    if left < SIZE_BYTES + 16:
        return _NONE
    if there < SIZE_BYTES + 16:
        return _WAIT
    size = i32(buffer, at)
    if size < 16 or size > MAX_RECORD_BYTES or size > left - SIZE_BYTES:
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


@Loop
def _begins_again(buffer: Any, at: int, end: int, journal: bool) -> int:
    """Whether records go on here after a gap: a record, and behind it another one, padding or the end."""
    found = _is_record(buffer, at, end, journal)
    if found in (_WAIT, _NONE):
        return int(found)
    if found == _SKIP:
        is_map = i64(buffer, at + 12) == -2 and i32(buffer, at) >= _MAP_HEAD_BYTES
        return _SKIP if is_map else _NONE
    after = at + SIZE_BYTES + i32(buffer, at)
    if after >= end or after >= buffer.size:
        return _RECORD
    following = _is_record(buffer, after, end, journal)
    is_padding = buffer[after] == 0 or buffer[after] == _PADDING_BYTE or buffer[after] == 0xFF
    return _RECORD if following != _NONE or is_padding else _NONE


@Loop
def _journal_padding(buffer: Any, at: int, end: int) -> int:
    """Bytes of the padding record `[ -256 i32 ][ n i32 ][ n bytes ]` at this place; 0 where there is none."""
    if end - at < 8 or buffer.size - at < 8 or i32(buffer, at) != _JOURNAL_PADDING:
        return 0
    n = i32(buffer, at + 4)
    return 8 + n if 0 <= n <= end - at - 8 else 0


@Loop
def _close_gap(state: Any, gaps: Any, at: int) -> None:
    if state[GAP_START] >= 0 and state[GAP_DIRTY]:
        if state[GAPS] < gaps.shape[0]:
            gaps[state[GAPS], 0] = state[GAP_START]
            gaps[state[GAPS], 1] = at
        state[GAPS] += 1
    state[GAP_START] = -1
    state[GAP_DIRTY] = 0


@Loop
def _step(buffer: Any, base: int, end: int, journal: bool, state: Any, gaps: Any) -> int:
    """Go on to the next record from the state's position: `_RECORD`, or `_WAIT`, or `_NONE` at the end."""
    position = state[POSITION]
    while position < end:
        in_gap = state[GAP_START] >= 0
        padding = _journal_padding(buffer, position, end) if journal and not in_gap else 0
        if padding:
            position += padding
            continue
        found = _begins_again(buffer, position, end, journal) if in_gap else _is_record(buffer, position, end, journal)
        if found == _WAIT or (buffer.size <= position):
            state[POSITION] = position
            return _WAIT
        if found == _NONE:
            if not in_gap:
                state[GAP_START] = base + position
            byte = buffer[position]
            if byte not in (0, _PADDING_BYTE):
                state[GAP_DIRTY] = 1
            position += 1
            continue
        _close_gap(state, gaps, base + position)
        if found == _RECORD:
            state[POSITION] = position
            return _RECORD
        position += SIZE_BYTES + i32(buffer, position)
    state[POSITION] = position
    _close_gap(state, gaps, base + end)
    return _NONE


@Loop
def walk_records(
    buffer: Any, base: int, end: int, journal: bool, whole: bool, state: Any, records: Any, gaps: Any
) -> None:
    """Follow the records from `state[POSITION]` as far as window and arrays allow.

    Args:
        buffer: the window (uint8).
        base: place of the window in the file.
        end: end of the file, or of what is looked at, counted from the window's start; may lie beyond the window.
        journal: whether it is a journal: it has padding records and control records.
        whole: whether a record must lie in the window wholly, not only its head.
        state: int64, position and gap in, all of the state out.
        records: int64, out: a column for each record, rows as `LEDGER` and following.
        gaps: int64, out: first byte and end, in the file, of stretches that are neither record nor padding; what finds
            no room is only counted.
    """
    found = 0
    state[NEEDED] = HEAD_BYTES
    while True:
        step = _step(buffer, base, end, journal, state, gaps)
        position = state[POSITION]
        if step != _RECORD:
            state[REASON] = END if step == _NONE else NEED_MORE
            break
        size = i32(buffer, position)
        if whole and position + SIZE_BYTES + size > buffer.size:
            state[REASON], state[NEEDED] = NEED_MORE, SIZE_BYTES + size
            break
        if found == records.shape[1]:
            state[REASON] = FULL
            break
        has_meta = size >= META_BYTES and buffer.size - position >= HEAD_BYTES
        records[LEDGER, found] = i64(buffer, position + 4)
        records[ENTRY, found] = i64(buffer, position + 12)
        records[LAC, found] = i64(buffer, position + 20) if has_meta else -1
        records[LENGTH, found] = i64(buffer, position + 28) if has_meta else -1
        records[PLACE, found] = position
        records[SIZE, found] = size
        found += 1
        state[POSITION] = position + SIZE_BYTES + size
    state[RECORDS] = found


@Loop
def compare_copies(buffer: Any, starts: Any, lengths: Any, others: Any, differs: Any) -> None:
    """Where entries and their copies differ first.

    Args:
        buffer: holds all of them.
        starts: two rows: first byte of each entry, and of its copy.
        lengths: two rows: bytes of each.
        others: two rows: a number of each that must be equal as well.
        differs: out: first byte that differs, counted from the entry's start; -1 where nothing does, -2 where only the
            numbers do.
    """
    for i in range(differs.size):
        first, second = starts[0, i], starts[1, i]
        shorter = min(lengths[0, i], lengths[1, i])
        at = 0
        while at + _CHUNK_BYTES <= shorter:
            any_bit = np.uint8(0)
            for k in range(_CHUNK_BYTES):  # without a way out, so that the compiler does many at once
                any_bit |= buffer[first + at + k] ^ buffer[second + at + k]
            if any_bit:
                break
            at += _CHUNK_BYTES
        while at < shorter and buffer[first + at] == buffer[second + at]:
            at += 1
        if at < shorter or lengths[0, i] != lengths[1, i]:
            differs[i] = at
        else:
            differs[i] = -1 if others[0, i] == others[1, i] else -2
