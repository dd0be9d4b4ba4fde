"""Entries on their way from storage: one buffer with many of them, and where each lies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.wire.arrays import Bytes, Int64s

WINDOW_BYTES = 8 * 1024 * 1024
"""How much of a unit is in memory at once. Larger reads are slower: their memory is new to the process each time
(64 MiB windows were read at 1.3 GB/s, 8 MiB ones at 4.4 GB/s, from the page cache of a 2-core machine)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry, or a part of one, lies.

    Attributes:
        path: object, relative to the source.
        offset: its first byte in the object; of what is compressed, that of the block or record that holds it.
        length: its bytes, decompressed.
        inner_offset: its first byte in what that block or record inflates to; None where it is stored as it is.
        block_length: stored bytes of that block or record; None where it is stored as it is.
    """

    path: str
    offset: int
    length: int
    inner_offset: int | None = None
    block_length: int | None = None

    @property
    def end(self) -> int:
        """The byte after the last one that must be read, in the object."""
        return self.offset + (self.length if self.block_length is None else self.block_length)

    def after(self, size: int) -> Place:
        """What lies there behind its first `size` bytes."""
        length = self.length - size
        if self.inner_offset is None:
            return replace(self, offset=self.offset + size, length=length)
        return replace(self, inner_offset=self.inner_offset + size, length=length)


@dataclass(frozen=True)
class Compressed:
    """Where entries lie that are stored compressed: arrays of equal length, a value for each entry.

    Attributes:
        offset: first byte of the block or record in the object.
        length: its stored bytes.
        inner_offset: first byte of the entry in what it inflates to.
    """

    offset: Int64s
    length: Int64s
    inner_offset: Int64s


@dataclass(frozen=True)
class Spread:
    """Where entries lie that come from several files, stored as they are.

    Attributes:
        paths: files, relative to the source.
        path: number of each entry's file among them.
        offset: its first byte in that file.
    """

    paths: tuple[str, ...]
    path: Int64s
    offset: Int64s


@dataclass(frozen=True)
class EntryBatch:
    """Entries of one unit: one contiguous buffer, and where in it each entry lies.

    Attributes:
        buffer: bytes of a part of the data object, decompressed.
        base: offset of `buffer[0]` in the data object; without meaning where it was compressed.
        entry_id: ids by place in the block.
        offset: first byte of each entry body within `buffer`.
        length: bytes of each entry body.
        faults: what was wrong around the entries.
        compressed: where they lie in the data object; None where they are stored as they are.
        spread: where they lie in several files; None where they are from the data object.
        address: place of each entry, where that is not `base` and `offset`; None where it is.
    """

    buffer: Bytes
    base: int
    entry_id: Int64s
    offset: Int64s
    length: Int64s
    faults: tuple[Fault, ...]
    compressed: Compressed | None = None
    spread: Spread | None = None
    address: Int64s | None = None

    @classmethod
    def of_faults(cls, faults: tuple[Fault, ...]) -> EntryBatch:
        """A batch without entries, for faults that no other one carries."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.empty(0, dtype=np.uint8), 0, none, none, none, faults)

    @property
    def places(self) -> Int64s:
        """Place of each entry in the data object; without meaning where it was compressed."""
        return self.offset + self.base if self.address is None else self.address

    def place(self, path: str, at: int) -> Place:
        """Where entry number `at` of the batch lies, in the object `path` if it is from one."""
        length = int(self.length[at])
        if self.spread is not None:
            return Place(self.spread.paths[int(self.spread.path[at])], int(self.spread.offset[at]), length)
        if self.compressed is None:
            return Place(path, int(self.places[at]), length)
        blocks = self.compressed
        return Place(path, int(blocks.offset[at]), length, int(blocks.inner_offset[at]), int(blocks.length[at]))
