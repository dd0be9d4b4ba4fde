"""Cut a copy of a ledger into pieces that one task reads alone."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_backlog.ledgers.bookies import units as bookie_units
from pulsar_backlog.ledgers.values import UNIT_BYTES, Block, LedgerCopy, PlannedCopy, ScanUnit


def units_of(copy: LedgerCopy | PlannedCopy, unit_bytes: int = UNIT_BYTES) -> Iterator[ScanUnit]:
    """Consecutive blocks of about `unit_bytes` together; a larger block is a unit of its own."""
    if copy.data_uri is None:
        return
    if copy.kind == "bookies":
        yield from bookie_units.units_of(copy, unit_bytes)
        return
    for number, blocks in enumerate(_groups(copy.blocks, unit_bytes)):
        yield ScanUnit(
            copy.ledger_id, copy.copy, copy.topic, copy.data_uri, number, blocks, copy.kind, copy.checksum_uri
        )


def _groups(blocks: tuple[Block, ...], unit_bytes: int) -> Iterator[tuple[Block, ...]]:
    group: list[Block] = []
    size = 0
    for block in blocks:
        if group and size + block.length > unit_bytes:
            yield tuple(group)
            group, size = [], 0
        group.append(block)
        size += block.length
    if group:
        yield tuple(group)
