"""Index objects and block headers of the object-store offloader (format version 1), checked to the last byte.

```
index  [ DE47DE47 ][ index length i32 ][ data length i64 ][ block header length i64 = 128 ]
       [ count N i32 ][ metadata length M i32 ][ LedgerMetadataFormat, M bytes ]
       N x [ first entry id i64 ][ part id i32 ][ block offset i64 ]
block  [ FBDBABCB ][ header length i64 = 128 ][ block length i64 ][ first entry id i64 ][ 100 zero bytes ]
       entries x [ length i32 ][ entry id i64 ][ body ]   then FEDCDEAD repeated to the block's length
```

All numbers are big-endian and signed. A block's length counts its header and padding. Nothing here raises: what is
wrong comes back as faults beside what could be read, and no count makes more than the bytes at hand can hold.

Source: https://github.com/apache/pulsar/blob/492eb456/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/OffloadIndexBlockImpl.java
and `DataBlockHeaderImpl.java`, `BlockAwareSegmentInputStreamImpl.java` beside it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.values import Block
from pulsar_backlog.wire.ledger_metadata import LedgerMetadata, decode_ledger_metadata

INDEX_MAGIC = 0xDE47DE47
BLOCK_MAGIC = 0xFBDBABCB
STREAMING_MAGIC = 0x26A66D32
"""Of blocks of streaming offload, whose header has the ledger id too."""
BLOCK_HEADER_BYTES = 128
ENTRY_HEADER_BYTES = 12
PADDING = bytes.fromhex("FEDCDEAD")
MAX_INDEX_BYTES = 4 * 1024 * 1024
"""Largest index that is read: 200,000 blocks, or 12 TiB of ledger at the default block size."""

_INDEX_HEAD = struct.Struct(">Iiqqii")
_INDEX_ENTRY = struct.Struct(">qiq")
_BLOCK_HEAD = struct.Struct(">Iqqq")
_STREAMING_HEAD = struct.Struct(">Iqqqq")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One block as the index names it: its first entry, its upload part, its place in the data object."""

    first_entry_id: int
    part_id: int
    offset: int


@dataclass(frozen=True, slots=True)
class JcloudIndex:
    """An index object in the wire's terms; `metadata` is None when the ledger metadata does not decode."""

    index_length: int
    data_length: int
    header_length: int
    metadata: LedgerMetadata | None
    entries: tuple[IndexEntry, ...]


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """A block header in the wire's terms; `ledger_id` stands only in those of streaming offload."""

    magic: int
    header_length: int
    block_length: int
    first_entry_id: int
    ledger_id: int | None = None


def decode_index(data: bytes) -> tuple[JcloudIndex | None, tuple[Fault, ...]]:
    """Read an index object; None when its parts cannot be told apart."""
    if len(data) < _INDEX_HEAD.size:
        return None, (_fault(data, "index_too_short", 0, "index", f"{_INDEX_HEAD.size} bytes", f"{len(data)}"),)
    magic, index_length, data_length, header_length, count, metadata_length = _INDEX_HEAD.unpack_from(data)
    if magic != INDEX_MAGIC:
        return None, (_fault(data, "index_bad_magic", 0, "index.magic", f"{INDEX_MAGIC:08X}", f"{magic:08X}"),)
    if count < 1 or metadata_length < 0:
        found = f"{count} blocks, {metadata_length} bytes of metadata"
        return None, (_fault(data, "index_bad_length", 24, "index.count", "at least 1 block", found),)
    entries_at = _INDEX_HEAD.size + metadata_length
    end = entries_at + count * _INDEX_ENTRY.size
    if end > len(data):
        return None, (_fault(data, "index_too_short", 24, "index.count", f"{end} bytes", f"{len(data)}"),)
    metadata, faults = _metadata(data[_INDEX_HEAD.size : entries_at])
    entries = tuple(IndexEntry(*item) for item in _INDEX_ENTRY.iter_unpack(data[entries_at:end]))
    index = JcloudIndex(index_length, data_length, header_length, metadata, entries)
    return index, (*_head_faults(data, index, end), *faults, *_order_faults(data, index, entries_at))


def encode_index(metadata: bytes, data_length: int, blocks: Sequence[Block]) -> bytes:
    """The index object of a data object.

    Args:
        metadata: LedgerMetadataFormat.
        data_length: bytes of the data object.
        blocks: all of it, in order.
    """
    length = _INDEX_HEAD.size + len(metadata) + len(blocks) * _INDEX_ENTRY.size
    head = _INDEX_HEAD.pack(INDEX_MAGIC, length, data_length, BLOCK_HEADER_BYTES, len(blocks), len(metadata))
    named = (_INDEX_ENTRY.pack(one.first_entry_id, part, one.offset) for part, one in enumerate(blocks, start=1))
    return b"".join([head, metadata, *named])


def decode_block_header(data: bytes, *, is_streaming: bool = False) -> BlockHeader | None:
    """Read a block header as it stands; None when there are fewer bytes than a header has."""
    if len(data) < BLOCK_HEADER_BYTES:
        return None
    return BlockHeader(*(_STREAMING_HEAD if is_streaming else _BLOCK_HEAD).unpack_from(data))


def check_block_header(data: bytes, block: Block, ledger_id: int | None = None) -> tuple[Fault, ...]:
    """What is wrong with the header `data` of a block that the index or the chain of headers puts at its place.

    Args:
        data: the header.
        block: where it is, and what it begins.
        ledger_id: whose the block is, of streaming offload; None of other blocks.
    """
    is_streaming = ledger_id is not None
    header = decode_block_header(data, is_streaming=is_streaming)

    def fault(code: str, at: int, field: str, expected: str, found: str) -> Fault:
        offset = block.offset + at
        seen = data[at : at + CONTEXT_BYTES]
        return Fault(code, block.offset, offset, BLOCK_HEADER_BYTES, f"block.{field}", expected, found, seen)

    if header is None:
        expected = f"{BLOCK_HEADER_BYTES} bytes"
        return (fault("block_header_too_short", 0, "header", expected, str(len(data))),)
    magic, used = (STREAMING_MAGIC, _STREAMING_HEAD.size) if is_streaming else (BLOCK_MAGIC, _BLOCK_HEAD.size)
    checks = (
        ("block_bad_magic", 0, "magic", f"{magic:08X}", f"{header.magic:08X}"),
        ("block_bad_header_length", 4, "header_length", str(BLOCK_HEADER_BYTES), str(header.header_length)),
        ("block_bad_length", 12, "length", str(block.length), str(header.block_length)),
        ("block_bad_first_entry", 20, "first_entry_id", str(block.first_entry_id), str(header.first_entry_id)),
        ("block_bad_ledger", 28, "ledger_id", str(ledger_id), str(header.ledger_id)),
    )
    faults = [fault(*check) for check in checks if check[3] != check[4]]
    rest = data[used:BLOCK_HEADER_BYTES]
    if odd := rest.lstrip(b"\0"):
        at = BLOCK_HEADER_BYTES - len(odd)
        faults.append(fault("block_header_not_zero", at, "reserved", "zeros", "other bytes"))
    return tuple(faults)


def _metadata(data: bytes) -> tuple[LedgerMetadata | None, tuple[Fault, ...]]:
    try:
        return decode_ledger_metadata(data), ()
    except DecodeError as error:
        place = _INDEX_HEAD.size
        fault = Fault(error.code, place, place, len(data), error.field, error.expected, error.found, error.context)
        return None, (fault,)


def _head_faults(data: bytes, index: JcloudIndex, end: int) -> Iterator[Fault]:
    if index.index_length != end:
        yield _fault(data, "index_bad_length", 4, "index.length", str(end), str(index.index_length))
    if index.data_length <= BLOCK_HEADER_BYTES:
        expected = f"more than {BLOCK_HEADER_BYTES}"
        yield _fault(data, "index_bad_length", 8, "index.data_length", expected, str(index.data_length))
    if index.header_length != BLOCK_HEADER_BYTES:
        found = str(index.header_length)
        yield _fault(data, "index_bad_length", 16, "index.header_length", str(BLOCK_HEADER_BYTES), found)
    if end < len(data):
        yield _fault(data, "index_trailing_bytes", end, "index", f"{end} bytes", str(len(data)))


def _order_faults(data: bytes, index: JcloudIndex, entries_at: int) -> Iterator[Fault]:
    before: IndexEntry | None = None
    for number, entry in enumerate(index.entries):
        at = entries_at + number * _INDEX_ENTRY.size
        if before is None:
            ascends = entry == IndexEntry(0, 1, 0)
        else:
            ascends = (
                entry.first_entry_id > before.first_entry_id
                and entry.part_id == before.part_id + 1
                and entry.offset >= before.offset + BLOCK_HEADER_BYTES
            )
        if not ascends:
            found = f"entry {entry.first_entry_id}, part {entry.part_id}, offset {entry.offset}"
            expected = "more than the block before" if before else "entry 0, part 1, offset 0"
            yield _fault(data, "index_bad_order", at, f"index.entries[{number}]", expected, found)
        elif entry.offset >= index.data_length:
            field, found = f"index.entries[{number}].offset", str(entry.offset)
            yield _fault(data, "block_beyond_end", at, field, f"less than {index.data_length}", found)
        before = entry


def _fault(data: bytes, code: str, at: int, field: str, expected: str, found: str) -> Fault:
    return Fault(code, 0, at, len(data), field, expected, found, data[at : at + CONTEXT_BYTES])
