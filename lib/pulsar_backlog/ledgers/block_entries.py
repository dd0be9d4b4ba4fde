"""The loops over a data block: the chain of entries, and the padding behind it. No Python object per entry.

An entry is `[ length i32 ][ entry id i64 ][ body ]`. The caller gives a window of the object; a block may reach beyond
it. Nothing is read outside the window, whatever the lengths say.

The loop over the chain is written for numba. To load numba takes longer than to interpret the loop over a small ledger,
so that is what happens to one entry that a person asks for (`walker_of`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pulsar_backlog.wire.big_endian import i32, i64
from pulsar_backlog.wire.loops import Loop

END, PADDING, NEED_MORE, OVERRUN, CHAIN_LOST, SURPLUS = range(6)
"""Why the chain stopped: at the block's end; where only padding can follow; at the window's end; at a length that
cannot be; at ids that no longer follow any chain; at an entry whose id belongs to the next block."""

POSITION, EXPECTED_ID, ENTRIES, STRAYS, REASON, NEEDED, STORED_ID = range(7)
"""What `walk_entries` leaves in its state: where and at which id it stopped, entries and strays found, why, how many
bytes from the position on it needs, and the id stored at the stop."""
STATE_SIZE = 7

LOOK_AHEAD = 8
"""Entries looked at to decide whether a stray id is one damaged number, a gap, or the end of the chain."""

_HEADER = 12
_PADDING_WORD = -19079507  # FEDCDEAD as a signed number
_ENTRY = -1
_KEEP, _RESYNC, _LOST = range(3)

SMALL_BYTES = 8 * 1024 * 1024
"""Windows up to this size are walked by the interpreter where numba is not loaded yet."""
_STRETCH_BYTES = 64 * 1024


@Loop
def _judge_stray(buffer: Any, at: int, end: int, expected: int, limit: int) -> int:
    """What an entry with another id than expected is: keep the place's id, go on from the stored one, or give up."""
    stored = i64(buffer, at + 4)
    forward = stored > expected and (limit < 0 or stored < limit)
    window_end = min(end, buffer.size)
    position = at
    for step in range(1, LOOK_AHEAD + 1):
        position += _HEADER + i32(buffer, position)
        ends = end - position < _HEADER or (position + 4 <= window_end and i32(buffer, position) == _PADDING_WORD)
        if ends:
            return _RESYNC if forward and stored + step == limit else _KEEP
        if position + _HEADER > window_end:
            return _KEEP
        length = i32(buffer, position)
        if length < 0 or length > end - position - _HEADER:
            return _LOST
        following = i64(buffer, position + 4)
        if following == expected + step:
            return _KEEP
        if following == stored + step:
            return _RESYNC if forward else _KEEP
    return _LOST


@Loop
def _stop_at(buffer: Any, position: int, end: int) -> int:
    """Why no whole entry can be taken at `position`, or `_ENTRY` when one can."""
    if end - position < _HEADER:
        return END if position == end else PADDING
    if buffer.size - position < _HEADER:
        return NEED_MORE
    length = i32(buffer, position)
    if length == _PADDING_WORD:
        return PADDING
    if length < 0 or length > end - position - _HEADER:
        return OVERRUN
    return _ENTRY if length <= buffer.size - position - _HEADER else NEED_MORE


@Loop
def walk_entries(
    buffer: Any, end: int, limit: int, is_last: bool, state: Any, ids: Any, offsets: Any, lengths: Any, strays: Any
) -> None:
    """Follow the chain from `state[POSITION]` as far as the window allows.

    Args:
        buffer: the window (uint8).
        end: end of the block, counted from the window's start; may lie beyond the window.
        limit: first id that is not the block's any more, or -1 when unknown.
        is_last: whether ids from `limit` on are still given.
        state: int64, position and expected id in, all of the state out.
        ids: out, by entry; room for every 12 bytes of the window.
        offsets: out, first byte of each body in the window.
        lengths: out, bytes of each body.
        strays: out, rows of position, expected and stored id; what finds no room is only counted.
    """
    position, expected = state[POSITION], state[EXPECTED_ID]
    entries = 0
    stray_count = 0
    stored = np.int64(-1)
    while True:
        reason = _stop_at(buffer, position, end)
        if reason != _ENTRY:
            break
        length = i32(buffer, position)
        stored = i64(buffer, position + 4)
        if stored != expected:
            verdict = _judge_stray(buffer, position, end, expected, limit)
            if stray_count < strays.shape[0]:
                strays[stray_count, 0] = position
                strays[stray_count, 1] = expected
                strays[stray_count, 2] = stored
            stray_count += 1
            if verdict == _LOST:
                reason = CHAIN_LOST
                break
            if verdict == _RESYNC:
                expected = stored
        if not is_last and limit >= 0 and expected >= limit:
            reason = SURPLUS
            break
        ids[entries] = expected
        offsets[entries] = position + _HEADER
        lengths[entries] = length
        entries += 1
        expected += 1
        position += _HEADER + length
    needed = _HEADER
    if reason == NEED_MORE and buffer.size - position >= _HEADER:
        needed += i32(buffer, position)
    state[POSITION], state[EXPECTED_ID], state[ENTRIES] = position, expected, entries
    state[STRAYS], state[REASON], state[NEEDED], state[STORED_ID] = stray_count, reason, needed, stored


def walker_of(window_bytes: int) -> Callable[..., Any]:
    """`walk_entries` for a window of this size: interpreted, or compiled where that pays."""
    small = window_bytes <= SMALL_BYTES and "numba" not in sys.modules
    return walk_entries.interpreted if small else walk_entries.compiled


def first_bad_padding(buffer: Any, start: int, end: int, phase: int) -> int:
    """First place in `buffer[start:end]` that is not the padding whose byte `phase` (0-3) stands at `start`, or -1."""
    pattern = np.tile(np.roll(np.array([0xFE, 0xDC, 0xDE, 0xAD], dtype=np.uint8), -phase), _STRETCH_BYTES // 4)
    for position in range(start, end, _STRETCH_BYTES):
        stretch = buffer[position : min(end, position + _STRETCH_BYTES)]
        differs = stretch != pattern[: stretch.size]
        if differs.any():
            return position + int(differs.argmax())
    return -1
