"""Walk the blocks of one object into batches of entries: ranged reads outside, compiled loops inside.

A unit is read window by window. Damage inside a block ends that block, and the walk goes
on at the next one. The rule of the broker that reads the same bytes, and what it never checks (headers, padding):
https://github.com/apache/pulsar/blob/492eb456/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/BlobStoreBackedReadHandleImpl.java
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES
from pulsar_backlog.ledgers import block_entries
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES, EntryBatch
from pulsar_backlog.ledgers.fault_log import MAX_FAULTS, FaultLog
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.jcloud import BLOCK_HEADER_BYTES, ENTRY_HEADER_BYTES, PADDING, check_block_header
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.store import Source, Stretch
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.wire.arrays import Int64s

_GROWTH = 4
"""How much larger each window is than the one before, where the first one is small."""
MAX_ENTRY_BYTES = 256 * 1024 * 1024
"""Largest entry that is read; brokers take 5 MiB unless told otherwise. A larger one is a fault and stepped over."""


def walk_unit(
    source: Source, unit: ScanUnit, window_bytes: int = WINDOW_BYTES, first_bytes: int | None = None
) -> Iterator[EntryBatch]:
    """The unit's entries in order, in batches whose buffer is about `window_bytes`, or one entry if that is larger.

    With `first_bytes` the first window is so large and the following grow: nothing is fetched ahead of them.

    Raises:
        SourceError: the data object cannot be read.
    """
    if not unit.blocks:
        return
    first, last = unit.blocks[0], unit.blocks[-1]
    sparing_bytes = 0 if first_bytes is None else window_bytes // 2
    with source.ahead(unit.path, first.offset, last.offset + last.length, sparing_bytes) as stretch:
        yield from _Walk(stretch, unit, window_bytes, first_bytes or window_bytes).batches()


class _Walk:
    """One pass over a unit: the window that is in memory, and what was found in it so far."""

    def __init__(self, stretch: Stretch, unit: ScanUnit, window_bytes: int, first_bytes: int) -> None:
        self._ledger = unit.ledger_id if STORAGE_KINDS[unit.kind].is_segment else None
        self._stretch = stretch
        self._unit = unit
        self._window_bytes, self._most_bytes = min(first_bytes, window_bytes), window_bytes
        self._unit_end = unit.blocks[-1].offset + unit.blocks[-1].length
        self._base = unit.blocks[0].offset
        self._buffer = np.empty(0, dtype=np.uint8)
        self._object_end: int | None = None
        self._room = np.empty((3, 0), dtype=np.int64)  # for all that a window may hold
        self._found: list[tuple[Int64s, Int64s, Int64s]] = []
        self._faults = FaultLog()

    def batches(self) -> Iterator[EntryBatch]:
        for block in self._unit.blocks:
            yield from self._block(block)
        self._faults.end()
        yield from self._flush()

    def _block(self, block: Block) -> Iterator[EntryBatch]:
        yield from self._load(block.offset, BLOCK_HEADER_BYTES)
        header = self._bytes(block.offset, BLOCK_HEADER_BYTES)
        if header:
            for fault in check_block_header(header, block, self._ledger):
                self._faults.add(fault)
        if len(header) == BLOCK_HEADER_BYTES:
            yield from self._entries(block)
        if self._object_end is not None and self._object_end < block.offset + block.length:
            expected = f"the block's end at {block.offset + block.length}"
            at = max(self._object_end, block.offset)
            self._fault("block_beyond_end", block, at, "block", expected, f"the object's end at {self._object_end}")

    def _entries(self, block: Block) -> Iterator[EntryBatch]:
        """The block's chain of entries, window by window, then its padding and its count."""
        end = block.offset + block.length
        limit = -1 if block.entry_count is None else block.first_entry_id + block.entry_count
        state = np.zeros(block_entries.STATE_SIZE, dtype=np.int64)
        position, expected, count = block.offset + BLOCK_HEADER_BYTES, block.first_entry_id, 0
        while True:
            state[block_entries.POSITION], state[block_entries.EXPECTED_ID] = position - self._base, expected
            self._run(block, end, limit, state)
            position, expected = self._base + int(state[block_entries.POSITION]), int(state[block_entries.EXPECTED_ID])
            count += int(state[block_entries.ENTRIES])
            if state[block_entries.REASON] != block_entries.NEED_MORE:
                break
            needed = int(state[block_entries.NEEDED])
            if self._is_cut(position, needed):
                self._cut(block, position, expected)
                break
            if needed > MAX_ENTRY_BYTES:
                at_most = f"at most {MAX_ENTRY_BYTES} bytes in an entry"
                self._entry_fault("entry_overruns_block", block, position, expected, at_most, str(needed))
                position, expected, count = position + needed, expected + 1, count + 1
                yield from self._load(position, 1)
                continue
            yield from self._load(position, needed)
        yield from self._after_chain(block, state, position, expected)
        if (
            block.entry_count is not None
            and count != block.entry_count
            and state[block_entries.REASON] != block_entries.SURPLUS
        ):
            promised, found = f"{block.entry_count} entries", f"{count} entries"
            self._entry_fault("block_entry_count", block, position, expected, promised, found)

    def _run(self, block: Block, end: int, limit: int, state: Int64s) -> None:
        """The loop over what the window holds of the block."""
        start = int(state[block_entries.POSITION])
        room = max(0, min(end - self._base, self._buffer.size) - start) // ENTRY_HEADER_BYTES + 1
        if self._room.shape[1] < room:
            self._room = np.empty((3, room), dtype=np.int64)
        ids, offsets, lengths = self._room
        strays = np.empty((MAX_FAULTS + 1, 3), dtype=np.int64)
        walk_entries = block_entries.walker_of(self._buffer.size)
        walk_entries(self._buffer, end - self._base, limit, block.is_last, state, ids, offsets, lengths, strays)
        n = int(state[block_entries.ENTRIES])
        if n:
            self._found.append((ids[:n].copy(), offsets[:n].copy(), lengths[:n].copy()))
        stray_count = int(state[block_entries.STRAYS])
        for at, expected, stored in strays[: min(stray_count, len(strays))].tolist():
            position = self._base + at
            self._entry_fault("entry_id_out_of_order", block, position, expected, str(expected), str(stored))
        self._faults.add_unlisted(max(0, stray_count - len(strays)))

    def _after_chain(self, block: Block, state: Int64s, position: int, expected: int) -> Iterator[EntryBatch]:
        """What the place where the chain stopped says."""
        reason = int(state[block_entries.REASON])
        if reason == block_entries.PADDING:
            yield from self._padding(block, position)
        elif reason == block_entries.OVERRUN:
            length = int.from_bytes(self._bytes(position, 4), "big", signed=True)
            remaining = block.offset + block.length - position - ENTRY_HEADER_BYTES
            at_most = f"a length of 0 to {remaining}"
            self._entry_fault("entry_overruns_block", block, position, expected, at_most, str(length))
        elif reason == block_entries.SURPLUS:
            promised = f"{block.entry_count} entries"
            found = f"another entry, stored with id {int(state[block_entries.STORED_ID])}"
            self._entry_fault("block_entry_count", block, position, expected, promised, found)

    def _padding(self, block: Block, start: int) -> Iterator[EntryBatch]:
        """From `start` to the block's end there must be nothing but padding."""
        end, position = block.offset + block.length, start
        while position < end:
            yield from self._load(position, 1)
            stop = min(end, self._base + self._buffer.size)
            if stop <= position:
                return  # the object ends here, which is told of the block
            bad = block_entries.first_bad_padding(
                self._buffer, position - self._base, stop - self._base, (position - start) % len(PADDING)
            )
            if bad >= 0:
                self._fault("padding_bad", block, self._base + int(bad), "block.padding", PADDING.hex(), "other bytes")
                return
            position = stop

    def _is_cut(self, position: int, needed: int) -> bool:
        """Whether the object ends before `position + needed`, as far as is known."""
        return self._object_end is not None and position + needed > self._object_end

    def _cut(self, block: Block, position: int, expected: int) -> None:
        """The object ends inside the block: before, inside or after the header of the entry at `position`."""
        remaining = self._bytes(position, ENTRY_HEADER_BYTES)
        if remaining and remaining != (PADDING * 3)[: len(remaining)]:
            found = f"the object's end after {(self._object_end or 0) - position} bytes"
            self._entry_fault("entry_overruns_block", block, position, expected, "a whole entry", found)

    def _load(self, position: int, needed: int) -> Iterator[EntryBatch]:
        """Bring `needed` bytes from `position` on into the window, as far as unit and object hold them."""
        wanted = min(position + needed, self._unit_end)
        if self._object_end is not None:
            wanted = min(wanted, self._object_end)
        if self._base <= position and wanted <= self._base + self._buffer.size:
            return
        yield from self._flush()
        end = min(self._unit_end, position + max(self._window_bytes, needed))
        self._window_bytes = min(_GROWTH * self._window_bytes, self._most_bytes)
        self._base, self._buffer = position, np.empty(0, dtype=np.uint8)  # never two windows in memory
        self._buffer = self._stretch.read(position, end)
        if position + self._buffer.size < end:
            self._object_end = position + self._buffer.size

    def _flush(self) -> Iterator[EntryBatch]:
        """What was found in the window, if anything was."""
        faults = self._faults.take()
        if not self._found and not faults:
            return
        empty = np.empty(0, dtype=np.int64)
        parts = self._found or [(empty, empty, empty)]
        ids, offsets, lengths = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        yield EntryBatch(self._buffer, self._base, ids, offsets, lengths, faults)
        self._found = []

    def _bytes(self, position: int, size: int) -> bytes:
        start = max(0, position - self._base)
        return self._buffer[start : start + size].tobytes()

    def _fault(self, code: str, block: Block, at: int, field: str, expected: str, found: str) -> None:
        context = self._bytes(at, CONTEXT_BYTES)
        self._faults.add(Fault(code, block.offset, at, block.length, field, expected, found, context))

    def _entry_fault(self, code: str, block: Block, at: int, entry_id: int, expected: str, found: str) -> None:
        rest = block.offset + block.length - at
        self._faults.add(Fault(code, at, at, rest, "entry", expected, found, self._bytes(at, CONTEXT_BYTES), entry_id))
