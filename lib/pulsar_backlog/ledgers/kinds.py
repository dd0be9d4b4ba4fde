"""How each kind of stored ledger is examined and walked: what is added here is read by everything after it."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_backlog.ledgers import copies, walk
from pulsar_backlog.ledgers.bookies import walk as bookie_walk
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES, EntryBatch
from pulsar_backlog.ledgers.live import copies as live_copies
from pulsar_backlog.ledgers.live import walk as live_walk
from pulsar_backlog.ledgers.mapfile import copies as mapfile_copies
from pulsar_backlog.ledgers.mapfile import walk as mapfile_walk
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.streaming import walk as streaming_walk
from pulsar_backlog.ledgers.values import ScanUnit

_EXAMINE = {"jcloud": copies.examine, "filesystem": mapfile_copies.examine, "live": live_copies.examine}
_WALK = {
    "jcloud": walk.walk_unit,
    "streaming": streaming_walk.walk_unit,
    "filesystem": mapfile_walk.walk_unit,
    "bookies": bookie_walk.walk_unit,
    "live": live_walk.walk_unit,
}


def examine(source: Source, pair: copies.Pair) -> copies.Examined:
    """A copy as it is found in the source; what is wrong with it is part of it."""
    return _EXAMINE[pair.kind](source, pair)


def walk_unit(
    source: Source, unit: ScanUnit, window_bytes: int = WINDOW_BYTES, first_bytes: int | None = None
) -> Iterator[EntryBatch]:
    """The unit's entries in order, in batches.

    Args:
        source: where the unit lies.
        unit: what is read.
        window_bytes: about how much is in memory at once.
        first_bytes: about how much is fetched first, where the first few entries may be all that is wanted, and the
            kind of storage lets them be read alone.

    Raises:
        SourceError: the data cannot be read.
    """
    return _WALK[unit.kind](source, unit, window_bytes, first_bytes)
