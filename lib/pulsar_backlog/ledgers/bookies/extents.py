"""Stretches of a file of a bookie that hold records of a ledger, from records that were walked over.

An extent may hold records of others between those of its ledger; it says which entry ids it has, not where each lies.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np

from pulsar_backlog.ledgers.bookies import kernel
from pulsar_backlog.wire.arrays import Int64s

GAP_BYTES = 256 * 1024
"""Bytes of others between two records from which on a new extent begins: what is read for nothing at most."""

COLUMNS = ("ledger", "offset", "length", "first", "last", "count", "lac")
"""Of an extent: its ledger, first byte, bytes, least and greatest entry id, how many entries at least, greatest
last-confirmed entry that one of them names."""


@dataclass
class Extents:
    """Extents of one file.

    Attributes:
        records: how many records of each ledger they hold.
        bytes: of those records, by ledger.
    """

    records: dict[int, int] = field(default_factory=dict)
    bytes: dict[int, int] = field(default_factory=dict)
    _parts: list[Int64s] = field(default_factory=list)

    def add(self, records: Int64s, base: int) -> None:
        """Take records of a window that begins at `base`, sorted by ledger and place."""
        if not records.shape[1]:
            return
        self._parts.append(_extents(records, base))
        ledgers, starts = np.unique(records[kernel.LEDGER], return_index=True)
        counts = np.diff(np.append(starts, records.shape[1])).tolist()
        sizes = np.add.reduceat(records[kernel.SIZE] + kernel.SIZE_BYTES, starts).tolist()
        for ledger, count, size in zip(ledgers.tolist(), counts, sizes, strict=True):
            self.records[ledger] = self.records.get(ledger, 0) + count
            self.bytes[ledger] = self.bytes.get(ledger, 0) + size

    def rows(self, ledgers: Container[int] | None = None) -> Int64s:
        """All of them, or those of some ledgers; columns as `COLUMNS`."""
        rows = np.concatenate([np.empty((0, len(COLUMNS)), dtype=np.int64), *self._parts])
        if ledgers is None:
            return rows
        chosen = np.fromiter((ledger in ledgers for ledger in rows[:, 0].tolist()), np.bool_, len(rows))
        return rows[chosen]


def beside(proved: Int64s, damaged: Int64s) -> Int64s:
    """Extents of damaged records, of ledgers that `proved` has, that no extent of those holds.

    Each is given the id of the nearest entry that is proved: so they are read together, and the scan tells of both.
    """
    both = np.concatenate((proved, damaged))
    is_damaged = np.arange(len(both)) >= len(proved)
    order = np.lexsort((is_damaged, both[:, 1], both[:, 0]))
    rows, is_damaged = both[order], is_damaged[order]
    number = np.arange(len(rows))
    before = np.maximum.accumulate(np.where(is_damaged, -1, number))[is_damaged]
    behind = np.minimum.accumulate(np.where(is_damaged, len(rows), number)[::-1])[::-1][is_damaged]
    rows = rows[is_damaged]
    if not len(rows) or not len(proved):
        return rows[:0]
    both = both[order]
    has_before = (before >= 0) & (both[before, 0] == rows[:, 0])
    behind = np.minimum(behind, len(both) - 1)
    is_inside = has_before & (rows[:, 1] + rows[:, 2] <= both[before, 1] + both[before, 2])
    ids = np.where(has_before, both[before, 4], both[behind, 3])
    rows[:, 3] = rows[:, 4] = ids
    rows[:, 5:] = 1, -1
    outside: Int64s = rows[~is_inside]
    return outside


def _extents(records: Int64s, base: int) -> Int64s:
    """Extents of records that are sorted by ledger and place; rows as `COLUMNS`."""
    ledgers, places = records[kernel.LEDGER], records[kernel.PLACE]
    ends = places + kernel.SIZE_BYTES + records[kernel.SIZE]
    breaks = np.ones(len(places), dtype=np.bool_)
    breaks[1:] = (ledgers[1:] != ledgers[:-1]) | (places[1:] - ends[:-1] > GAP_BYTES)
    starts = np.flatnonzero(breaks)
    last = np.append(starts[1:], len(places)) - 1
    entries = records[kernel.ENTRY]
    highest = np.maximum.accumulate(entries + (np.cumsum(breaks) << 41))  # ids have 40 bits
    new = np.ones(len(places), dtype=np.int64)
    new[1:] = highest[1:] > highest[:-1]  # what comes again, or too late, does not make an extent dense
    return np.stack(
        (
            ledgers[starts],
            places[starts] + base,
            ends[last] - places[starts],
            np.minimum.reduceat(entries, starts),
            np.maximum.reduceat(entries, starts),
            np.add.reduceat(new, starts),
            np.maximum.reduceat(records[kernel.LAC], starts),
        ),
        axis=1,
    )
