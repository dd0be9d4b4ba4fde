"""The index of an object of streaming offload: which ledgers it holds, and where their blocks begin.

```
[ 3D1FB0BC ][ index length i32 ][ data length i64 ][ block header length i64 = 128 ]
and to the end, for each ledger:
[ ledger id i64 ][ count N i32 ][ metadata length M i32 ][ LedgerInfo, M bytes ]
N x [ first entry id i64 ][ part id i32 ][ block offset i64 ]
```

Numbers are big-endian and signed. LedgerInfo is what the managed ledger knows of the ledger; while it is open the
offloader writes there how many entries it stored.

Source: https://github.com/apache/pulsar/blob/1d2acb49eff50844d2e6509d1db891dfeb90eecc/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/OffloadIndexBlockV2Impl.java
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.ledgers.jcloud import BLOCK_HEADER_BYTES
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb

INDEX_MAGIC = 0x3D1FB0BC
MAX_BLOCKS = 10_000
"""Blocks of an object: each is a part of its upload, and object stores take no more of those."""

_HEAD = struct.Struct(">Iiqq")
_LEDGER = struct.Struct(">qii")
_ENTRY = struct.Struct(">qiq")


@dataclass(frozen=True, slots=True)
class IndexedLedger:
    """What an index says of one ledger.

    Attributes:
        ledger_id: ledger.
        entries: that it had when the index was written; None where the index does not say.
        size_bytes: of all its entries, when it was closed; None where it was open still.
        blocks: first entry id by offset of the block.
    """

    ledger_id: int
    entries: int | None
    size_bytes: int | None
    blocks: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class StreamingIndex:
    """An index in the wire's terms."""

    data_length: int
    ledgers: tuple[IndexedLedger, ...]

    def blocks(self) -> dict[int, tuple[int, int]]:
        """Ledger and first entry id by offset of the block."""
        return {at: (one.ledger_id, first) for one in self.ledgers for at, first in one.blocks.items()}


def decode_streaming_index(data: bytes) -> StreamingIndex:
    """Read an index of streaming offload.

    Raises:
        DecodeError: `index_too_short`, `index_bad_magic`, `index_bad_length`, `index_bad_ledger` or
            `ledger_metadata_undecodable`.
    """
    if len(data) < _HEAD.size:
        raise _bad(data, "index_too_short", 0, "index", f"{_HEAD.size} bytes", str(len(data)))
    magic, length, data_length, header_length = _HEAD.unpack_from(data)
    if magic != INDEX_MAGIC:
        raise _bad(data, "index_bad_magic", 0, "index.magic", f"{INDEX_MAGIC:08X}", f"{magic:08X}")
    if length != len(data):
        raise _bad(data, "index_bad_length", 4, "index.length", str(len(data)), str(length))
    if data_length < 0 or header_length != BLOCK_HEADER_BYTES:
        found = f"{data_length} bytes of data, headers of {header_length}"
        raise _bad(data, "index_bad_length", 8, "index.data_length", f"headers of {BLOCK_HEADER_BYTES}", found)
    return StreamingIndex(data_length, tuple(_ledgers(data, data_length)))


def _ledgers(data: bytes, data_length: int) -> Iterator[IndexedLedger]:
    at, total = _HEAD.size, 0
    while at < len(data):
        if at + _LEDGER.size > len(data):
            raise _bad(data, "index_too_short", at, "index.ledger", f"{_LEDGER.size} bytes", str(len(data) - at))
        ledger_id, count, metadata_length = _LEDGER.unpack_from(data, at)
        entries_at = at + _LEDGER.size + metadata_length
        end = entries_at + count * _ENTRY.size
        total += count
        if ledger_id < 0 or count < 1 or total > MAX_BLOCKS or metadata_length < 0 or end > len(data):
            found = f"ledger {ledger_id}, {count} blocks, {metadata_length} bytes of metadata"
            raise _bad(data, "index_bad_length", at, "index.ledger", f"at most {len(data) - at} bytes", found)
        info = _info(data, at + _LEDGER.size, entries_at)
        if info.HasField("ledger_id") and info.ledger_id != ledger_id:
            raise _bad(data, "index_bad_ledger", at, "index.ledger_id", str(info.ledger_id), str(ledger_id))
        blocks = list(_ENTRY.iter_unpack(data[entries_at:end]))
        if any(first < 0 or not 0 <= offset < data_length for first, _, offset in blocks):
            raise _bad(data, "index_bad_length", entries_at, "index.offset", f"0 to {data_length - 1}", "another")
        yield IndexedLedger(
            ledger_id,
            info.entries if info.entries > 0 else None,
            info.size if info.size > 0 else None,
            {offset: first for first, _, offset in blocks},
        )
        at = end


def _info(data: bytes, start: int, end: int) -> pb.ManagedLedgerInfo.LedgerInfo:
    info = pb.ManagedLedgerInfo.LedgerInfo()
    try:
        info.ParseFromString(data[start:end])
    except ProtobufError as error:
        raise _bad(data, "ledger_metadata_undecodable", start, "LedgerInfo", "protobuf", "other bytes") from error
    return info


def _bad(data: bytes, code: str, at: int, field: str, expected: str, found: str) -> DecodeError:
    context = data[at : at + CONTEXT_BYTES]
    return DecodeError(code, offset=at, field=field, expected=expected, found=found, context=context)
