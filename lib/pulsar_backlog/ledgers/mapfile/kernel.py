"""The compiled loops over a MapFile: chains of records, lengths, entry ids. No Python object per entry.

Nothing is read outside the buffer that is given, whatever the lengths in it say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.big_endian import i32, i64
from pulsar_backlog.wire.loops import Loop

END, NEED_MORE, OVERRUN, BAD_LENGTH, BAD_KEY, BAD_SYNC = range(6)
"""Why a chain of records stopped: at the end of its part; at the window's end; at a record longer than the part; at a
length that cannot be; at a key that is none; at an escape with another marker than the file's."""

POSITION, RECORDS, REASON, NEEDED = range(4)
"""What `walk_records` leaves in its state: where it stopped, records found, why, and how many bytes from the position
on it needs."""
STATE_SIZE = 4

KEY_BYTES = 8
RECORD_HEAD_BYTES = 8
LENGTH_BYTES = 4

EXPECTED, STRAYS = range(2)
"""What `assign_ids` leaves in its state: the id that comes next, and how many keys were not the ones expected."""
ABSENT, VALID, MISMATCH = range(3)
"""What an entry's own checksum says."""
LOOK_AHEAD = 8
"""Keys looked at to decide whether one that is not expected is damaged, or begins after a gap."""

_SYNC_BYTES = 16
_RECORD, _ESCAPE = -1, -2


@Loop
def _is_sync(buffer: Any, at: int, sync: Any) -> bool:
    same = True
    for i in range(_SYNC_BYTES):
        same &= buffer[at + i] == sync[i]
    return same


@Loop
def _stop_at(buffer: Any, position: int, end: int, sync: Any, largest: int) -> Any:
    """Why no whole record can be taken at `position`, or `_RECORD` or `_ESCAPE`; and the bytes that are needed."""
    remaining, there = end - position, buffer.size - position
    if remaining <= 0:
        return END, 0
    if remaining < LENGTH_BYTES or there < LENGTH_BYTES:
        return (OVERRUN if remaining < LENGTH_BYTES else NEED_MORE), LENGTH_BYTES
    length = i32(buffer, position)
    if length == -1:
        needed = LENGTH_BYTES + _SYNC_BYTES
        if needed > remaining or needed > there:
            return (OVERRUN if needed > remaining else NEED_MORE), needed
        return (_ESCAPE if _is_sync(buffer, position + LENGTH_BYTES, sync) else BAD_SYNC), needed
    needed = RECORD_HEAD_BYTES + length
    if length < KEY_BYTES or length > largest:
        return BAD_LENGTH, needed
    if there >= RECORD_HEAD_BYTES and i32(buffer, position + LENGTH_BYTES) != KEY_BYTES:
        return BAD_KEY, needed
    if needed > remaining or needed > there:
        return (OVERRUN if needed > remaining else NEED_MORE), needed
    return _RECORD, needed


@Loop
def walk_records(
    buffer: Any, end: int, sync: Any, largest: int, state: Any, places: Any, keys: Any, starts: Any, lengths: Any
) -> None:
    """Follow records `[ length i32 ][ key length i32 ][ key i64 ][ value ]` as far as window and arrays allow.

    Args:
        buffer: the window (uint8).
        end: end of the part, counted from the window's start; may lie beyond the window.
        sync: the file's marker, 16 bytes.
        largest: most bytes that a record may have.
        state: int64, position in, all of the state out.
        places: out, first byte of each record.
        keys: out.
        starts: out, first byte of each value.
        lengths: out, bytes of each value.
    """
    position, records = state[POSITION], 0
    while True:
        reason, needed = _stop_at(buffer, position, end, sync, largest)
        if reason == _ESCAPE:
            position += needed
            continue
        if reason == _RECORD and records == places.size:
            reason = NEED_MORE
        if reason != _RECORD:
            break
        places[records] = position
        keys[records] = i64(buffer, position + RECORD_HEAD_BYTES)
        starts[records] = position + RECORD_HEAD_BYTES + KEY_BYTES
        lengths[records] = needed - RECORD_HEAD_BYTES - KEY_BYTES
        records += 1
        position += needed
    state[POSITION], state[RECORDS], state[REASON], state[NEEDED] = position, records, reason, needed


@Loop
def read_vints(buffer: Any, values: Any) -> int:
    """Read as many vints from the start of `buffer` as `values` has room for; where they end, or -1 if too few."""
    at = 0
    for i in range(values.size):
        if at >= buffer.size:
            return -1
        first = np.int64(np.int8(buffer[at]))
        at += 1
        if first >= -112:
            values[i] = first
            continue
        size = -120 - first if first < -120 else -112 - first
        if at + size > buffer.size:
            return -1
        word = np.uint64(0)
        for _ in range(size):
            word = (word << np.uint64(8)) | np.uint64(buffer[at])
            at += 1
        values[i] = ~np.int64(word) if first < -120 else np.int64(word)
    return at


@Loop
def read_keys(buffer: Any, keys: Any) -> None:
    """Read keys that follow each other from the start of `buffer` on; it holds all that there is room for."""
    for i in range(keys.size):
        keys[i] = i64(buffer, KEY_BYTES * i)


@Loop
def read_counts(buffer: Any, starts: Any, counts: Any) -> None:
    """The number before each value, `[ n i32 ]`; every one of `starts` has four bytes behind it."""
    for i in range(starts.size):
        counts[i] = i32(buffer, starts[i])


@Loop
def walk_values(buffer: Any, lengths: Any) -> int:
    """Lengths of values `[ n i32 ][ n bytes ]` that follow each other, by their own numbers; how many there are.

    A value counts its first four bytes. The last one that is not whole, or whatever cannot be one, ends it.
    """
    at = count = 0
    while count < lengths.size and buffer.size - at >= LENGTH_BYTES:
        size = i32(buffer, at)
        if size < 0 or size > buffer.size - at - LENGTH_BYTES:
            break
        lengths[count] = LENGTH_BYTES + size
        at += LENGTH_BYTES + size
        count += 1
    return count


_KEEP, _RESYNC, _SKIP = range(3)


@Loop
def _judge(keys: Any, at: int, expected: int, bound: int, trusted: bool) -> int:
    """What a key that is not `expected` is: damaged, the first one after a gap, or one that was there before."""
    key = keys[at]
    forward = key > expected and (bound < 0 or key < bound)
    for step in range(1, LOOK_AHEAD + 1):
        if at + step == keys.size:
            return _RESYNC if forward and (trusted or key + step == bound) else _KEEP
        following = keys[at + step]
        if following == expected + step:
            return _KEEP
        if following == key + step:
            return _RESYNC if forward else _SKIP
    return _KEEP


@Loop
def assign_ids(keys: Any, bound: int, trusted: bool, state: Any, ids: Any, strays: Any) -> None:
    """Give each record the id that its key, and the keys around it, make certain; ids only ascend.

    Args:
        keys: as stored, in order.
        bound: first id that is not of this part any more by what is promised, or -1 when unknown: no gap leads there.
        trusted: whether a key that nothing speaks against is believed.
        state: int64, expected id in; what comes next and the number of strays out.
        ids: out, or -2 where the record was there before.
        strays: out, rows of place and expected id of keys that are others; what finds no room is only counted.
    """
    expected, count = state[EXPECTED], 0
    for at in range(keys.size):
        ids[at] = expected
        if keys[at] != expected:
            if count < strays.shape[0]:
                strays[count, 0] = at
                strays[count, 1] = expected
            count += 1
            verdict = _judge(keys, at, expected, bound, trusted)
            if verdict == _SKIP:
                ids[at] = -2
                continue
            if verdict == _RESYNC:
                expected = keys[at]
                ids[at] = expected
        expected += 1
    state[EXPECTED], state[STRAYS] = expected, count
