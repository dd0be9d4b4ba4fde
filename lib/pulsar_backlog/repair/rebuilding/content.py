"""What is stored of one topic, entry by entry, as it can be published again, and what of it cannot be.

published   every message as its producer sent it, byte for byte: metadata with producer, sequence id, publish time,
keys and properties; payload compressed, encrypted, batched and cut into chunks as it was
changed     without transaction and schema fields: the new topic knows neither that transaction nor that schema
left out    broker metadata, which brokers add anew; markers; messages of transactions that never committed
damaged     what cannot be decoded, contradicts its checksum, or is missing: told, and left out only if asked for
undecided   messages in a segment of a scalable topic of whose transaction nothing tells how it ended: likewise
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from google_crc32c import value as crc32c

from pulsar_backlog.cluster.required_state import required_state
from pulsar_backlog.cluster.transactions import Transactions
from pulsar_backlog.errors import DecodeError, UsageError
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.repair.rebuilding.tally import Tally
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.entry import Entry, decode_entry, is_chunk, read_layout
from pulsar_backlog.wire.markers import TXN_COMMIT, is_marker
from pulsar_backlog.wire.names import is_segment
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

_OF_THE_OLD_TOPIC = ("txnid_least_bits", "txnid_most_bits", "schema_version", "schema_id")
_MAGIC = b"\x0e\x01"


@dataclass(frozen=True, slots=True)
class Sendable:
    """An entry as it is sent.

    Attributes:
        position: where it lies in the old topic.
        data: checksum, metadata and payload.
        messages: how many messages it holds.
        is_chunk: whether it is a part of one.
    """

    position: Position
    data: bytes
    messages: int
    is_chunk: bool


@dataclass(frozen=True)
class Content:
    """The ledgers of one topic.

    Attributes:
        source: where they lie.
        topic: full name, or None where nothing tells.
        copies: in the order of the log.
        absent: ledgers of the topic that cannot be read, or are not in the source.
        decided: what the metadata store says of transactions in segments.
        first_ledger_id: first ledger that the broker lists of the topic; None when that was not saved.
    """

    source: Source
    topic: str | None
    copies: tuple[LedgerCopy, ...]
    absent: tuple[int, ...]
    decided: Transactions = field(default_factory=Transactions)
    first_ledger_id: int | None = None

    @cached_property
    def tally(self) -> Tally:
        """All of it, read once.

        Raises:
            SourceError: a ledger cannot be read.
        """
        tally = Tally()
        for ledger_id in self.absent:
            tally.tell(1, f"ledger {ledger_id} is missing or cannot be read")
        for copy in self.copies:
            self._count(copy, tally)
        return tally

    def sendables(self) -> Iterator[Sendable]:
        """What is published, in order.

        Raises:
            SourceError: a ledger cannot be read.
        """
        for copy in self.copies:
            for position, data in self._bodies(copy):
                entry = _sound(data)
                if entry is not None and self._fate(position, entry) == "committed":
                    yield _sendable(position, data, entry)

    @cached_property
    def _committed(self) -> frozenset[tuple[int, int]]:
        """Transactions that a stored marker commits."""
        committed = (
            _transaction(entry)
            for copy in self.copies
            for _, data in self._bodies(copy)
            if (entry := _sound(data)) is not None and entry.metadata.marker_type == TXN_COMMIT
        )
        return frozenset(one for one in committed if one is not None)

    def _fate(self, position: Position, entry: Entry) -> str:
        """`committed` of what is published, `marker`, `aborted`; in a segment also `open` and `cannot_tell`.

        Segments hold no markers: there the metadata store decides, and nobody where it was not saved. Transactions of
        segments are numbered apart from those of other topics.
        """
        if is_marker(entry.metadata.marker_type):
            return "marker"
        transaction = _transaction(entry)
        if transaction is None:
            return "committed"
        if self.topic is not None and is_segment(self.topic):
            return self.decided.state_of(self.topic, transaction, position, self.first_ledger_id)
        return "committed" if transaction in self._committed else "aborted"

    def _count(self, copy: LedgerCopy, tally: Tally) -> None:
        following = 0
        for (ledger_id, entry_id), data in self._bodies(copy):
            if entry_id > following:
                tally.tell(entry_id - following, _missing(ledger_id, following, entry_id))
            following = entry_id + 1
            entry = _sound(data)
            if entry is None:
                tally.tell(1, f"{ledger_id}:{entry_id} is damaged")
            else:
                self._count_entry((ledger_id, entry_id), data, entry, tally)
        if copy.expected_entries is None:
            tally.open_ledgers.append(copy.ledger_id)
        elif following < copy.expected_entries:
            words = _missing(copy.ledger_id, following, copy.expected_entries)
            tally.tell(copy.expected_entries - following, words)

    def _count_entry(self, position: Position, data: bytes, entry: Entry, tally: Tally) -> None:
        fate = self._fate(position, entry)
        if fate == "committed":
            _add(tally, _sendable(position, data, entry), entry)
        elif fate == "marker":
            tally.markers += 1
        elif fate == "aborted":
            tally.uncommitted += 1
        else:
            tally.undecided += 1
            words = "was still open" if fate == "open" else "may have been committed or aborted, nothing here tells"
            tally.tell(1, f"{position[0]}:{position[1]} is of a transaction that {words}")

    def _bodies(self, copy: LedgerCopy) -> Iterator[tuple[Position, bytes]]:
        for unit in units_of(copy):
            for batch in walk_unit(self.source, unit):
                places = zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True)
                for entry_id, at, size in places:
                    yield (copy.ledger_id, entry_id), batch.buffer[at : at + size].tobytes()


def take_content(source: Source, admin: Path | None, scope: Scope) -> Content:
    """The ledgers that a user names, which must be one topic's.

    Args:
        source: where they lie; it is only read.
        admin: folder of saved admin JSON, which may know topics and ledgers that the source does not name.
        scope: topic and ledgers.

    Raises:
        UsageError: there are none, or of several topics.
    """
    surveyed = survey(source, take_listing(source))
    knowledge, state = ClusterRecords({}, {}), None
    if admin is not None:
        state = required_state(admin, surveyed.topics())
        knowledge = ClusterRecords.of(state)
    inside = [copy for copy in settle(surveyed, knowledge).copies if scope.holds(copy)]
    copies = sorted((copy for copy in inside if copy.selected and copy.blocks), key=lambda copy: copy.ledger_id)
    names = sorted({copy.topic or "a topic that nothing names" for copy in inside})
    if not copies:
        raise UsageError(f"{source.source} holds no ledger within --topic and --ledger that can be read")
    if len(names) > 1:
        raise UsageError(f"these ledgers are of several topics ({', '.join(names[:5])}): name one with --topic")
    topic = copies[0].topic
    ledger_ids = {copy.ledger_id for copy in inside}
    ledger_ids |= {one.ledger_id for one in knowledge.broker.values() if one.topic == topic and one.entries}
    absent = sorted(one for one in ledger_ids if scope.holds_id(one) and one not in {copy.ledger_id for copy in copies})
    decided = state.transactions if state else Transactions()
    listed = state.topics.get(topic or "") if state else None
    first = min((one.ledger_id for one in listed.ledgers), default=None) if listed else None
    return Content(source, topic, tuple(copies), tuple(absent), decided, first)


def as_sent(data: bytes) -> bytes:
    """A stored entry without what the broker added in front.

    Raises:
        DecodeError: it is no entry.
    """
    layout = read_layout(data)
    return data[
        layout.metadata_offset - 4 if layout.checksum_offset is None else layout.checksum_offset - len(_MAGIC) :
    ]


def _sound(data: bytes) -> Entry | None:
    """The entry, if it can be believed."""
    try:
        entry = decode_entry(data)
    except DecodeError:
        return None
    return None if entry.checksum_state == "mismatch" else entry


def _missing(ledger_id: int, first: int, end: int) -> str:
    """Of ids from the first to before the end."""
    return (
        f"{ledger_id}:{first} is missing"
        if end - first == 1
        else f"{ledger_id}:{first} to {ledger_id}:{end - 1} are missing"
    )


def _transaction(entry: Entry) -> tuple[int, int] | None:
    most, least = entry.metadata.txnid_most_bits, entry.metadata.txnid_least_bits
    return None if most is None or least is None else (most, least)


def _is_changed(entry: Entry) -> bool:
    return any(getattr(entry.metadata, name) is not None for name in _OF_THE_OLD_TOPIC)


def _sendable(position: Position, data: bytes, entry: Entry) -> Sendable:
    sent = _without_old_topic(data, entry) if _is_changed(entry) else as_sent(data)
    return Sendable(position, sent, entry.metadata.num_messages_in_batch or 1, is_chunk(entry.metadata))


def _without_old_topic(data: bytes, entry: Entry) -> bytes:
    """The entry without the fields that mean nothing in another topic; fields that we do not know stay."""
    layout = entry.layout
    metadata = MessageMetadata.FromString(data[layout.metadata_offset : layout.payload_offset])
    for name in _OF_THE_OLD_TOPIC:
        metadata.ClearField(name)
    raw = metadata.SerializeToString()
    rest = struct.pack(">i", len(raw)) + raw + data[layout.payload_offset :]
    return _MAGIC + struct.pack(">I", crc32c(rest)) + rest


def _add(tally: Tally, one: Sendable, entry: Entry) -> None:
    tally.entries += 1
    tally.entry_bytes += len(one.data)
    tally.largest_bytes = max(tally.largest_bytes, len(one.data))
    tally.chunks += one.is_chunk
    tally.changed += _is_changed(entry)
    tally.is_encrypted &= entry.metadata.encryption_keys is not None
