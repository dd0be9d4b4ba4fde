"""Cut a ledger in the files of bookies into ranges of entry ids, each with the extents that may hold some of them."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_backlog.ledgers.values import Block, LedgerCopy, PlannedCopy, ScanUnit

MAX_CARRIED = 4
"""Times `unit_bytes` that may reach into the next unit; where it is more, extents overlap too much to be cut there."""


def units_of(copy: LedgerCopy | PlannedCopy, unit_bytes: int) -> Iterator[ScanUnit]:
    """Units of about `unit_bytes`; an extent on a border is read by both neighbours."""
    ranges = list(_ranges(copy.blocks, unit_bytes))
    for number, (low, blocks) in enumerate(ranges):
        high = ranges[number + 1][0] if number + 1 < len(ranges) else None
        yield ScanUnit(
            copy.ledger_id, copy.copy, copy.topic, copy.data_uri or "", number, blocks, copy.kind,
            ids=(low, high), end=copy.expected_entries,
        )  # fmt: skip


def _ranges(blocks: tuple[Block, ...], unit_bytes: int) -> Iterator[tuple[int, tuple[Block, ...]]]:
    """The first id of each unit, and its extents, ascending by their first id."""
    low, size, carried = 0, 0, 0
    held: list[Block] = []
    for block in sorted(blocks, key=lambda one: (one.first_entry_id, one.uri or "", one.offset)):
        if size >= unit_bytes and block.first_entry_id > max(low, held[-1].first_entry_id):
            reaching = [one for one in held if _last(one) >= block.first_entry_id]
            carried = sum(one.length for one in reaching)
            if carried <= MAX_CARRIED * unit_bytes:
                yield low, tuple(held)
                low, held, size = block.first_entry_id, reaching, 0
            else:
                size = 0  # looked at again after as much as a unit holds
        held.append(block)
        size += block.length
    if held:
        yield low, tuple(held)


def _last(block: Block) -> int:
    return block.first_entry_id if block.last_entry_id is None else block.last_entry_id
