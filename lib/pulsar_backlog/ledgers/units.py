"""Cut a copy of a ledger into pieces that one task reads alone."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers import spread_units
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.values import UNIT_BYTES, Block, LedgerCopy, PlannedCopy, ScanUnit


def units_of(copy: LedgerCopy | PlannedCopy, unit_bytes: int = UNIT_BYTES) -> Iterator[ScanUnit]:
    """Consecutive blocks of about `unit_bytes` together; a larger block is a unit of its own."""
    if copy.data_uri is None:
        return
    if STORAGE_KINDS[copy.kind].is_spread:
        yield from spread_units.units_of(copy, unit_bytes)
        return
    for number, blocks in enumerate(groups_of(copy.blocks, most_bytes=unit_bytes, bytes_of=_length)):
        yield ScanUnit(
            copy.ledger_id, copy.copy, copy.topic, copy.data_uri, number, tuple(blocks), copy.kind, copy.checksum_uri
        )


def _length(block: Block) -> int:
    return block.length
