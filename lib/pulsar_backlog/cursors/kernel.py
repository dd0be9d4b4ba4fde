"""Compiled loops over `PositionInfo`: millions of ranges without an object each.

    PositionInfo  1 ledger_id, 2 entry_id, 3 MessageRange*, 4 LongProperty*, 5 BatchDeletion*, 6 LongListMap*
    MessageRange  1 NestedPosition lower, 2 NestedPosition upper
    NestedPosition 1 ledger_id, 2 entry_id
    LongListMap   1 key, 2 values* (a tag each, as brokers write it)

Only the plain form is read here: each message's fields once, in order, nothing unknown inside a range or a list. What
is not plain goes to the protobuf classes (`decode.py`), which are also the oracle in the tests.
"""

from __future__ import annotations

from typing import Any

from pulsar_backlog.wire.jit import compiled
from pulsar_backlog.wire.primitives import tag_of, varint, window


@compiled
def _nested(buffer: Any, position: int, end: int) -> tuple[int, int, int]:
    """Ledger and entry of a plain NestedPosition that fills `buffer[position:end]`, and 1; or 0 when not plain."""
    if position >= end or buffer[position] != 0x08:
        return 0, 0, 0
    ledger_id, position = varint(buffer, position + 1, end)
    if position < 0 or position >= end or buffer[position] != 0x10:
        return 0, 0, 0
    entry_id, position = varint(buffer, position + 1, end)
    if position != end:
        return 0, 0, 0
    return ledger_id, entry_id, 1


@compiled
def _range(buffer: Any, start: int, end: int, out: Any, row: int) -> bool:
    """A plain MessageRange into `out[row]` (when row is not negative)."""
    if start >= end or buffer[start] != 0x0A:
        return False
    first, first_end = window(buffer, start + 1, end)
    if first_end < 0 or first_end >= end or buffer[first_end] != 0x12:
        return False
    second, second_end = window(buffer, first_end + 1, end)
    if second_end != end:
        return False
    lower_ledger, lower_entry, lower_plain = _nested(buffer, first, first_end)
    upper_ledger, upper_entry, upper_plain = _nested(buffer, second, second_end)
    if lower_plain == 0 or upper_plain == 0:
        return False
    if row >= 0:
        out[row, 0], out[row, 1], out[row, 2], out[row, 3] = lower_ledger, lower_entry, upper_ledger, upper_entry
    return True


@compiled
def _words(buffer: Any, position: int, end: int, out: Any, at: int) -> int:
    """Repeated field 2 of int64 up to `end`, into `out[at:]` when `at` is not negative; how many, -1 not plain."""
    count = 0
    while position < end:
        if buffer[position] != 0x10:
            return -1
        value, position = varint(buffer, position + 1, end)
        if position < 0:
            return -1
        if at >= 0:
            out[at + count] = value
        count += 1
    return count


@compiled
def _long_list(buffer: Any, start: int, end: int, out: Any, at: int) -> tuple[int, int]:
    """Key and number of words of a plain LongListMap; -1 words when it is not plain."""
    if start >= end or buffer[start] != 0x08:
        return 0, -1
    key, position = varint(buffer, start + 1, end)
    if position < 0:
        return 0, -1
    return key, _words(buffer, position, end, out, at)


@compiled
def _batch(buffer: Any, start: int, end: int, places: Any, row: int, out: Any, at: int) -> int:
    """Number of words of a plain BatchDeletion, whose position goes to `places[row]`; -1 when it is not plain."""
    if start >= end or buffer[start] != 0x0A:
        return -1
    inner, inner_end = window(buffer, start + 1, end)
    if inner_end < 0:
        return -1
    ledger_id, entry_id, plain = _nested(buffer, inner, inner_end)
    if plain == 0:
        return -1
    if row >= 0:
        places[row, 0], places[row, 1] = ledger_id, entry_id
    return int(_words(buffer, inner_end, end, out, at))


@compiled
def _member(
    number: int, buffer: Any, start: int, stop: int, head: Any, ranges: Any, lists: Any, list_words: Any,
    batches: Any, batch_words: Any, fill: bool,
) -> bool:  # fmt: skip
    """One field 3 to 6 in `buffer[start:stop]`, counted in `head` and kept when `fill`; False when not plain."""
    if number == 3:
        if not _range(buffer, start, stop, ranges, head[3] if fill else -1):
            return False
        head[3] += 1
    elif number == 6:
        key, count = _long_list(buffer, start, stop, list_words, head[5] if fill else -1)
        if count < 0:
            return False
        head[5] += count
        if fill:
            lists[head[4], 0], lists[head[4], 1] = key, head[5]
        head[4] += 1
    elif number == 5:
        count = _batch(buffer, start, stop, batches, head[6] if fill else -1, batch_words, head[7] if fill else -1)
        if count < 0:
            return False
        head[7] += count
        if fill:
            batches[head[6], 2] = head[7]
        head[6] += 1
    else:
        head[8] += 1
    return True


@compiled
def scan_position_info(
    buffer: Any, head: Any, ranges: Any, lists: Any, list_words: Any, batches: Any, batch_words: Any, fill: bool
) -> bool:
    """Walk a `PositionInfo`; False when it is not plain.

    Args:
        buffer: uint8, the whole message.
        head: int64[9]: ledger id, entry id, 1 when both were there, then counts of ranges, lists, list words,
            batches, batch words, properties.
        ranges: int64[n, 4]; filled when `fill`.
        lists: int64[n, 2]: key and where its words end; filled when `fill`.
        list_words: int64[n]; filled when `fill`.
        batches: int64[n, 3]: ledger, entry, where its words end; filled when `fill`.
        batch_words: int64[n]; filled when `fill`.
        fill: False counts only, so that the arrays can be made.
    """
    position, end = 0, len(buffer)
    head[:] = 0
    seen = 0
    while position < end:
        number, wire_type, position = tag_of(buffer, position, end)
        if position < 0:
            return False
        if number <= 2 and wire_type == 0:
            head[number - 1], position = varint(buffer, position, end)
            if position < 0:
                return False
            seen |= number
            continue
        if number < 3 or number > 6 or wire_type != 2:
            return False
        start, position = window(buffer, position, end)
        if position < 0 or not _member(
            number, buffer, start, position, head, ranges, lists, list_words, batches, batch_words, fill
        ):
            return False
    head[2] = 1 if seen == 3 else 0
    return True
