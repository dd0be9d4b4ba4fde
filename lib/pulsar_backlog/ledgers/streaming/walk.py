"""Walk the blocks of a ledger in objects of streaming offload into batches of entries: copies of an entry become one.

Objects overlap where an offload was tried again. Of copies that differ one is given whose own checksum agrees, and else
the one whose block begins later: a broker reads every entry from the last segment that has it.

Source: https://github.com/apache/pulsar/blob/0029fa8dba4e7bfc5e8c023ea6a4d2d846981ac8/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/BlobStoreBackedReadHandleImplV2.java
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.ledgers import walk
from pulsar_backlog.ledgers.bookies.kernel import compare_copies
from pulsar_backlog.ledgers.entry_batch import EntryBatch, Spread
from pulsar_backlog.ledgers.fault_log import MAX_FAULTS, FaultLog
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.spread_units import check_held, overlapping
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.entry import decode_entry


def walk_unit(
    source: Source, unit: ScanUnit, window_bytes: int, first_bytes: int | None = None
) -> Iterator[EntryBatch]:
    """The unit's entries by id, each once, in batches of a window, or of all blocks that overlap.

    Raises:
        SourceError: an object cannot be read, or too many blocks overlap.
    """
    del first_bytes  # blocks may overlap
    yield from _Walk(source, unit, window_bytes).batches()


@dataclass(frozen=True)
class _Records:
    """Entries of blocks that were read together: arrays of equal length.

    Attributes:
        buffer: their windows, one behind the other.
        entry: ids.
        at: first byte of each, in the buffer.
        length: its bytes.
        path: number of its object.
        offset: its first byte in that object.
        rank: of its block: what begins later has the lower one.
    """

    buffer: Bytes
    entry: Int64s
    at: Int64s
    length: Int64s
    path: Int64s
    offset: Int64s
    rank: Int64s

    def body(self, number: int) -> bytes:
        """The bytes of an entry."""
        start = int(self.at[number])
        return self.buffer[start : start + int(self.length[number])].tobytes()


class _Walk:
    """One pass over a unit."""

    def __init__(self, source: Source, unit: ScanUnit, window_bytes: int) -> None:
        self._source, self._unit, self._window_bytes = source, unit, window_bytes
        self._low, self._high = unit.ids or (0, None)
        self._paths = tuple(sorted({block.uri or unit.path for block in unit.blocks}))
        self._faults = FaultLog()
        self._next = self._low

    def batches(self) -> Iterator[EntryBatch]:
        for blocks, overlap in _runs(self._unit.blocks):
            self._absent(blocks[0].first_entry_id)
            yield from self._merged(blocks) if overlap else self._run(blocks)
        self._absent(self._high if self._high is not None else self._unit.end)
        self._faults.end()
        if faults := self._faults.take():
            yield EntryBatch.of_faults(faults)

    def _run(self, blocks: list[Block]) -> Iterator[EntryBatch]:
        """Blocks that lie one behind the other and share no entry with others."""
        path = blocks[0].uri or self._unit.path
        for batch in self._walked(blocks, self._window_bytes):
            mine = self._mine(batch, path)
            entry = batch.entry_id[mine]
            spread = Spread(self._paths, np.full(len(mine), self._paths.index(path)), batch.places[mine])
            yield EntryBatch(
                batch.buffer, batch.base, entry, batch.offset[mine], batch.length[mine], self._faults.take(),
                spread=spread,
            )  # fmt: skip
            if len(entry):
                self._next = max(self._next, int(entry[-1]) + 1)
        self._next = max(self._next, *(_end(block) for block in blocks))

    def _walked(self, blocks: list[Block], window_bytes: int) -> Iterator[EntryBatch]:
        """Blocks of one object; what is wrong with those that began in the unit before was told there."""
        path = blocks[0].uri or self._unit.path
        unit = replace(self._unit, path=path, blocks=tuple(blocks), ids=None)
        for batch in walk.walk_unit(self._source, unit, window_bytes):
            if blocks[0].first_entry_id >= self._low:
                for fault in batch.faults:
                    self._faults.add(replace(fault, path=path))
            yield batch

    def _merged(self, blocks: list[Block]) -> Iterator[EntryBatch]:
        """Blocks that overlap: each entry once, by id."""
        rows = self._read(blocks)
        self._next = max(self._next, *(_end(block) for block in blocks))
        order = np.lexsort((rows.offset, rows.path, rows.rank, rows.entry))
        entry = rows.entry[order]
        is_first = np.diff(entry, prepend=-1) != 0
        chosen = order[is_first]
        if len(chosen) < len(order):
            self._compare(rows, chosen, np.cumsum(is_first)[~is_first] - 1, order[~is_first])
        spread = Spread(self._paths, rows.path[chosen], rows.offset[chosen])
        yield EntryBatch(
            rows.buffer, 0, rows.entry[chosen], rows.at[chosen], rows.length[chosen], self._faults.take(), spread=spread
        )

    def _read(self, blocks: list[Block]) -> _Records:
        check_held(self._source, self._unit, blocks, "blocks")
        buffers, columns, start = [], [], 0
        for block in blocks:
            path = block.uri or self._unit.path
            for batch in self._walked([block], block.length):
                mine = self._mine(batch, path)
                number = np.full(len(mine), self._paths.index(path))
                rank = np.full(len(mine), -block.first_entry_id)
                at, places = batch.offset[mine] + start, batch.places[mine]
                columns.append(np.stack((batch.entry_id[mine], at, batch.length[mine], number, places, rank)))
                buffers.append(batch.buffer)
                start += batch.buffer.size
        empty = np.empty((6, 0), dtype=np.int64)
        return _Records(
            np.concatenate([*buffers, np.empty(0, dtype=np.uint8)]), *np.concatenate([empty, *columns], axis=1)
        )

    def _mine(self, batch: EntryBatch, path: str) -> Int64s:
        """Which entries are the unit's; what lies behind the end of the ledger is of none."""
        mine = batch.entry_id >= self._low
        if self._high is not None:
            mine &= batch.entry_id < self._high
        if (end := self._unit.end) is not None and len(surplus := np.flatnonzero(mine & (batch.entry_id >= end))):
            self._tell_surplus(batch, surplus, path)
            mine &= batch.entry_id < end
        return np.flatnonzero(mine)

    def _tell_surplus(self, batch: EntryBatch, surplus: Int64s, path: str) -> None:
        at = int(surplus[0])
        entry_id, place, length, start = (
            int(values[at]) for values in (batch.entry_id, batch.places, batch.length, batch.offset)
        )
        expected, found = f"{self._unit.end} entries", f"{len(surplus)} entries from {entry_id} on"
        context = batch.buffer[start : start + min(length, CONTEXT_BYTES)].tobytes()
        self._faults.add(
            Fault("entry_after_end", place, place, length, "entry", expected, found, context, entry_id, path)
        )

    def _compare(self, rows: _Records, chosen: Int64s, places: Int64s, copies: Int64s) -> None:
        """Copies must hold the same; where they do not, a sound one takes the place of one that is not."""
        pairs = np.stack((chosen[places], copies))
        differs = np.empty(len(copies), dtype=np.int64)
        compare_copies(rows.buffer, rows.at[pairs], rows.length[pairs], np.zeros_like(pairs), differs)
        bad = np.flatnonzero(differs != -1)
        for reported, number in enumerate(bad.tolist()):
            place = int(places[number])
            given, other = int(chosen[place]), int(copies[number])
            if not _is_sound(rows.body(given)) and _is_sound(rows.body(other)):
                given, other = other, given
                chosen[place] = given
            if reported <= MAX_FAULTS:
                self._faults.add(self._difference(rows, given, other, int(differs[number])))
        self._faults.add_unlisted(max(0, len(bad) - MAX_FAULTS - 1))

    def _difference(self, rows: _Records, given: int, other: int, at: int) -> Fault:
        where = f"{self._paths[int(rows.path[given])]} at {int(rows.offset[given])}"
        entry_id, place, length = int(rows.entry[other]), int(rows.offset[other]), int(rows.length[other])
        context = rows.body(other)[at : at + CONTEXT_BYTES]
        return Fault(
            "copies_differ", place, place + at, length, "entry", f"entry {entry_id} as in {where}",
            f"another byte, {at} into the entry", context, entry_id, self._paths[int(rows.path[other])],
        )  # fmt: skip

    def _absent(self, end: int | None) -> None:
        """Tell of ids up to `end` that no block has."""
        if end is None or end <= self._next:
            return
        ids = f"entry {self._next}" if end == self._next + 1 else f"entries {self._next} to {end - 1}"
        path = self._paths[0] if self._paths else self._unit.path
        self._faults.add(Fault("entries_absent", 0, 0, 0, "entries", ids, "none of them", b"", self._next, path))
        self._next = end


def _runs(blocks: tuple[Block, ...]) -> Iterator[tuple[list[Block], bool]]:
    """Blocks by first id: those that overlap together, others together as far as one lies behind the other."""
    run: list[Block] = []
    for group in overlapping(blocks):
        follows = run and run[-1].uri == group[0].uri and run[-1].offset + run[-1].length == group[0].offset
        if run and (len(group) > 1 or not follows):
            yield run, False
            run = []
        if len(group) > 1:
            yield group, True
        else:
            run += group
    if run:
        yield run, False


def _end(block: Block) -> int:
    """The id after the last one that is a block's, as far as what is known of it tells."""
    if block.last_entry_id is not None:
        return block.last_entry_id + 1
    return block.first_entry_id + (block.entry_count or 0)


def _is_sound(data: bytes) -> bool:
    """Whether an entry can be decoded and has no wrong checksum."""
    try:
        return decode_entry(data).checksum_state != "mismatch"
    except DecodeError:
        return False
