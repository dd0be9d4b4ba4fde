"""Scan units bundled for tasks: as few as keep all cores busy. No Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.values import UNIT_BYTES, ScanUnit

MAX_PACK_UNITS = 256
"""Units of one task at most: thousands of tiny ledgers still spread over the executors."""
MAX_PACK_BYTES = 512 * 1024 * 1024
"""Bytes of one task at most: progress comes task by task."""
TASKS_PER_CORE = 4
"""Tasks aimed at for each core: a Spark worker spends about 0.1 s on a task before its first byte."""


def unit_bytes(unit: ScanUnit) -> int:
    """Bytes of the data object that the unit covers."""
    return sum(block.length for block in unit.blocks)


def pack_bytes(total_bytes: int, cores: int, most: int = MAX_PACK_BYTES) -> int:
    """Bytes of one task: enough tasks for all cores, none smaller than a unit needs to be."""
    fair_share = total_bytes // (cores * TASKS_PER_CORE)
    return min(max(fair_share, UNIT_BYTES), most)


def pack_units(units: Sequence[ScanUnit], cores: int) -> list[tuple[ScanUnit, ...]]:
    """Units bundled for one task each."""
    limit = pack_bytes(sum(map(unit_bytes, units)), cores)
    return [tuple(group) for group in groups_of(units, MAX_PACK_UNITS, limit, unit_bytes)]
