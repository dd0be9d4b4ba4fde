"""What compaction makes of a log, key by key, and how a compacted ledger that is there compares.

The broker's compactor walks the log twice. It remembers the last position of each key, then copies what stands there:

| in the log | in the compacted topic |
|---|---|
| a message with a key | the last one of each key |
| one whose value is empty | nothing, and the key is forgotten |
| a message without a key | nothing (`topicCompactionRetainNullKey` keeps it) |
| a batch | the batch, with the members that are not the last of their key taken out |
| an encrypted batch | as one message, by the key of the entry |
| a chunked message with a key | its last chunk alone, because each chunk is an entry with that key |

So a key whose last message is chunked is lost to readers of the compacted topic: no client can read a last chunk alone,
and what the key held before is gone too.

Keys are held as digests of 16 bytes, one for each key, as the broker holds them too.

Source: https://github.com/apache/pulsar/blob/4dfe455b4f767323a66029e5c329fb973bb362cd/pulsar-broker/src/main/java/org/apache/pulsar/compaction/PublishingOrderCompactor.java
and `AbstractTwoPhaseCompactor.java` beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.messages.opening import MAX_HELD_BYTES
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.batch import read_batch
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.entry import Entry, decode_entry
from pulsar_backlog.wire.markers import is_marker

Kind = Literal["agrees", "cut", "lost", "stale", "beyond_log", "kept_deleted", "unknown_to_log", "maybe_deleted"]

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Spot:
    """The last message of a key.

    Attributes:
        position: of its entry.
        batch_index: place in its batch; -1 where it is none.
        num_chunks: of the chunked message that the entry is a chunk of; 1 where it is none.
        key: as on the wire, where it was asked for.
    """

    position: Position
    batch_index: int
    num_chunks: int
    key: str | None = None


@dataclass
class Latest:
    """The last message of each key of what was followed so far.

    Attributes:
        spots: by digest of the key.
        removed: where a key was deleted last, of each key that ever was.
        entries: entries followed.
        without_key: messages without a key.
        unreadable: positions of entries that tell no key: they cannot be decoded, or their batch cannot be opened.
        damaged: positions of entries whose checksum does not agree: their keys are not to be trusted.
    """

    with_keys: bool = False
    spots: dict[bytes, Spot] = field(default_factory=dict)
    removed: dict[bytes, Position] = field(default_factory=dict)
    entries: int = 0
    without_key: int = 0
    unreadable: list[Position] = field(default_factory=list)
    damaged: list[Position] = field(default_factory=list)

    def follow(self, position: Position, data: bytes) -> None:
        """One more entry, in the order of the log."""
        self.entries += 1
        try:
            entry = decode_entry(data)
            if entry.checksum_state == "mismatch":
                self.damaged.append(position)
            if is_marker(entry.metadata.marker_type):
                return
            for key, batch_index, size in list(_keyed(entry, data)):
                self._take(key, Spot(position, batch_index, entry.metadata.num_chunks_from_msg or 1), size)
        except DecodeError:
            self.unreadable.append(position)

    def _take(self, key: str | None, spot: Spot, size: int) -> None:
        if key is None:
            self.without_key += 1
            return
        digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        if size > 0:
            key_or_none = key if self.with_keys else None
            self.spots[digest] = Spot(spot.position, spot.batch_index, spot.num_chunks, key_or_none)
        else:
            self.spots.pop(digest, None)
            self.removed[digest] = spot.position


def _keyed(entry: Entry, data: bytes) -> Iterator[tuple[str | None, int, int]]:
    """Key, batch index and size of each message of an entry, as the compactor sees them."""
    metadata = entry.metadata
    if metadata.num_messages_in_batch is None or metadata.encryption_keys:
        # An absent size is that of the whole entry, which is never 0.
        size = 1 if metadata.uncompressed_size is None else metadata.uncompressed_size
        yield metadata.partition_key, -1, size
        return
    payload: bytes | memoryview = memoryview(data)[entry.layout.payload_offset :]
    if metadata.compression not in (None, "NONE"):
        claim = metadata.uncompressed_size or 0
        payload = decompress(metadata.compression or "", payload, claim, min(max(claim, 1), MAX_HELD_BYTES))
    for member in read_batch(payload, metadata.num_messages_in_batch):
        if not member.compacted_out:
            yield member.partition_key, member.batch_index, member.payload_size


@dataclass(frozen=True)
class Compared:
    """One key: what the compacted ledger makes of it, and where its last message stands in log and compacted ledger."""

    kind: Kind
    in_log: Spot | None
    in_view: Spot | None
    deleted_at: Position | None = None


def compare(log: Latest, view: Latest, log_begins: Position, later: Latest | None = None) -> Iterator[Compared]:
    """Each key of a log, up to its compaction horizon, and of its compacted ledger.

    Args:
        log: followed up to the horizon, and no further.
        view: the compacted ledger's entries, by their positions in the log.
        log_begins: first position of the log that was followed: what was before it may have been trimmed.
        later: the log behind the horizon, where that is not known but only how far it reaches at least: a key that is
            deleted there may have been deleted before the horizon.
    """
    for digest, spot in log.spots.items():
        one = _compared(spot, view.spots.get(digest))
        if one.kind == "lost" and later is not None and digest in later.removed:
            one = Compared("maybe_deleted", spot, None, later.removed[digest])
        yield one
    for digest, seen in view.spots.items():
        if digest in log.spots:
            continue
        if digest in log.removed and seen.position < log.removed[digest]:
            yield Compared("kept_deleted", None, seen, log.removed[digest])
        elif seen.position < log_begins:
            yield Compared("cut" if seen.num_chunks > 1 else "beyond_log", None, seen)
        else:
            yield Compared("unknown_to_log", None, seen)


def _compared(spot: Spot, seen: Spot | None) -> Compared:
    if seen is None:
        return Compared("lost", spot, None)
    here, there = (spot.position, spot.batch_index), (seen.position, seen.batch_index)
    if there < here:
        return Compared("stale", spot, seen)
    if there > here:
        return Compared("unknown_to_log", spot, seen)
    return Compared("cut" if spot.num_chunks > 1 else "agrees", spot, seen)
