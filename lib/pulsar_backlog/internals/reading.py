"""The entries of one stored copy of an internal ledger, one by one, and what was damaged around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.entry_batch import EntryBatch
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import PlannedCopy, ScanUnit

RECORD_HEAD_BYTES = 64
"""A bookie's record before the entry, digest and all, is shorter; two records do not begin within it."""
PEEK_BYTES = 64 * 1024
"""Of a ledger of messages without a name, looked at to know whether they are a system topic's."""


@dataclass
class CopyReader:
    """One copy being read.

    Attributes:
        source: where it lies.
        copy: which.
        faults: pieces of damage that the walk met.
        damaged: ids of entries that were there and that no digest proves.
        delivered: ids of entries that were given.
        error: why it could not be read further; None where it could.
    """

    source: Source
    copy: PlannedCopy
    faults: int = 0
    damaged: set[int] = field(default_factory=set)
    delivered: set[int] = field(default_factory=set)
    error: SourceError | None = None

    def entries(self) -> Iterator[tuple[int, bytes]]:
        """Id and bytes of each entry, in order; an error of the source ends them."""
        try:
            for unit in units_of(self.copy):
                yield from self._entries_of(unit)
        except SourceError as error:
            self.error = error

    def _entries_of(self, unit: ScanUnit) -> Iterator[tuple[int, bytes]]:
        for batch in walk_unit(self.source, unit):
            self.faults += len(batch.faults)
            self.damaged |= {
                one.entry_id for one in batch.faults if one.code == "digest_mismatch" and one.entry_id is not None
            }
            unproved = _unproved(batch)
            rows = zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True)
            for number, (entry_id, offset, length) in enumerate(rows):
                if number in unproved:
                    continue
                self.delivered.add(entry_id)
                yield entry_id, batch.buffer[offset : offset + length].tobytes()

    @property
    def undelivered(self) -> set[int]:
        """Ids of entries that are damaged in every copy that is here."""
        return self.damaged - self.delivered


def _unproved(batch: EntryBatch) -> set[int]:
    """Numbers of entries of a batch whose own record no digest proves; another copy that is proved would be given."""
    bad = {(one.path, one.offset) for one in batch.faults if one.code == "digest_mismatch"}
    if not bad or batch.spread is None:
        return set()
    ids = {one.entry_id for one in batch.faults if one.code == "digest_mismatch"}
    spread = batch.spread
    places = zip(batch.entry_id.tolist(), spread.path.tolist(), spread.offset.tolist(), strict=True)
    return {
        number
        for number, (entry_id, path, offset) in enumerate(places)
        if entry_id in ids
        and any(path_ == spread.paths[path] and 0 < offset - begin <= RECORD_HEAD_BYTES for path_, begin in bad)
    }


def first_entries(source: Source, copy: PlannedCopy, most: int) -> list[bytes]:
    """Some entries of a copy in the files of bookies that lie in its first bytes; none where it fails."""
    block = copy.blocks[0]
    head = replace(block, length=min(block.length, PEEK_BYTES), last_entry_id=None, entry_count=None)
    reader = CopyReader(source, replace(copy, blocks=(head,), expected_entries=None))
    return [data for _, data in islice(reader.entries(), most)]
