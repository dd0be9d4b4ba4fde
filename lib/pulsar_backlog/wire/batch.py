"""The members of a batch: what a decrypted, decompressed payload holds where the metadata counts messages.

    [ size u32 ][ SingleMessageMetadata ][ payload: payload_size bytes ]      num_messages_in_batch times

Numbers are big-endian; nothing lies between the members or after the last. `num_messages_in_batch` on the
wire, even as 1, means this framing; absent means one bare message. A member that compaction took out
(`compacted_out`) keeps its place, so batch indexes go on counting.

    field                      number  type               here
    properties                 1       KeyValue, repeated  pairs in wire order, a repeated key stays repeated
    partition_key              2       string             text as on the wire: base64 where field 6 is true
    payload_size               3       int32, required    length of `payload`
    compacted_out              4       bool
    event_time                 5       uint64             ms since 1970, read as signed; 0 means unset
    partition_key_b64_encoded  6       bool
    ordering_key               7       bytes
    sequence_id                8       uint64             read as signed; absent: that of the entry
    null_value                 9       bool
    null_partition_key         10      bool

Source: apache/pulsar pulsar-common/src/main/proto/PulsarApi.proto at 00a6bada (fields) and
pulsar-common/src/main/java/org/apache/pulsar/common/protocol/Commands.java at 492eb456 (framing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.unknown_fields import UnknownFieldSet

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.metadata import FLAG_NOT_UTF8, FLAG_REPEATED_PROPERTY, FLAG_UNKNOWN_FIELDS, signed64
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb

CODE_BAD_COUNT = "batch_bad_count"
CODE_OVERRUNS = "batch_member_overruns"
CODE_UNDECODABLE = "batch_member_undecodable"
CODE_TRAILING = "batch_trailing_bytes"


@dataclass(frozen=True, slots=True)
class SingleMessage:
    """One member of a batch under its wire names; None is absent.

    Attributes:
        batch_index: place in the batch, from 0; members taken out by compaction count.
        offset: its first byte (of the size) in the decompressed batch.
        payload_offset: first byte of its payload there.
        payload: its value, as long as `payload_size` says.
        flags: what is odd but readable, sorted; names as in `pulsar_backlog.wire.metadata.FLAGS`.
    """

    batch_index: int
    offset: int
    payload_offset: int
    properties: tuple[tuple[str, str], ...]
    partition_key: str | None
    payload_size: int
    compacted_out: bool | None
    event_time: int | None
    partition_key_b64_encoded: bool | None
    ordering_key: bytes | None
    sequence_id: int | None
    null_value: bool | None
    null_partition_key: bool | None
    payload: bytes
    flags: tuple[str, ...]


def read_batch(data: bytes | memoryview, num_messages_in_batch: int) -> Iterator[SingleMessage]:
    """The members of a batch, in order.

    Members before the broken one are given out, then the error is raised: what is readable is read.

    Raises:
        DecodeError: `batch_bad_count`, `batch_member_overruns`, `batch_member_undecodable` or
            `batch_trailing_bytes`, with the offset in `data`; none quotes keys or payload.
    """
    if num_messages_in_batch < 1:
        raise DecodeError(
            CODE_BAD_COUNT,
            offset=0,
            field="metadata.num_messages_in_batch",
            expected="1 or more",
            found=str(num_messages_in_batch),
        )
    view = memoryview(data)
    position = 0
    for batch_index in range(num_messages_in_batch):
        member = _read_member(view, position, batch_index)
        yield member
        position = member.payload_offset + member.payload_size
    if position < len(view):
        raise DecodeError(
            CODE_TRAILING,
            offset=position,
            field="batch",
            expected=f"the end after {num_messages_in_batch} messages",
            found=f"{len(view) - position} more bytes",
        )


def _read_member(data: memoryview, offset: int, batch_index: int) -> SingleMessage:
    path = f"batch[{batch_index}]"
    _check_fits(data, offset, 4, f"{path}.metadata_size")
    metadata_offset = offset + 4
    metadata_size = int.from_bytes(data[offset:metadata_offset])
    _check_fits(data, metadata_offset, metadata_size, f"{path}.metadata")
    payload_offset = metadata_offset + metadata_size
    metadata = _parse(data[metadata_offset:payload_offset], metadata_offset, path)
    _check_fits(data, payload_offset, metadata.payload_size, f"{path}.payload")
    payload = bytes(data[payload_offset : payload_offset + metadata.payload_size])
    return _record(metadata, batch_index, offset, payload_offset, payload)


def _check_fits(data: memoryview, offset: int, length: int, field: str) -> None:
    remaining = len(data) - offset
    if not 0 <= length <= remaining:
        raise DecodeError(
            CODE_OVERRUNS, offset=offset, field=field, expected=f"0 to {remaining} bytes", found=f"{length} bytes"
        )


def _parse(data: memoryview, offset: int, path: str) -> pb.SingleMessageMetadata:
    metadata = pb.SingleMessageMetadata()
    try:
        metadata.ParseFromString(bytes(data))
    except ProtobufError as error:
        raise _undecodable(offset, path, "valid protobuf", f"{len(data)} other bytes") from error
    if not metadata.HasField("payload_size"):
        raise _undecodable(offset, f"{path}.payload_size", "a required field", "nothing")
    if not metadata.IsInitialized():
        raise _undecodable(offset, f"{path}.properties", "key and value", "one of them or none")
    return metadata


def _undecodable(offset: int, field: str, expected: str, found: str) -> DecodeError:
    return DecodeError(CODE_UNDECODABLE, offset=offset, field=field, expected=expected, found=found)


def _record(
    m: pb.SingleMessageMetadata, batch_index: int, offset: int, payload_offset: int, payload: bytes
) -> SingleMessage:
    flags: set[str] = set()
    properties = tuple((_text(p.key, flags), _text(p.value, flags)) for p in m.properties)
    if len(dict(properties)) < len(properties):
        flags.add(FLAG_REPEATED_PROPERTY)
    if any(len(UnknownFieldSet(part)) for part in (m, *m.properties)):
        flags.add(FLAG_UNKNOWN_FIELDS)
    return SingleMessage(
        batch_index=batch_index,
        offset=offset,
        payload_offset=payload_offset,
        properties=properties,
        partition_key=_text(m.partition_key, flags) if m.HasField("partition_key") else None,
        payload_size=m.payload_size,
        compacted_out=m.compacted_out if m.HasField("compacted_out") else None,
        event_time=signed64(m.event_time) if m.HasField("event_time") else None,
        partition_key_b64_encoded=m.partition_key_b64_encoded if m.HasField("partition_key_b64_encoded") else None,
        ordering_key=m.ordering_key if m.HasField("ordering_key") else None,
        sequence_id=signed64(m.sequence_id) if m.HasField("sequence_id") else None,
        null_value=m.null_value if m.HasField("null_value") else None,
        null_partition_key=m.null_partition_key if m.HasField("null_partition_key") else None,
        payload=payload,
        flags=tuple(sorted(flags)),
    )


def _text(data: bytes, flags: set[str]) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        flags.add(FLAG_NOT_UTF8)
        return data.decode(errors="replace")
