"""Walk the parts of a MapFile's data into batches of entries: ranged reads outside, compiled loops inside.

A unit is read window by window, each block or run of records decompressed once. Damage ends at the next sync escape,
where the walk goes on. The rule of the broker that reads the same bytes, and what it never checks (the order of keys,
the end of the file):
https://github.com/apache/pulsar/blob/0029fa8dba4e7bfc5e8c023ea6a4d2d846981ac8/tiered-storage/file-system/src/main/java/org/apache/bookkeeper/mledger/offload/filesystem/impl/FileStoreBackedReadHandleImpl.java
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES, Compressed, EntryBatch
from pulsar_backlog.ledgers.fault_log import MAX_FAULTS, FaultLog
from pulsar_backlog.ledgers.faults import Fault, fault_of
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.block_ids import first_id
from pulsar_backlog.ledgers.mapfile.blocks import MAX_BLOCK_BYTES, Parts, Records, open_block, parts_at
from pulsar_backlog.ledgers.mapfile.checksums import Checksums
from pulsar_backlog.ledgers.mapfile.header import BYTES_WRITABLE, ESCAPE_BYTES, SYNC_ESCAPE, Header
from pulsar_backlog.ledgers.mapfile.peek import peek
from pulsar_backlog.ledgers.mapfile.reading import Window, read_header
from pulsar_backlog.ledgers.mapfile.records import Run, open_run, read_run, settled
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.wire.arrays import Int64s

_NO_ID = -2
METADATA_ID = -1
"""Key of the record that holds the ledger metadata: the first one, before entry 0."""


def walk_unit(
    source: Source, unit: ScanUnit, window_bytes: int = WINDOW_BYTES, first_bytes: int | None = None
) -> Iterator[EntryBatch]:
    """The unit's entries in order, in batches of a block each, or of records of about `window_bytes`.

    Raises:
        SourceError: the file cannot be read.
    """
    del first_bytes  # a block is read whole
    if unit.blocks:
        yield from _Walk(source, unit, window_bytes).batches()


class _Walk:
    """One pass over a unit: the ids it has come to, and what it found wrong."""

    def __init__(self, source: Source, unit: ScanUnit, window_bytes: int) -> None:
        self._source, self._unit, self._window_bytes = source, unit, window_bytes
        self._faults = FaultLog()
        self._ids = np.zeros(2, dtype=np.int64)
        self._bound = self._limit = -1
        self._in_blocks = self._gap_is_known = self._has_valid = False
        self._count = 0

    def batches(self) -> Iterator[EntryBatch]:
        try:
            header = read_header(self._source, self._unit.path, BYTES_WRITABLE)
        except DecodeError as error:
            self._faults.add(fault_of(error, 0, 0))
        else:
            for block in self._unit.blocks:
                yield from self._part(header, block)
        self._faults.end()
        yield from self._flush()

    def _part(self, header: Header, block: Block) -> Iterator[EntryBatch]:
        """One part of the file; the first one begins with the header and the ledger metadata."""
        is_first = block.offset == 0
        end = block.offset + block.length
        checksums = Checksums(self._source, self._unit.checksum_path, block.offset, end)
        window = Window(self._source, self._unit.path, block.offset, end, self._window_bytes, checksums)
        window.load(block.offset, header.length if is_first else ESCAPE_BYTES)
        self._ids[kernel.EXPECTED] = METADATA_ID if is_first else block.first_entry_id
        promised = block.entry_count
        self._bound = -1 if promised is None else block.first_entry_id + promised
        self._limit = -1 if block.is_last else self._bound
        self._in_blocks, self._gap_is_known, self._count = header.compression == "BLOCK", False, 0
        position = header.length if is_first else block.offset
        yield from (self._blocks if header.compression == "BLOCK" else self._records)(header, window, position)
        for fault in window.faults:
            self._faults.add(fault)
        if promised is not None and self._count != promised:
            expected, found = f"{promised} entries", f"{self._count} entries"
            self._fault("block_entry_count", window, window.end, "part", expected, found)

    def _blocks(self, header: Header, window: Window, position: int) -> Iterator[EntryBatch]:
        while position < window.end:
            parts = self._block_at(header, window, position)
            if parts is None:
                position = self._next_escape(header, window, position)
                continue
            stop = position + parts.end
            if stop > window.end:
                stop = window.find(header.escape, position + ESCAPE_BYTES)
                found = f"{stop - position} to the next block or the end"
                self._fault("record_overruns_file", window, position, "block", f"{parts.end} bytes", found)
            window.load(position, stop - position)
            is_first = self._ids[kernel.EXPECTED] == METADATA_ID
            view = window.view(position, stop - position)
            records = open_block(
                header.codec or "", parts, view, position, has_metadata=is_first, has_valid=self._has_valid
            )
            self._has_valid = records.has_valid
            self._tell(records)
            ids = self._ids_of_block(header, records, position, stop, window)
            yield from self._batch(records, ids, np.full(len(records.lengths), position), stop - position, window)
            if records.faults and not self._goes_on(window, stop):
                stop = self._next_escape(header, window, position)
            position = stop

    def _block_at(self, header: Header, window: Window, position: int) -> Parts | None:
        """The parts of the block at `position`; None, and a fault, where there is none."""
        window.load(position, ESCAPE_BYTES)
        escape = window.raw(position, ESCAPE_BYTES)
        is_marked = escape == header.escape
        parts = parts_at(window, position)
        if isinstance(parts, DecodeError):
            if is_marked:
                self._faults.add(fault_of(parts, position, window.end - position))
                return None
        elif is_marked:
            return parts
        self._fault("sync_mismatch", window, position, "block.sync", header.escape.hex(), escape.hex())
        if isinstance(parts, DecodeError) or not self._goes_on(window, position + parts.end):
            return None
        return parts

    def _goes_on(self, window: Window, position: int) -> bool:
        """Whether the part ends at `position`, or another block may begin there."""
        if position >= window.end:
            return position == window.end
        return window.load(position, ESCAPE_BYTES) and window.raw(position, len(SYNC_ESCAPE)) == SYNC_ESCAPE

    def _records(self, header: Header, window: Window, position: int) -> Iterator[EntryBatch]:
        while position < window.end:
            window.load(position, kernel.LENGTH_BYTES)
            run = settled(read_run(header, window, position))
            for chosen, records in open_run(header, window, run):
                stored = (
                    None if header.codec is None else kernel.RECORD_HEAD_BYTES + kernel.KEY_BYTES + run.lengths[chosen]
                )
                self._tell(records)
                ids = self._ids_of(run.keys[chosen], run.places[chosen], window)
                yield from self._batch(records, ids, run.places[chosen], stored, window)
            position = run.end
            if run.reason == kernel.NEED_MORE:
                window.load(position, run.needed)
            elif run.reason == kernel.BAD_SYNC:
                found = window.raw(position, ESCAPE_BYTES).hex()
                self._fault("sync_mismatch", window, position, "record.sync", header.escape.hex(), found)
                position += ESCAPE_BYTES
            elif run.reason != kernel.END:
                self._bad_record(window, run)
                position = self._next_escape(header, window, position)

    def _bad_record(self, window: Window, run: Run) -> None:
        """The chain of records ends where none can be."""
        head = window.raw(run.end, kernel.RECORD_HEAD_BYTES)
        length = int.from_bytes(head[: kernel.LENGTH_BYTES], "big", signed=True)
        key_length = int.from_bytes(head[kernel.LENGTH_BYTES :], "big", signed=True)
        code, expected, found = {
            kernel.BAD_LENGTH: ("record_bad_length", f"{kernel.KEY_BYTES} to {MAX_BLOCK_BYTES} bytes", f"{length}"),
            kernel.BAD_KEY: ("record_bad_key", f"a key of {kernel.KEY_BYTES} bytes", f"{key_length}"),
            kernel.OVERRUN: ("record_overruns_file", f"{run.needed} bytes", f"{window.end - run.end} to the end"),
        }[run.reason]
        self._fault(code, window, run.end, "record", expected, found)

    def _next_escape(self, header: Header, window: Window, position: int) -> int:
        """Where to go on after damage at `position`."""
        self._gap_is_known = True
        return window.find(header.escape, position + 1)

    def _batch(
        self, records: Records, ids: Int64s, places: Int64s, stored: Int64s | int | None, window: Window
    ) -> Iterator[EntryBatch]:
        """Entries of records at `places`, which take `stored` bytes there; None where they are not compressed."""
        chosen = (ids > METADATA_ID) & (records.lengths >= 0)
        if self._limit >= 0 and (surplus := int((ids >= self._limit).sum())):
            chosen &= ids < self._limit
            at = int(places[int(np.argmax(ids >= self._limit))])
            expected, found = f"ids below {self._limit}", f"{surplus} records with others"
            self._fault("block_entry_count", window, at, "part", expected, found)
        starts = records.starts[chosen]
        compressed = None
        if stored is not None:
            length = np.full(len(starts), stored) if isinstance(stored, int) else stored[chosen]
            compressed = Compressed(places[chosen], length, records.inner[chosen])
        self._count += len(starts)
        base = 0 if compressed else window.base
        faults = self._faults.take()
        if len(starts) or faults:
            yield EntryBatch(records.buffer, base, ids[chosen], starts, records.lengths[chosen], faults, compressed)

    def _ids_of_block(self, header: Header, records: Records, position: int, stop: int, window: Window) -> Int64s:
        """The ids of a block's records; less than 0 where nothing proves them. Tells of those that are lost."""
        readable = len(records.lengths)
        count, place = readable + records.lost, int(self._ids[kernel.EXPECTED])
        if records.keys is not None and records.are_keys_checked:
            ids = self._ids_of(records.keys, np.full(count, position), window)
            if records.lost:
                own = ids[readable:][ids[readable:] > _NO_ID]
                self._lost(window, position, int(own[0]) if len(own) else place, len(own))
            return ids[:readable]
        first = place
        keys = records.keys
        if self._gap_is_known or keys is None or keys[0] != place or (np.diff(keys) != 1).any():
            begin = first_id(keys, count, None if self._gap_is_known else place, self._following(header, stop, window))
            if keys is not None and (begin is None or (keys != begin + np.arange(count)).any()):
                odd = "keys that do not rise by one, or are not those of the place"
                self._fault("entry_id_out_of_order", window, position, "record.key", str(place), odd)
            if begin is None:
                self._lost(window, position, place, count)
                self._ids[kernel.EXPECTED], self._gap_is_known = place + count, True
                return np.full(readable, _NO_ID)
            first = begin
        self._ids[kernel.EXPECTED], self._gap_is_known = first + count, False
        if records.lost:
            self._lost(window, position, first + readable, records.lost)
        return np.arange(first, first + readable)

    def _following(self, header: Header, stop: int, window: Window) -> int | None:
        """The id behind the last one of a block that ends at `stop`, by the next block or what is promised."""
        if stop >= window.end:
            return self._bound if self._bound >= 0 else None
        record = peek(header, window, stop)
        return record.key if record else None

    def _ids_of(self, keys: Int64s, places: Int64s, window: Window) -> Int64s:
        """The ids of records by keys and places; less than 0 where it is no entry, or was there before."""
        ids = np.empty(len(keys), dtype=np.int64)
        strays = np.empty((MAX_FAULTS + 1, 2), dtype=np.int64)
        trusted = self._in_blocks or self._gap_is_known  # keys that a checksum covers; after damage none is expected
        kernel.assign_ids(keys, self._bound, trusted, self._ids, ids, strays)
        named = strays[: int(self._ids[kernel.STRAYS])]
        self._faults.add_unlisted(max(0, int(self._ids[kernel.STRAYS]) - len(named)))
        if self._gap_is_known and len(named) and named[0, 0] == 0 and ids[0] == keys[0]:
            named = named[1:]  # what is missing was told of where it was damaged
        self._gap_is_known = False
        in_places, number = np.unique(places[named[:, 0]], return_index=True)
        for place, at in zip(in_places.tolist(), number.tolist(), strict=True):
            record, expected = named[at].tolist()
            others = int((places[named[:, 0]] == place).sum()) - 1
            found = f"{int(keys[record])}" + (f", and {others} more keys of the block" if others else "")
            self._fault("entry_id_out_of_order", window, place, "record.key", str(expected), found)
        return ids

    def _tell(self, records: Records) -> None:
        for fault in records.faults:
            self._faults.add(fault)

    def _lost(self, window: Window, position: int, first: int, count: int) -> None:
        """Tell of the records at the end of a block that cannot be read or proved, `first` by their place."""
        if first == METADATA_ID:
            first, count = 0, count - 1
        expected = f"entry {first}" if count == 1 else f"{count} entries from {first} on"
        self._fault("block_records_lost", window, position, "block.values", expected, "nothing that proves them")

    def _flush(self) -> Iterator[EntryBatch]:
        """Faults that no batch carries yet."""
        if faults := self._faults.take():
            yield EntryBatch.of_faults(faults)

    def _fault(self, code: str, window: Window, at: int, field: str, expected: str, found: str) -> None:
        context = window.raw(at, CONTEXT_BYTES)
        self._faults.add(Fault(code, at, at, max(window.end - at, 0), field, expected, found, context))
