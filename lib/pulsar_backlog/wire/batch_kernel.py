"""The compiled reader of batches: members of opened payloads into arrays, without a Python object per member.

It reads plain batches only. Whatever is unusual in any way (an unknown or repeated field, a number outside its type,
text that is not UTF-8, a broken length, bytes after the last member) leaves the whole batch, and `wire/batch.py`
decides. So it never rejects and never flags; tests hold both against each other on arbitrary bytes.

Layout of a batch and fields of a member: `wire/batch.py`.
"""

from __future__ import annotations

from typing import Any

from pulsar_backlog.wire.jit import compiled
from pulsar_backlog.wire.kernel import MAX_PROPERTIES, pair
from pulsar_backlog.wire.metadata import END_OF_TIME_MS
from pulsar_backlog.wire.primitives import is_utf8, tag_of, u32, varint, window

MIN_MEMBER_BYTES = 6
"""Of a member without payload: its size, and the required field `payload_size`. A batch cannot count more."""

TABLE_ROWS = (
    "present", "true", "batch_index", "pairs", "payload", "payload_size", "partition_key", "partition_key_size",
    "ordering_key", "ordering_key_size", "event_time", "sequence_id",
)  # fmt: skip
"""Rows of the table that `read_batches` fills, a column for each member: bits of the fields that are there and of
those that are true, how many properties, and where in the arena runs of bytes begin and how long they are."""
(
    PRESENT, TRUE, BATCH_INDEX, PAIRS, PAYLOAD, PAYLOAD_SIZE, KEY, KEY_SIZE, ORDERING_KEY, ORDERING_KEY_SIZE,
    EVENT_TIME, SEQUENCE_ID,
) = range(12)  # fmt: skip

PROPERTIES_FIELD, KEY_FIELD, SIZE_FIELD, COMPACTED_OUT, EVENT_TIME_FIELD = 1, 2, 3, 4, 5
KEY_IS_BASE64, ORDERING_KEY_FIELD, SEQUENCE_ID_FIELD, NULL_VALUE, NULL_KEY = 6, 7, 8, 9, 10
_NUMBERS = (1 << SIZE_FIELD) | (1 << EVENT_TIME_FIELD) | (1 << SEQUENCE_ID_FIELD)
_RUNS = (1 << KEY_FIELD) | (1 << ORDERING_KEY_FIELD)
_BOOLS = (1 << COMPACTED_OUT) | (1 << KEY_IS_BASE64) | (1 << NULL_VALUE) | (1 << NULL_KEY)


@compiled
def _number(field: int, value: int, table: Any, i: int) -> bool:
    """Put a number into its place; False where it is not plain."""
    if field == SIZE_FIELD:
        table[PAYLOAD_SIZE, i] = value
        return 0 <= value < (1 << 31)
    if field == EVENT_TIME_FIELD:
        table[EVENT_TIME, i] = value
        return 0 <= value < END_OF_TIME_MS
    if field == SEQUENCE_ID_FIELD:
        table[SEQUENCE_ID, i] = value
        return True
    table[TRUE, i] |= value << field
    return 0 <= value <= 1


@compiled
def _metadata(
    arena: Any, position: int, end: int, table: Any, i: int, pair_starts: Any, pair_lengths: Any, pairs: int
) -> tuple[bool, int]:
    """Read a member's metadata into column `i`; whether it is plain, and the next free pair."""
    present = 0
    first = pairs
    table[TRUE, i] = 0
    while position < end:
        field, wire_type, position = tag_of(arena, position, end)
        bit = 1 << field
        if position < 0 or (present & bit and field != PROPERTIES_FIELD):
            return False, first
        if wire_type == 0 and bit & (_NUMBERS | _BOOLS):
            value, position = varint(arena, position, end)
            if position < 0 or not _number(field, value, table, i):
                return False, first
        elif wire_type == 2 and field == PROPERTIES_FIELD:
            start, position = window(arena, position, end)
            if position < 0 or not pair(arena, start, position, pair_starts, pair_lengths, first, pairs):
                return False, first
            pairs += 1
        elif wire_type == 2 and bit & _RUNS:
            start, position = window(arena, position, end)
            if position < 0 or (field == KEY_FIELD and not is_utf8(arena, start, position)):
                return False, first
            row = KEY if field == KEY_FIELD else ORDERING_KEY
            table[row, i], table[row + 1, i] = start, position - start
        else:
            return False, first
        present |= bit
    table[PRESENT, i], table[PAIRS, i] = present, pairs - first
    return present & (1 << SIZE_FIELD) != 0, pairs


@compiled
def _members(
    arena: Any, start: int, end: int, count: int, table: Any, row: int, pair_starts: Any, pair_lengths: Any, pairs: int
) -> tuple[int, int]:
    """Read the batch at `arena[start:end]` into columns of the table, from `row` on, without members compacted out.

    The free column of the table afterwards, -1 where the batch is left; and that of the pairs.
    """
    position, first = start, pairs
    for batch_index in range(count):
        if end - position < 4 or pairs + MAX_PROPERTIES >= pair_starts.shape[1]:
            return -1, first
        size = u32(arena, position)
        position += 4
        if size > end - position:
            return -1, first
        plain, pairs = _metadata(arena, position, position + size, table, row, pair_starts, pair_lengths, pairs)
        position += size
        if not plain or table[PAYLOAD_SIZE, row] > end - position:
            return -1, first
        table[BATCH_INDEX, row], table[PAYLOAD, row] = batch_index, position
        position += table[PAYLOAD_SIZE, row]
        if table[TRUE, row] & (1 << COMPACTED_OUT):
            pairs -= table[PAIRS, row]
        else:
            row += 1
    return row if position == end else -1, pairs


@compiled
def _fit(table: Any, first: int, end: int, largest: int) -> bool:
    """Whether the payloads of members fit into rows, and no null value holds bytes."""
    for i in range(first, end):
        size = table[PAYLOAD_SIZE, i]
        if size > largest or (size > 0 and table[TRUE, i] & (1 << NULL_VALUE)):
            return False
    return True


@compiled
def read_batches(
    arena: Any, starts: Any, ends: Any, counts: Any, largest: int, table: Any, row: int, pair_starts: Any,
    pair_lengths: Any, pairs: int, members: Any,
) -> tuple[int, int]:  # fmt: skip
    """Read batches into columns of the table, from `row` on, without members compacted out.

    Args:
        arena: uint8; the batches lie inside it.
        starts: first byte of each batch.
        ends: byte after its last.
        counts: of its members as its entry says; one that its bytes cannot hold leaves the batch.
        largest: bytes of a payload; a batch with a larger one is left.
        table: int64 of `TABLE_ROWS` rows; places are from the start of the arena. It has room for all members.
        row: first free column.
        pair_starts: int64 of 2 rows (keys, values), one column a property, in order.
        pair_lengths: int64 of 2 rows.
        pairs: first free column of them; a batch that may have no room there is left.
        members: out, how many columns each batch took, -1 where it is left.

    Returns:
        The free column of the table, and that of the pairs.
    """
    for i in range(starts.shape[0]):
        members[i] = -1
        if not 1 <= counts[i] <= (ends[i] - starts[i]) // MIN_MEMBER_BYTES:
            continue
        end, pairs_end = _members(arena, starts[i], ends[i], counts[i], table, row, pair_starts, pair_lengths, pairs)
        if end >= 0 and _fit(table, row, end, largest):
            members[i], row, pairs = end - row, end, pairs_end
    return row, pairs
