"""Walk the extents of a ledger in the files of bookies into batches of entries: copies of an entry become one.

Of several copies one is given whose digest agrees, of an entry log rather than of a journal. A copy may differ in the
last-confirmed entry it names, which a bookie that was re-replicated to heard later; its payload and length may not.
Which copies a bookie's clients believe:
https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/proto/checksum/DigestManager.java
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES
from pulsar_backlog.ledgers.bookies import kernel
from pulsar_backlog.ledgers.bookies.digests import DIGEST_BYTES, PASSWORD_VARIABLE, Digest, Mask, digest_of, verified
from pulsar_backlog.ledgers.bookies.missing import Gap, gaps_of
from pulsar_backlog.ledgers.entry_batch import EntryBatch, Spread
from pulsar_backlog.ledgers.fault_log import MAX_FAULTS, FaultLog
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.spread_units import check_held, overlapping
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.wire.arrays import Bytes, Int64s


def walk_unit(
    source: Source, unit: ScanUnit, window_bytes: int, first_bytes: int | None = None
) -> Iterator[EntryBatch]:
    """The unit's entries by id, each once, in batches of an extent, or of all that overlap.

    Raises:
        SourceError: a file cannot be read, or too many extents overlap.
    """
    del window_bytes, first_bytes  # extents are cut to a window
    yield from _Walk(source, unit).batches()


_LAC_AT = 20
"""Bytes of a record before the last-confirmed entry that it names."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One stored copy of one entry.

    Attributes:
        entry_id: which.
        path: file that it lies in, relative to the source.
        offset: first byte of the entry in that file, behind the head of its record.
        last_confirmed: greatest entry that the writer knew to be confirmed when it sent this one; -1 for none.
        is_proved: whether a digest agrees with its bytes, `last_confirmed` among them.
        data: the entry.
    """

    entry_id: int
    path: str
    offset: int
    last_confirmed: int
    is_proved: bool
    data: bytes


def stored_records(source: Source, unit: ScanUnit) -> Iterator[StoredRecord]:
    """Every copy of the unit's entries, by extents; for stretches of few entries.

    Raises:
        SourceError: a file cannot be read, or too many extents overlap.
    """
    walk = _Walk(source, unit)
    for group in overlapping(unit.blocks):
        yield from walk.stored_records(group)


@dataclass(frozen=True)
class _Records:
    """Records of the ledger in extents that were read together.

    Attributes:
        buffer: the extents, one behind the other.
        entry: ids.
        length: of the ledger with this entry, as stored.
        at: first byte of each record, in the buffer.
        size: its bytes, without the number itself.
        proof: which checksum agrees with its bytes.
        path: number of its file.
        offset: its first byte in that file.
    """

    buffer: Bytes
    entry: Int64s
    length: Int64s
    at: Int64s
    size: Int64s
    proof: Int64s
    path: Int64s
    offset: Int64s


class _Walk:
    """One pass over a unit."""

    def __init__(self, source: Source, unit: ScanUnit) -> None:
        self._source, self._unit = source, unit
        self._low, self._high = unit.ids or (0, None)
        self._paths = tuple(sorted({block.uri or unit.path for block in unit.blocks}))
        self._is_journal = np.array([path.endswith(".txn") for path in self._paths])
        self._digest: Digest | None = None
        self._is_verified = True
        self._faults = FaultLog()
        self._next = self._low

    def batches(self) -> Iterator[EntryBatch]:
        for group in overlapping(self._unit.blocks):
            batch = self._read(group)
            if len(batch.entry):
                yield self._batch(batch)
        self._missing(np.empty(0, dtype=np.int64), self._high if self._high is not None else self._unit.end)
        self._faults.end()
        if faults := self._faults.take():
            yield EntryBatch.of_faults(faults)

    def stored_records(self, group: list[Block]) -> Iterator[StoredRecord]:
        """The copies in some extents, one by one."""
        batch = self._read(group)
        if not len(batch.entry):
            return
        if self._digest is None:
            self._settle_digest(batch)
        valid = verified(batch.buffer, batch.at, batch.size, batch.proof, self._digest or "DUMMY") & self._is_verified
        head = kernel.HEAD_BYTES + DIGEST_BYTES[self._digest or "DUMMY"]
        for i in np.flatnonzero(batch.size + kernel.SIZE_BYTES >= head).tolist():
            at, end = int(batch.at[i]), int(batch.at[i] + batch.size[i]) + kernel.SIZE_BYTES
            confirmed = batch.buffer[at + _LAC_AT : at + _LAC_AT + 8].tobytes()
            yield StoredRecord(
                int(batch.entry[i]), self._paths[int(batch.path[i])], int(batch.offset[i]) + head,
                int.from_bytes(confirmed, "big", signed=True), bool(valid[i]), batch.buffer[at + head : end].tobytes(),
            )  # fmt: skip

    def _read(self, group: list[Block]) -> _Records:
        """The records of the unit's ledger and ids in some extents."""
        check_held(self._source, self._unit, group, "stretches")
        buffers, columns, start = [], [], 0
        for block in group:
            path = block.uri or self._unit.path
            buffer = self._source.read(path, block.offset, block.offset + block.length)
            columns.append(self._records(block, buffer, path, start))
            buffers.append(buffer)
            start += buffer.size
        joined = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        if len(columns) > 1:  # extents of damaged records may reach over others
            joined = joined[:, np.sort(np.unique(joined[-2:], axis=1, return_index=True)[1])]
        return _Records(buffers[0] if len(buffers) == 1 else np.concatenate(buffers), *joined)

    def _records(self, block: Block, buffer: Bytes, path: str, start: int) -> Int64s:
        """Rows as the arrays of `_Held`, of one extent that lies at `start` of the buffer."""
        if buffer.size < block.length:
            found = f"the file's end after {buffer.size} bytes"
            self._faults.add(self._fault("log_record_cut", path, block.offset, block.length, "a whole record", found))
        from pulsar_backlog.ledgers.bookies.records import new_state, walk_records  # noqa: PLC0415 - loads numba

        gaps = np.empty((0, 2), dtype=np.int64)  # told by the inventory
        records = walk_records(buffer, block.offset, buffer.size, path.endswith(".txn"), new_state(), gaps)
        entry = records[kernel.ENTRY]
        mine = (records[kernel.LEDGER] == self._unit.ledger_id) & (entry >= self._low)
        if self._high is not None:
            mine &= entry < self._high
        if not mine.all():
            records = records[:, mine]
        place = records[kernel.PLACE]
        number = np.full(place.shape, self._paths.index(path))
        return np.stack(
            (records[kernel.ENTRY], records[kernel.LENGTH], place + start, records[kernel.SIZE],
             records[kernel.PROOF], number, place + block.offset)
        )  # fmt: skip

    def _batch(self, batch: _Records) -> EntryBatch:
        """Each entry once, by id."""
        if self._digest is None:
            self._settle_digest(batch)
        valid = verified(batch.buffer, batch.at, batch.size, batch.proof, self._digest or "DUMMY")
        head = kernel.HEAD_BYTES + DIGEST_BYTES[self._digest or "DUMMY"]
        fits = batch.size + kernel.SIZE_BYTES >= head
        if not self._is_verified:
            valid = fits
        if (np.diff(batch.entry) > 0).all():  # as bookies write a ledger: nothing to sort, no copies
            order = np.arange(len(batch.entry))
        else:
            order = np.lexsort((self._is_journal[batch.path], ~valid, ~fits, batch.entry))
        entry = batch.entry[order]
        is_first = np.diff(entry, prepend=-1) != 0
        chosen = order[is_first]
        self._tell_damaged(batch, valid, fits)
        if len(chosen) < len(order):
            firsts = chosen[np.cumsum(is_first) - 1]
            self._compare(batch, firsts[~is_first], order[~is_first], valid, head)
        chosen = chosen[fits[chosen]]
        chosen = self._within_end(batch, chosen[valid[chosen] | self._stands_by_place(batch, chosen, valid)])
        self._missing(batch.entry[chosen], None)
        spread = Spread(self._paths, batch.path[chosen], batch.offset[chosen] + head)
        lengths = batch.size[chosen] + kernel.SIZE_BYTES - head
        return EntryBatch(
            batch.buffer, 0, batch.entry[chosen], batch.at[chosen] + head, lengths, self._faults.take(), spread=spread
        )

    def _stands_by_place(self, batch: _Records, chosen: Int64s, valid: Mask) -> Mask:
        """Of entries in order, whether each lies between valid ones that have the ids before and behind its own.

        The digest covers the id, so one that fails proves none.
        """
        entry, offset, path = batch.entry[chosen], batch.offset[chosen], batch.path[chosen]
        stands: Mask = np.zeros(len(chosen), dtype=np.bool_)
        follows = (np.diff(entry) == 1) & (np.diff(offset) > 0) & (np.diff(path) == 0)
        stands[1:-1] = follows[:-1] & follows[1:] & valid[chosen[:-2]] & valid[chosen[2:]]
        return stands

    def _settle_digest(self, batch: _Records) -> None:
        digest = digest_of(batch.buffer, batch.at, batch.size, batch.proof)
        self._digest, self._is_verified = digest or ("CRC32C", True)
        if not self._is_verified:
            expected = f"a digest of {DIGEST_BYTES[self._digest]} bytes that agrees with the bytes of some entry"
            found_words = f"none: all are damaged, or of another password than {PASSWORD_VARIABLE} has"
            self._faults.add(self._fault_of(batch, 0, "digest_unverified", expected, found_words))

    def _tell_damaged(self, batch: _Records, valid: Mask, fits: Mask) -> None:
        bad = np.flatnonzero(~valid | ~fits)
        for at in bad[: MAX_FAULTS + 1].tolist():
            expected = f"the {self._digest} of entry {int(batch.entry[at])}"
            self._faults.add(self._fault_of(batch, at, "digest_mismatch", expected, "another one"))
        self._faults.add_unlisted(max(0, len(bad) - MAX_FAULTS - 1))

    def _compare(self, batch: _Records, firsts: Int64s, copies: Int64s, valid: Mask, head: int) -> None:
        """Copies whose digests agree must hold the same."""
        both = valid[firsts] & valid[copies]
        pairs = np.stack((firsts[both], copies[both]))
        if not pairs.size:
            return
        differs = np.empty(pairs.shape[1], dtype=np.int64)
        lengths = np.maximum(batch.size[pairs] + kernel.SIZE_BYTES - head, 0)
        kernel.compare_copies(batch.buffer, batch.at[pairs] + head, lengths, batch.length[pairs], differs)
        bad = np.flatnonzero(differs != -1)
        for number in bad[: MAX_FAULTS + 1].tolist():
            first, copy, at = int(pairs[0, number]), int(pairs[1, number]), int(differs[number])
            where = f"{self._paths[int(batch.path[first])]} at {int(batch.offset[first])}"
            what = f"entry {int(batch.entry[copy])} as in {where}"
            inside = head + at if at >= 0 else 28
            found = f"another byte, {at} into the payload" if at >= 0 else "another length of the ledger"
            self._faults.add(self._fault_of(batch, copy, "copies_differ", what, found, inside))
        self._faults.add_unlisted(max(0, len(bad) - MAX_FAULTS - 1))

    def _within_end(self, batch: _Records, chosen: Int64s) -> Int64s:
        """Entries that the ledger has; what lies behind the end that was settled is of none."""
        end = self._unit.end
        if end is None or not len(chosen) or batch.entry[chosen[-1]] < end:
            return chosen
        surplus = chosen[batch.entry[chosen] >= end]
        found = f"{len(surplus)} entries from {int(batch.entry[surplus[0]])} on"
        self._faults.add(self._fault_of(batch, int(surplus[0]), "entry_after_end", f"{end} entries", found))
        return chosen[batch.entry[chosen] < end]

    def _missing(self, entries: Int64s, end: int | None) -> None:
        """Tell of ids that are not there, up to the last of these, or up to `end`."""
        for gap in gaps_of(self._next, entries, end):
            self._tell_gap(gap)
        if len(entries):
            self._next = int(entries[-1]) + 1

    def _tell_gap(self, gap: Gap) -> None:
        ids = f"entry {gap.first}" if gap.count == 1 else f"entries {gap.first} to {gap.last}"
        found = f"{gap.words} ({gap.count} ids)" if gap.words else "none of them"
        code = "entries_elsewhere" if gap.words else "entries_absent"
        path = self._paths[0] if self._paths else self._unit.path
        self._faults.add(Fault(code, 0, 0, 0, "entries", ids, found, b"", gap.first, path))

    def _fault(self, code: str, path: str, offset: int, length: int, expected: str, found: str) -> Fault:
        return Fault(code, offset, offset, length, "record", expected, found, b"", None, path)

    def _fault_of(
        self, batch: _Records, at: int, code: str, expected: str, found: str, inside: int = kernel.HEAD_BYTES
    ) -> Fault:
        """A fault in one record, `inside` bytes from its first one on."""
        place, size = int(batch.offset[at]), int(batch.size[at]) + kernel.SIZE_BYTES
        begin = int(batch.at[at]) + inside
        context = batch.buffer[begin : begin + min(CONTEXT_BYTES, max(size - inside, 0))].tobytes()
        path = self._paths[int(batch.path[at])]
        return Fault(code, place, place + inside, size, "record", expected, found, context, int(batch.entry[at]), path)
