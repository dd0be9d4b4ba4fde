"""The blocks of an object of streaming offload, as its headers and its index tell of them.

```
block  [ 26A66D32 ][ header length i64 = 128 ][ block length i64 ][ first entry id i64 ][ ledger id i64 ]
       [ 92 zero bytes ]
       entries and padding as in a block of the object-store offloader
```

A block holds entries of one ledger. The offloader leaves a block's first entry out when it computes the block's length,
so a block that it did not have to pad goes on behind the end that header and index name; and what follows it lies
elsewhere than they say. Where no header is at such an end, the chain of entries leads to the next one.

Source: https://github.com/apache/pulsar/blob/45d435c5bd42e5206f714a2f349cebb81ba1b575/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/StreamingDataBlockHeaderImpl.java
and `BufferedOffloadStream.java`, `BlobStoreManagedLedgerOffloader.java` (streamingOffloadLoop) beside it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from pulsar_backlog.errors import CONTEXT_BYTES
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.jcloud import (
    BLOCK_HEADER_BYTES,
    ENTRY_HEADER_BYTES,
    STREAMING_MAGIC,
    BlockHeader,
    decode_block_header,
)
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.streaming.index import MAX_BLOCKS, StreamingIndex
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.ledgers.walk import MAX_ENTRY_BYTES, walk_unit

SEARCH_BYTES = 16 * 1024 * 1024
"""Bytes searched for the next header where nothing says where it is."""
SEARCH_WINDOW_BYTES = 1024 * 1024
"""Of them at once."""

_USED_BYTES = 36
_SIGNATURE = STREAMING_MAGIC.to_bytes(4, "big") + BLOCK_HEADER_BYTES.to_bytes(8, "big")


@dataclass(frozen=True)
class StreamedBlock:
    """A block, and whose it is."""

    ledger_id: int
    block: Block


@dataclass(frozen=True)
class StreamChain:
    """Blocks of an object, in order; `is_whole` when headers alone lead without a fault to its last byte."""

    blocks: tuple[StreamedBlock, ...]
    faults: tuple[Fault, ...]
    is_whole: bool


@dataclass(frozen=True)
class _Begin:
    """Where a block begins, whose it is, and where its header says that it ends; None where that cannot be."""

    offset: int
    ledger_id: int
    first_entry_id: int
    declared_end: int | None


def read_stream(source: Source, data: StoredObject, index: StreamingIndex | None) -> StreamChain:
    """The blocks of a data object.

    Raises:
        SourceError: the object cannot be read.
    """
    return _Reader(source, data, index).read()


@dataclass
class _Reader:
    """One pass from header to header."""

    source: Source
    data: StoredObject
    index: StreamingIndex | None
    _last: tuple[int, bytes] = field(default=(-1, b""))

    def __post_init__(self) -> None:
        self._named = self.index.blocks() if self.index else {}
        self._places = sorted(self._named)
        self._ledgers = {ledger_id for ledger_id, _ in self._named.values()}

    def read(self) -> StreamChain:
        size = self.data.size
        begins: list[_Begin] = []
        faults: list[Fault] = []
        offset = 0
        while offset < size and len(begins) < MAX_BLOCKS:
            begin = self._begin(offset)
            if begin is None:
                place = self._search(offset, begins[-1] if begins else None)
                if place is None:
                    break
                if not begins:
                    faults.append(self._fault("block_bad_magic", offset, place - offset, "a block header"))
                offset = place
                continue
            begins.append(begin)
            offset = self._next(begin)
        if offset < size:
            faults.append(self._fault("bytes_after_last_block", offset, size - offset, "another block header"))
        ends = [*(begin.offset for begin in begins[1:]), *([offset] if begins else [])]
        path = self.data.path
        blocks = [
            StreamedBlock(one.ledger_id, Block(one.offset, end - one.offset, one.first_entry_id, None, uri=path))
            for one, end in zip(begins, ends, strict=True)
        ]
        whole = not faults and all(one.declared_end == end for one, end in zip(begins, ends, strict=True))
        return StreamChain(tuple(blocks), tuple(faults), bool(blocks) and whole)

    def _begin(self, offset: int) -> _Begin | None:
        """The block that header or index put at `offset`; where they differ, its first entry tells who is right."""
        raw = self._raw(offset)
        header, named = _header(raw), self._named.get(offset)
        if header is None:
            return _Begin(offset, *named, None) if named else None
        ledger_id, first = header.ledger_id or 0, header.first_entry_id
        if named is not None and named != (ledger_id, first):
            stored = int.from_bytes(raw[BLOCK_HEADER_BYTES + 4 :], "big", signed=True)
            first = first if stored == first else named[1]
            ledger_id = ledger_id if ledger_id in self._ledgers else named[0]
        fits = header.block_length >= BLOCK_HEADER_BYTES
        return _Begin(offset, ledger_id, first, offset + header.block_length if fits else None)

    def _next(self, begin: _Begin) -> int:
        """Where the next block begins, or this one ends."""
        size, declared = self.data.size, begin.declared_end
        at = bisect_right(self._places, begin.offset)
        named = self._places[at] if at < len(self._places) and self._places[at] < size else None
        if named is not None and declared is not None and named < declared and self._is_header(named):
            return named
        if declared is not None and (declared == size or (declared < size and self._is_header(declared))):
            return declared
        if named is not None and self._is_header(named):
            return named
        end = self._entries_end(begin)
        if end < size and self._is_header(end):
            return end
        if named is not None:
            return named
        if declared is not None and declared < size:
            return max(declared, end)
        return self._search(end, begin) or size

    def _entries_end(self, begin: _Begin) -> int:
        """The byte after the last entry that the chain of entries leads to."""
        most = min(self.data.size, (begin.declared_end or begin.offset) + MAX_ENTRY_BYTES)
        block = Block(begin.offset, most - begin.offset, begin.first_entry_id, None)
        unit = ScanUnit(begin.ledger_id, "", None, self.data.path, 0, (block,), "streaming")
        end = begin.offset + BLOCK_HEADER_BYTES
        for batch in walk_unit(self.source, unit):
            if len(batch.entry_id):
                end = batch.base + int(batch.offset[-1]) + int(batch.length[-1])
        return min(end, self.data.size)

    def _search(self, start: int, before: _Begin | None) -> int | None:
        """The next header from `start` on that may follow a block; None where none is near."""
        limit = min(self.data.size, start + SEARCH_BYTES)
        position = start
        while position < limit:
            window = self.source.read(self.data.path, position, position + SEARCH_WINDOW_BYTES).tobytes()
            at = window.find(_SIGNATURE)
            while at >= 0:
                header = _header(self._raw(position + at))
                if header is not None and _follows(header, before):
                    return position + at
                at = window.find(_SIGNATURE, at + 1)
            position += SEARCH_WINDOW_BYTES - len(_SIGNATURE) + 1
        return None

    def _is_header(self, offset: int) -> bool:
        return _header(self._raw(offset)) is not None

    def _raw(self, offset: int) -> bytes:
        """A header, and that of the entry behind it."""
        if self._last[0] != offset:
            end = offset + BLOCK_HEADER_BYTES + ENTRY_HEADER_BYTES
            self._last = offset, self.source.read(self.data.path, offset, end).tobytes()
        return self._last[1]

    def _fault(self, code: str, offset: int, length: int, expected: str) -> Fault:
        context = self.source.read(self.data.path, offset, offset + CONTEXT_BYTES).tobytes()
        found = f"{length} bytes that are none"
        return Fault(code, offset, offset, length, "data", expected, found, context, path=self.data.path)


def _header(raw: bytes) -> BlockHeader | None:
    """The header of a block, of which one mark may be damaged; None where it is none."""
    header = decode_block_header(raw, is_streaming=True)
    if header is None or (header.ledger_id or 0) < 0 or header.first_entry_id < 0:
        return None
    marks = (
        header.magic == STREAMING_MAGIC,
        header.header_length == BLOCK_HEADER_BYTES,
        not raw[_USED_BYTES:BLOCK_HEADER_BYTES].strip(b"\0"),
    )
    fits = all(marks) or (sum(marks) == len(marks) - 1 and header.block_length >= BLOCK_HEADER_BYTES)
    return header if fits else None


def _follows(header: BlockHeader, before: _Begin | None) -> bool:
    """Whether a block may come after another: ledgers of a topic ascend, and so do entries."""
    here = header.ledger_id or 0, header.first_entry_id
    return before is None or here > (before.ledger_id, before.first_entry_id)
