"""What the chunk fold reads (`ChunkRow`, `LogEdge`) and what it returns (`Publication`, `ChunkRole`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pulsar_backlog.terms import Position, Role, State, Sureness

Flag = Literal[
    "repeated_prefix",
    "overlap",
    "tail_residue",
    "prefix_residue",
    "whole_duplicate",
    "resend_residue",
    "uuid_reused",
    "mixed_with_another_publication",
    "metadata_conflict",
    "size_fault",
    "sizes_lie",
    "corrupt_copy",
    "copies_differ",
    "ledger_span",
    "decode_fault",
]
DamageKind = Literal["mismatch", "absent", "reject"]
DecodeState = Literal["ok", "fault", "wrong_size", "not_needed", "encrypted", "not_checked"]

ENCRYPTION_TAG_BYTES = 16
"""AES-GCM tag at the end of every encrypted slice; `total_chunk_msg_size` does not count it."""

MAX_LISTED = 1000
"""How many missing chunk ids, and how many missing byte ranges, a publication names at most."""


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One stored chunk entry, metadata only.

    Attributes:
        ledger_id: ledger.
        entry_id: entry within the ledger.
        chunk_uuid: `uuid`, empty when absent.
        publish_time_ms: `publish_time`, the same on all chunks of one send.
        chunk_id: place of the chunk, from 0; None when absent.
        num_chunks: `num_chunks_from_msg`; None when absent.
        total_bytes: `total_chunk_msg_size`, compressed and not encrypted; None when absent.
        uri: object that holds it, relative to the source.
        payload_offset: first byte of the payload in that object; where it is compressed, of the block or record that
            holds it.
        payload_length: payload bytes as stored (encrypted: with the tag).
        payload_crc32c: CRC-32C of the stored payload alone; None when not computed.
        checksum_state: `valid`, `mismatch` or `absent`.
        producer_name: producer.
        sequence_id: producer's sequence id.
        compression: codec; None or `NONE` means none.
        uncompressed_size: bytes of the whole message before compression; None when absent.
        encrypted: whether the payload is encrypted.
        num_messages_in_batch: batch count, which no healthy chunk carries; None when absent.
        metadata_digest: hash of key, ordering key, properties (but the replication position), event time,
            schema version, transaction: equal on all chunks of one healthy message.
        broker_timestamp_ms: when the broker stored it; None when not recorded.
        inner_offset: first byte of the payload in that block or record, decompressed; None where it is stored as it is.
        block_length: stored bytes of that block or record; None likewise.
    """

    ledger_id: int
    entry_id: int
    chunk_uuid: str
    publish_time_ms: int
    chunk_id: int | None
    num_chunks: int | None
    total_bytes: int | None
    uri: str
    payload_offset: int
    payload_length: int
    payload_crc32c: int | None
    checksum_state: str
    producer_name: str
    sequence_id: int
    compression: str | None
    uncompressed_size: int | None
    encrypted: bool
    num_messages_in_batch: int | None
    metadata_digest: int
    broker_timestamp_ms: int | None
    inner_offset: int | None = None
    block_length: int | None = None


class Picked(NamedTuple):
    """The stored copy of a chunk that a message is made of, and where its payload lies; named as in `manifest`."""

    chunk_id: int
    ledger_id: int
    entry_id: int
    uri: str
    offset: int
    length: int
    inner_offset: int | None = None
    block_length: int | None = None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A stored entry of which nothing can be believed but where it lies: it may be any message's missing chunk.

    What it says of itself is a hint: damage to one field leaves the others as they were.

    Attributes:
        kind: `mismatch` (its checksum contradicts it), `absent` (it has none), `reject` (it could not be decoded).
        after_ms: a time after which it was stored: the earliest of the ledger before its own; None when not known.
        before_ms: a time before which it was: the latest of the ledger after its own; None when not known.
        chunk_uuid: the uuid that it names; None when it names none.
        producer_name: the producer that it names; None when it names none.
        sequence_id: the sequence id that it names; None when it names none.
        payload_length: bytes of its payload; None when not known.
        payload_crc32c: CRC-32C of its payload; None when not computed.
        garbled: whether its producer is nobody who wrote near it, so that all its fields may be wrong.
    """

    ledger_id: int
    entry_id: int
    kind: DamageKind
    after_ms: int | None = None
    before_ms: int | None = None
    chunk_uuid: str | None = None
    producer_name: str | None = None
    sequence_id: int | None = None
    payload_length: int | None = None
    payload_crc32c: int | None = None
    garbled: bool = False


@dataclass(frozen=True, slots=True)
class Damage:
    """The damaged entries of a topic.

    Attributes:
        places: those that are listed, in position order.
        unlisted: how many more there are that a checksum contradicts, or that could not be decoded.
        unverified: ledgers with entries without a checksum that are not listed, ascending.
        ledgers: the ledgers that were scanned, ascending; empty when nothing is damaged.
    """

    places: tuple[Damaged, ...] = ()
    unlisted: int = 0
    unverified: tuple[int, ...] = ()
    ledgers: tuple[int, ...] = ()


NO_DAMAGE = Damage()


@dataclass(frozen=True, slots=True)
class LogEdge:
    """What is known about the log around a family: it decides what a missing chunk means.

    Attributes:
        end_time_ms: latest time known for the topic's visible log: last entry (broker timestamp, else
            publish time), ledger close, or a later time at which the broker said nothing newer exists.
        grace_ms: how long a message may take to arrive.
        producer_last: producer name to the position of its last stored entry of any kind.
        open_ledgers: ledgers that may still grow.
        first_ledger_id: first ledger seen.
        begins_at_start: whether it is known that nothing lies before `first_ledger_id`.
        absent_ledgers: ledgers that may hold entries and were not scanned.
        has_rejects: whether entries of the topic could not be decoded, or may be missing from a scanned ledger; any
            may be a missing chunk.
        complete_to_end: whether the scan reaches the broker's last confirmed entry.
        producers_gone: whether saved statistics show no publisher attached.
        is_terminated: whether the topic takes no entries any more, as the broker said.
        is_final: whether, besides, the scan reaches its last entry, so that nothing can follow.
        unknown_after: scanned ledgers after which nothing says whether others lie before the next scanned one.
        begin_time_ms: earliest time known for the topic's visible log, by the same clocks; None when unknown.
        damage: the topic's damaged entries.
        deduplicated: whether the broker is known to drop duplicates.
    """

    end_time_ms: int | None
    grace_ms: int
    producer_last: Mapping[str, Position]
    open_ledgers: frozenset[int]
    first_ledger_id: int | None
    begins_at_start: bool
    absent_ledgers: tuple[int, ...]
    has_rejects: bool
    complete_to_end: bool
    producers_gone: bool
    is_terminated: bool = False
    is_final: bool = False
    unknown_after: tuple[int, ...] = ()
    begin_time_ms: int | None = None
    damage: Damage = NO_DAMAGE
    deduplicated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known of a publication wherever it is spoken of, named as the columns of `chunked_messages`."""

    chunk_uuid: str
    publish_time_ms: int
    state: State
    rebuildable: bool
    sureness: Sureness
    reason: str
    num_chunks: int
    present_chunks: int
    stored_bytes: int
    encrypted: bool

    @property
    def key(self) -> tuple[str, int]:
        """Names it within its topic."""
        return self.chunk_uuid, self.publish_time_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication(Verdict):
    """One send of one message, named as the columns of the `chunked_messages` table.

    Attributes:
        missing_bytes: half-open ranges of the compressed message, merged; empty when unknown.
        manifest: where the payload of each chunk lies, in order; empty unless rebuildable.
    """

    producer_name: str
    sequence_id: int
    flags: tuple[str, ...]
    first_ledger_id: int
    first_entry_id: int
    last_ledger_id: int
    last_entry_id: int
    copies: int
    missing_chunk_ids: tuple[int, ...]
    missing_chunk_count: int
    missing_bytes: tuple[tuple[int, int], ...]
    total_bytes: int
    uncompressed_bytes: int | None
    compression: str | None
    span_entries: int
    span_ms: int
    ledgers: tuple[int, ...]
    manifest: tuple[Picked, ...]
    decode_state: DecodeState
    decoded_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkRole:
    """What one stored chunk entry is in its publication, named as the columns of `chunks`."""

    ledger_id: int
    entry_id: int
    publish_time_ms: int
    chunk_id: int | None
    role: Role
    chunk_uuid: str
    payload_length: int
    checksum_state: str


@dataclass(frozen=True, slots=True)
class FamilyFold:
    """Verdict on all entries with one uuid: publications by their first copy, roles by position."""

    publications: tuple[Publication, ...]
    roles: tuple[ChunkRole, ...]


def position(row: ChunkRow) -> Position:
    """Where the row is stored."""
    return row.ledger_id, row.entry_id


def trusted(row: ChunkRow) -> bool:
    """Whether the row's fields can be believed: its checksum does not contradict them."""
    return row.checksum_state != "mismatch"


def codec(row: ChunkRow) -> str | None:
    """Codec of the message, None for none however it was written."""
    return None if row.compression == "NONE" else row.compression


def stored_at_ms(row: ChunkRow) -> int:
    """When it was stored by the best clock there is: the broker's, else the producer's."""
    return row.publish_time_ms if row.broker_timestamp_ms is None else row.broker_timestamp_ms
