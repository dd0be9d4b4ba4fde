"""Ledgers in several files, cut into ranges of entry ids, each with the blocks that may hold some of them.

So are ledgers in the files of bookies, whose blocks are extents of entry logs, and those of streaming offload.
"""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block, LedgerCopy, PlannedCopy, ScanUnit

MAX_CARRIED = 4
"""Times `unit_bytes` that may reach into the next unit; where it is more, blocks overlap too much to be cut there."""

MAX_HELD_BYTES = 512 * 1024 * 1024
"""Blocks that overlap in ids are in memory together; what needs more is not read."""


def units_of(copy: LedgerCopy | PlannedCopy, unit_bytes: int) -> Iterator[ScanUnit]:
    """Units of about `unit_bytes`; a block on a border is read by both neighbours."""
    ranges = list(_ranges(copy.blocks, unit_bytes))
    for number, (low, blocks) in enumerate(ranges):
        high = ranges[number + 1][0] if number + 1 < len(ranges) else None
        yield ScanUnit(
            copy.ledger_id, copy.copy, copy.topic, copy.data_uri or "", number, blocks, copy.kind,
            ids=(low, high), end=copy.expected_entries,
        )  # fmt: skip


def _ranges(blocks: tuple[Block, ...], unit_bytes: int) -> Iterator[tuple[int, tuple[Block, ...]]]:
    """The first id of each unit, and its blocks, ascending by their first id."""
    low, size, carried = 0, 0, 0
    pending: list[Block] = []
    for block in sorted(blocks, key=lambda one: (one.first_entry_id, one.uri or "", one.offset)):
        if size >= unit_bytes and block.first_entry_id > max(low, pending[-1].first_entry_id):
            reaching = [one for one in pending if _last(one) >= block.first_entry_id]
            carried = sum(one.length for one in reaching)
            if carried <= MAX_CARRIED * unit_bytes:
                yield low, tuple(pending)
                low, pending, size = block.first_entry_id, reaching, 0
            else:
                size = 0  # looked at again after as much as a unit holds
        pending.append(block)
        size += block.length
    if pending:
        yield low, tuple(pending)


def overlapping(blocks: tuple[Block, ...]) -> Iterator[list[Block]]:
    """Blocks in groups, by first id: those of one group overlap in ids, or are joined by others that do."""
    group: list[Block] = []
    last = -1
    for block in sorted(blocks, key=lambda one: (one.first_entry_id, one.uri or "", one.offset)):
        if group and block.first_entry_id > last:
            yield group
            group = []
        group.append(block)
        last = max(last, _last(block))
    if group:
        yield group


def check_held(source: Source, unit: ScanUnit, blocks: list[Block], what: str) -> None:
    """Refuse blocks that overlap where they are more than is held at once; `what` is the word for them.

    Raises:
        SourceError: they are.
    """
    total = sum(block.length for block in blocks)
    if total > MAX_HELD_BYTES:
        path = source.uri(blocks[0].uri or unit.path)
        words = f"{len(blocks)} {what} with the same entries of ledger {unit.ledger_id} are {total} bytes"
        raise SourceError(path, "failed", f"{words}, more than the {MAX_HELD_BYTES} that are held at once")


def _last(block: Block) -> int:
    return block.first_entry_id if block.last_entry_id is None else block.last_entry_id
