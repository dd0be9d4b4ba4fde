"""Index objects of streaming offload (PIP-76): which ledgers an object holds, and where their blocks begin.

```
<uuid>         data: blocks as those of the object-store offloader, with magic 26A66D32 and the ledger id in the header
<uuid>-index   [ 3D1FB0BC ][ index length i32 ][ data length i64 ][ block header length i64 = 128 ]
               and to the end, for each ledger:
               [ ledger id i64 ][ count N i32 ][ metadata length M i32 ][ LedgerInfo, M bytes ]
               N x [ first entry id i64 ][ part id i32 ][ block offset i64 ]
```

Numbers are big-endian and signed. One object may hold several ledgers, and several objects one ledger: the metadata of
a managed ledger name them as segments. The offloader has this code, but no released broker calls it.

Source: https://github.com/apache/pulsar/blob/1d2acb49eff50844d2e6509d1db891dfeb90eecc/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/OffloadIndexBlockV2Impl.java
and `StreamingDataBlockHeaderImpl.java`, `BufferedOffloadStream.java` beside it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError, SourceError
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.jcloud import BLOCK_HEADER_BYTES, MAX_INDEX_BYTES
from pulsar_backlog.ledgers.listing import printable
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb

INDEX_MAGIC = 0x3D1FB0BC

_HEAD = struct.Struct(">Iiqq")
_LEDGER = struct.Struct(">qii")
_ENTRY = struct.Struct(">qiq")


@dataclass(frozen=True, slots=True)
class StreamedLedger:
    """One ledger, or a stretch of it, in an object.

    Attributes:
        ledger_id: ledger.
        entries: of the whole ledger, as the metadata in the index say; None where they do not.
        size_bytes: of all entries of the whole ledger; likewise.
        first_entry_id: of the stretch that is here; None where no block is.
        offsets: of its blocks, in order.
    """

    ledger_id: int
    entries: int | None
    size_bytes: int | None
    first_entry_id: int | None
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StreamingIndex:
    """An index in the wire's terms."""

    data_length: int
    ledgers: tuple[StreamedLedger, ...]

    def bytes_of(self) -> dict[int, int]:
        """Bytes of the data object that are each ledger's: from its blocks to the next ones, whosever those are."""
        begins = sorted((offset, one.ledger_id) for one in self.ledgers for offset in one.offsets)
        ends = [*(offset for offset, _ in begins[1:]), self.data_length]
        sizes = dict.fromkeys((one.ledger_id for one in self.ledgers), 0)
        for (offset, ledger_id), end in zip(begins, ends, strict=True):
            sizes[ledger_id] += max(end - offset, 0)
        return sizes


@dataclass(frozen=True)
class Streamed:
    """A ledger, or a stretch of one, in an object of streaming offload.

    Attributes:
        uuid: of the object, by its name.
        ledger: what the index says of it.
        bytes: of the data object that are its own, and of the index where it is the first.
        objects: data and index, as far as they are there.
        written_ms: when the newer of them was written; None when unknown.
    """

    uuid: str
    ledger: StreamedLedger
    bytes: int
    objects: tuple[str, ...]
    written_ms: int | None


def streamed_ledgers(source: Source, stored: Iterable[StoredObject]) -> tuple[list[Streamed], list[Finding]]:
    """The ledgers that indexes of streaming offload name, and indexes that cannot be used."""
    by_path = {one.path: one for one in stored}
    found: list[Streamed] = []
    faults: list[Finding] = []
    for path, index in by_path.items():
        if not path.endswith("-index"):
            continue
        uri = printable([path])[0]
        try:
            decoded = decode_streaming_index(source.fetch(path, MAX_INDEX_BYTES).data)
        except SourceError as error:
            faults.append(Finding("S02", uri, printable([str(error)])[0], incomplete=True, evidence=(uri,)))
        except DecodeError as error:
            said = f"The index of streaming offload cannot be decoded: {error.code} at byte {error.offset}."
            faults.append(Finding("S08", uri, said, evidence=(uri,)))
        else:
            found += _streamed(index, by_path.get(path.removesuffix("-index")), decoded)
    return found, faults


def _streamed(index: StoredObject, data: StoredObject | None, decoded: StreamingIndex) -> Iterator[Streamed]:
    sizes = decoded.bytes_of() if data else {}
    objects = tuple(one.path for one in (data, index) if one)
    written = [one.modified_ms for one in (data, index) if one and one.modified_ms is not None]
    uuid = index.path.rpartition("/")[2].removesuffix("-index")
    for number, ledger in enumerate(decoded.ledgers):
        size = sizes.get(ledger.ledger_id, 0) + (index.size if number == 0 else 0)
        yield Streamed(uuid, ledger, size, objects, max(written, default=None))


def decode_streaming_index(data: bytes) -> StreamingIndex:
    """Read an index of streaming offload.

    Raises:
        DecodeError: `index_too_short`, `index_bad_magic`, `index_bad_length` or `ledger_metadata_undecodable`.
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


def _ledgers(data: bytes, data_length: int) -> Iterator[StreamedLedger]:
    at = _HEAD.size
    while at < len(data):
        if at + _LEDGER.size > len(data):
            raise _bad(data, "index_too_short", at, "index.ledger", f"{_LEDGER.size} bytes", str(len(data) - at))
        ledger_id, count, metadata_length = _LEDGER.unpack_from(data, at)
        entries_at = at + _LEDGER.size + metadata_length
        end = entries_at + count * _ENTRY.size
        if ledger_id < 0 or count < 0 or metadata_length < 0 or end > len(data):
            found = f"ledger {ledger_id}, {count} blocks, {metadata_length} bytes of metadata"
            raise _bad(data, "index_bad_length", at, "index.ledger", f"at most {len(data) - at} bytes", found)
        info = _info(data, at + _LEDGER.size, entries_at)
        blocks = list(_ENTRY.iter_unpack(data[entries_at:end]))
        if any(not 0 <= offset < data_length for _, _, offset in blocks):
            raise _bad(data, "index_bad_length", entries_at, "index.offset", f"less than {data_length}", "more")
        yield StreamedLedger(
            ledger_id,
            info.entries if info.HasField("entries") else None,
            info.size if info.HasField("size") else None,
            min((first for first, _, _ in blocks), default=None),
            tuple(sorted(offset for _, _, offset in blocks)),
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
