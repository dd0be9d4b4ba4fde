"""One stored entry: the same bytes in a bookie, an offloaded object and a MapFile.

    [ 0E02 u16 ][ size i32 ][ BrokerEntryMetadata ]   part A, optional (PIP-70)
    [ 0E01 u16 ][ CRC-32C u32 ]                       part B, optional
    [ size u32 ][ MessageMetadata ]                   part C
    [ payload ]                                       part D, may be empty

All numbers are big-endian. The CRC covers part C with its size, and part D; neither part A nor itself.
An entry without part A and B is not ambiguous: a metadata size beginning 0E01 or 0E02 would exceed 234 MB.
Source: apache/pulsar pulsar-common/src/main/java/org/apache/pulsar/common/protocol/Commands.java at 492eb456.
"""

from __future__ import annotations

from dataclasses import dataclass

import google_crc32c

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.wire.metadata import (
    BrokerMetadata,
    MessageMetadata,
    decode_broker_metadata,
    decode_message_metadata,
)

MAGIC_BROKER_METADATA = 0x0E02
MAGIC_CHECKSUM = 0x0E01

MAX_METADATA_BYTES = 16 * 1024 * 1024
"""Metadata of an entry, the broker's or the message's, that is read. A broker takes 5 MiB for a whole entry unless
`maxMessageSize` says otherwise; what says it holds more than thrice that would cost a worker several times its size."""

CHECKSUM_ABSENT, CHECKSUM_VALID, CHECKSUM_MISMATCH = 0, 1, 2
CHECKSUM_STATES: tuple[str, ...] = ("absent", "valid", "mismatch")
"""Names of the checksum states, by number."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of an entry lie, in bytes from its start; None where a part is absent."""

    broker_offset: int | None
    broker_length: int | None
    checksum_offset: int | None
    checksum: int | None
    metadata_offset: int
    metadata_length: int
    payload_offset: int
    payload_length: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A decoded entry.

    Attributes:
        layout: where its parts lie.
        checksum_state: `valid`, `mismatch` or `absent`.
        payload_crc32c: CRC-32C of the payload, for chunks only.
        broker: part A, or None.
        metadata: part C.
        flags: what is odd but readable, sorted.
    """

    layout: Layout
    checksum_state: str
    payload_crc32c: int | None
    broker: BrokerMetadata | None
    metadata: MessageMetadata
    flags: tuple[str, ...]


def read_layout(data: bytes | memoryview) -> Layout:
    """Find the parts of an entry without decoding them.

    Raises:
        DecodeError: `entry_too_short`, `broker_metadata_overruns`, `metadata_overruns` or `metadata_too_large`.
    """
    position = 0
    broker_offset = broker_length = checksum_offset = checksum = None
    if _u16(data, position) == MAGIC_BROKER_METADATA:
        broker_length = _u32(data, position + 2, "broker_metadata_size")
        broker_offset = position + 6
        _check_fits(data, broker_offset, broker_length, "broker_metadata_overruns", "broker_metadata_size")
        position = broker_offset + broker_length
    if _u16(data, position) == MAGIC_CHECKSUM:
        checksum_offset = position + 2
        checksum = _u32(data, checksum_offset, "checksum")
        position += 6
    metadata_length = _u32(data, position, "metadata_size")
    metadata_offset = position + 4
    _check_fits(data, metadata_offset, metadata_length, "metadata_overruns", "metadata_size")
    payload_offset = metadata_offset + metadata_length
    return Layout(
        broker_offset,
        broker_length,
        checksum_offset,
        checksum,
        metadata_offset,
        metadata_length,
        payload_offset,
        len(data) - payload_offset,
    )


def checksum_state(data: bytes, layout: Layout) -> str:
    """Whether the stored CRC agrees with metadata and payload."""
    if layout.checksum is None:
        return CHECKSUM_STATES[CHECKSUM_ABSENT]
    valid = google_crc32c.value(data[layout.metadata_offset - 4 :]) == layout.checksum
    return CHECKSUM_STATES[CHECKSUM_VALID if valid else CHECKSUM_MISMATCH]


def decode_entry(data: bytes) -> Entry:
    """Decode one entry.

    Raises:
        DecodeError: one of `pulsar_backlog.wire.rejects.ENTRY_CODES`, with the offset from the entry's start.
    """
    layout = read_layout(data)
    flags: set[str] = set()
    broker = None
    if layout.broker_offset is not None and layout.broker_length is not None:
        part = data[layout.broker_offset : layout.broker_offset + layout.broker_length]
        broker = decode_broker_metadata(part, layout.broker_offset, flags)
    metadata = decode_message_metadata(
        data[layout.metadata_offset : layout.payload_offset], layout.metadata_offset, flags
    )
    return Entry(
        layout=layout,
        checksum_state=checksum_state(data, layout),
        payload_crc32c=google_crc32c.value(data[layout.payload_offset :]) if is_chunk(metadata) else None,
        broker=broker,
        metadata=metadata,
        flags=tuple(sorted(flags)),
    )


def broker_metadata_of(head: bytes) -> BrokerMetadata | None:
    """What the broker put before an entry, from its first bytes alone; None where that is not there, or not whole.

    Raises:
        DecodeError: `broker_metadata_undecodable`.
    """
    if _u16(head, 0) != MAGIC_BROKER_METADATA or len(head) < 6:
        return None
    end = 6 + int.from_bytes(head[2:6])
    return decode_broker_metadata(head[6:end], 6, set()) if end <= len(head) else None


def is_chunk(metadata: MessageMetadata) -> bool:
    """Whether the entry carries chunk fields (any of uuid, chunk id, chunk count)."""
    fields = (metadata.uuid, metadata.chunk_id, metadata.num_chunks_from_msg)
    return any(field is not None for field in fields)


def _u16(data: bytes | memoryview, offset: int) -> int | None:
    """The two bytes at `offset`, or None at the end (what follows reports it)."""
    return int.from_bytes(data[offset : offset + 2]) if offset + 2 <= len(data) else None


def _u32(data: bytes | memoryview, offset: int, field: str) -> int:
    if offset + 4 > len(data):
        raise DecodeError(
            "entry_too_short",
            offset=offset,
            field=field,
            expected="4 bytes",
            found=f"{max(len(data) - offset, 0)}",
            context=bytes(data[offset : offset + CONTEXT_BYTES]),
        )
    return int.from_bytes(data[offset : offset + 4])


def _check_fits(data: bytes | memoryview, offset: int, length: int, code: str, field: str) -> None:
    remaining = len(data) - offset
    if length > remaining:
        raise DecodeError(
            code,
            offset=offset - 4,
            field=field,
            expected=f"at most {remaining}",
            found=str(length),
            context=bytes(data[offset - 4 : offset - 4 + CONTEXT_BYTES]),
        )
    if length > MAX_METADATA_BYTES:
        raise DecodeError(
            "metadata_too_large",
            offset=offset - 4,
            field=field,
            expected=f"at most {MAX_METADATA_BYTES}",
            found=str(length),
            context=bytes(data[offset - 4 : offset - 4 + CONTEXT_BYTES]),
        )
