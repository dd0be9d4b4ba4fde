"""Entries read again where the tables say that they lie: a range as it is, or a part of a block or record decompressed.

Of what is compressed the stored bytes are read in any way the caller likes; a `BlockOpener` makes of them what
`inner_offset` counts in. It knows nothing of the whole file but its header, which it reads once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES, Place
from pulsar_backlog.ledgers.mapfile.blocks import MAX_BLOCK_BYTES, read_parts
from pulsar_backlog.ledgers.mapfile.codecs import inflate
from pulsar_backlog.ledgers.mapfile.header import BYTES_WRITABLE, Header
from pulsar_backlog.ledgers.mapfile.kernel import KEY_BYTES, RECORD_HEAD_BYTES
from pulsar_backlog.ledgers.mapfile.reading import read_header
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.wire.arrays import Bytes, Int64s

HELD_BYTES = 32 * 1024 * 1024
"""Decompressed bytes that are kept for the next entry of the same block; the newest block is kept whatever its size."""


class BlockOpener:
    """Decompresses blocks and records of MapFiles."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._headers: dict[str, Header] = {}
        self._held: OrderedDict[tuple[str, int], Bytes] = OrderedDict()

    def inflated(self, path: str, stored: Bytes) -> Bytes:
        """What a stored block or record holds; of a damaged one what stands before the damage.

        Raises:
            SourceError: the file's header cannot be read.
        """
        header = self._header(path)
        view = stored.data
        if header.codec is None:
            return stored
        if header.compression == "RECORD":
            return inflate(header.codec, view[RECORD_HEAD_BYTES + KEY_BYTES :], MAX_BLOCK_BYTES).data
        try:
            start, end = read_parts(view).sections[-1]
        except DecodeError:
            return np.empty(0, dtype=np.uint8)
        return inflate(header.codec, view[start:end], MAX_BLOCK_BYTES).data

    def part(self, place: Place, stored: Bytes) -> Bytes:
        """What lies at `place`, in the bytes stored there; shorter than it says where the block ends before.

        Raises:
            SourceError: the file's header cannot be read.
        """
        if place.inner_offset is None:
            return stored
        key = place.path, place.offset
        inflated = self._held.pop(key, None)
        if inflated is None:
            inflated = self.inflated(place.path, stored)
        self._held[key] = inflated
        while len(self._held) > 1 and sum(block.size for block in self._held.values()) > HELD_BYTES:
            self._held.popitem(last=False)
        return inflated[place.inner_offset : place.inner_offset + place.length]

    def read(self, place: Place) -> Bytes:
        """What lies at `place`, shorter than it says where the object or block ends before.

        Raises:
            SourceError: the object cannot be read.
        """
        is_open = place.inner_offset is not None and (place.path, place.offset) in self._held
        nothing = np.empty(0, dtype=np.uint8)
        stored = nothing if is_open else self._source.read(place.path, place.offset, place.end)
        return self.part(place, stored)

    def _header(self, path: str) -> Header:
        if path not in self._headers:
            try:
                self._headers[path] = read_header(self._source, path, BYTES_WRITABLE)
            except DecodeError as error:
                raise SourceError(
                    self._source.uri(path), "failed", f"it is not a MapFile that can be read: {error}"
                ) from error
        return self._headers[path]


@dataclass(frozen=True)
class Entries:
    """Compressed entries whose blocks lie in one window, ascending: arrays of equal length.

    Attributes:
        offset: place of each entry's block in the window.
        block_length: its stored bytes.
        inner_offset: first byte of each entry in what it inflates to.
        length: bytes of each entry.
    """

    offset: Int64s
    block_length: Int64s
    inner_offset: Int64s
    length: Int64s


def inflated_entries(
    opener: BlockOpener, path: str, window: Bytes, entries: Entries
) -> Iterator[tuple[slice, Bytes, Int64s]]:
    """Which of the entries, a buffer, and where in it each begins, or -1 where its block ends before it does.

    A buffer holds about `WINDOW_BYTES`, or one block if that is larger.

    Raises:
        SourceError: the file's header cannot be read.
    """
    first_of_block = np.flatnonzero(np.diff(entries.offset, prepend=-1))
    ends = np.append(first_of_block[1:], len(entries.offset)).tolist()
    parts: list[Bytes] = []
    begins: list[Int64s] = []
    size = first = 0
    for start, end in zip(first_of_block.tolist(), ends, strict=True):
        at = int(entries.offset[start])
        block = opener.inflated(path, window[at : at + int(entries.block_length[start])])
        inner = entries.inner_offset[start:end]
        begins.append(np.where(inner + entries.length[start:end] <= block.size, inner + size, -1))
        parts.append(block)
        size += block.size
        if size >= WINDOW_BYTES or end == len(entries.offset):
            yield slice(first, end), np.concatenate(parts), np.concatenate(begins)
            parts, begins, size, first = [], [], 0, end
