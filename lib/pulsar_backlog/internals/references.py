"""Who points to which internal ledger, by what was saved of the metadata store and of brokers' answers.

A ledger that BookKeeper keeps and that nobody points to is leaked; one that somebody points to and that BookKeeper does
not keep is lost. Both can only be said where the store was saved whole enough, see `Knowledge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pulsar_backlog.cluster.store_nodes import StoreNodes
from pulsar_backlog.cluster.stored_values import StoredValue
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.cursors.decode import decode_cursor_info
from pulsar_backlog.cursors.values import AckState, CursorInfo
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.internals.delayed_buckets import bucket_span
from pulsar_backlog.internals.kinds import (
    COMPACTION_CURSOR,
    DEDUPLICATION_CURSOR,
    PENDING_ACK_SUFFIX,
    LedgerName,
    kind_of_cursor,
    kind_of_topic,
    named_by_custom,
    named_by_topic,
    topic_of_schema,
)
from pulsar_backlog.internals.schemas import SchemaVersion, decode_locator
from pulsar_backlog.wire.ledger_list import decode_ledger_list
from pulsar_backlog.wire.ledger_metadata import LedgerMetadata

COMPACTED_PROPERTY = "CompactedTopicLedger"
"""Property of the cursor of compaction that names the compacted ledger."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """One thing that points to a ledger: what that makes the ledger, and the pointer in words."""

    name: LedgerName
    holder: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of delayed messages as its cursor names it: `span` is the first and last ledger of its messages."""

    topic: str
    subscription: str
    span: tuple[int, int]


@dataclass
class Knowledge:
    """What is known of internal ledgers beside their bytes.

    Attributes:
        pointers: by ledger id, in the order in which they were found.
        locators: versions of each schema, by schema id.
        undecodable: topics and cursors whose values of the store could not be read: what they point to is not known.
        ledger_topics: of ledgers that hold people's messages, the topic that lists them.
        nodes: of the store.
        changed_ms: when the node of a topic's list, or of a cursor (topic and name), was changed last.
        cursor_ledgers: open ledger of each cursor, by topic and name: what its state points to lies there.
        read_cursors: those of them whose newest state was read.
        cursors: topic and name of every cursor that is known, by the name that its log of pending acknowledgements has.
        buckets: of delayed messages, by ledger.
        deduplication: whole state of the cursor `pulsar.dedup` in the store, by topic; none where it has a ledger.
    """

    pointers: dict[int, list[Pointer]] = field(default_factory=dict)
    locators: dict[str, tuple[SchemaVersion, ...]] = field(default_factory=dict)
    undecodable: set[str] = field(default_factory=set)
    ledger_topics: dict[int, str] = field(default_factory=dict)
    nodes: StoreNodes = field(default_factory=StoreNodes)
    changed_ms: dict[tuple[str, str | None], int] = field(default_factory=dict)
    cursor_ledgers: dict[tuple[str, str], int] = field(default_factory=dict)
    read_cursors: set[int] = field(default_factory=set)
    cursors: dict[str, tuple[str, str]] = field(default_factory=dict)
    buckets: dict[int, Bucket] = field(default_factory=dict)
    deduplication: dict[str, AckState] = field(default_factory=dict)

    def add(self, ledger_id: int, name: LedgerName, holder: str) -> None:
        """Note a pointer, once."""
        pointers = self.pointers.setdefault(ledger_id, [])
        if all(one.holder != holder for one in pointers):
            pointers.append(Pointer(name, holder))

    def add_cursor(self, topic: str, cursor: str) -> None:
        """Note that a topic has a cursor."""
        self.cursors.setdefault(f"{topic}-{cursor}{PENDING_ACK_SUFFIX}", (topic, cursor))

    def owner_of_pending_acks(self, topic: str | None) -> tuple[str, str] | tuple[None, None]:
        """Topic and subscription that a log of pending acknowledgements is of; its name alone does not tell."""
        return self.cursors.get(topic or "", (None, None))

    def metadata(self, ledger_id: int) -> LedgerMetadata | None:
        """BookKeeper's own metadata of a ledger; None where they were not saved."""
        return self.nodes.metadata(ledger_id)

    def name_of(self, ledger_id: int) -> tuple[LedgerName, str] | None:
        """What a ledger is for, and who says so: its own metadata, else what points to it."""
        metadata = self.metadata(ledger_id)
        by_custom = named_by_custom(dict(metadata.custom)) if metadata else None
        if by_custom is not None:
            return by_custom, "ledger metadata"
        pointers = self.pointers.get(ledger_id)
        if pointers:
            return pointers[0].name, "pointer"
        topic = self.ledger_topics.get(ledger_id)
        return (LedgerName(None, topic), "pointer") if topic else None

    def internal_ids(self) -> set[int]:
        """Ledgers that are known to be internal ones."""
        named = {one for one in self.nodes.ledgers if (label := self.name_of(one)) and label[0].kind is not None}
        return named | set(self.pointers)


def knowledge_of(state: ClusterState | None) -> Knowledge:
    """What the saved state says."""
    knowledge = Knowledge()
    if state is None:
        return knowledge
    knowledge.nodes = state.nodes
    for schema_id, value in state.nodes.schemas.items():
        _add_schema(knowledge, schema_id, value)
    for stored in state.stored_values:
        _add_value(knowledge, stored)
    for topic in state.topics.values():
        _add_lists(knowledge, topic.topic, [one.ledger_id for one in topic.ledgers])
        for cursor in topic.cursors:
            knowledge.add_cursor(topic.topic, cursor.name)
            if cursor.cursor_ledger_id is not None:
                _add_cursor(knowledge, topic.topic, cursor.name, cursor.cursor_ledger_id)
        if topic.compacted_ledger_id is not None:
            add_compacted(knowledge, topic.topic, topic.compacted_ledger_id)
    for ledger in state.cursor_ledgers:
        if ledger.cursor is not None:
            name = LedgerName(kind_of_cursor(ledger.cursor), ledger.topic, ledger.cursor)
            knowledge.pointers.setdefault(ledger.ledger_id, []).append(Pointer(name, f"file {ledger.file}"))
    return knowledge


def _add_schema(knowledge: Knowledge, schema_id: str, value: bytes) -> None:
    try:
        versions = decode_locator(value)
    except DecodeError:
        knowledge.undecodable.add(f"schema {schema_id}")
        return
    knowledge.locators[schema_id] = versions
    name = LedgerName("schema", topic_of_schema(schema_id), schema_id=schema_id)
    for one in versions:
        if one.position is not None:
            knowledge.add(one.position[0], name, f"version {one.version} of schema {schema_id}")


def _add_value(knowledge: Knowledge, stored: StoredValue) -> None:
    if stored.modified_ms is not None:
        knowledge.changed_ms[stored.topic, stored.cursor] = stored.modified_ms
    try:
        if stored.cursor is None:
            ids = [one.ledger_id for one in decode_ledger_list(stored.value).ledgers]
            _add_lists(knowledge, stored.topic, ids)
        else:
            knowledge.add_cursor(stored.topic, stored.cursor)
            _add_cursor_info(knowledge, stored.topic, stored.cursor, decode_cursor_info(stored.value))
    except DecodeError:
        knowledge.undecodable.add(f"{stored.topic} / {stored.cursor}" if stored.cursor else stored.topic)


def _add_lists(knowledge: Knowledge, topic: str, ids: list[int]) -> None:
    for ledger_id in ids:
        if kind_of_topic(topic) is None:
            knowledge.ledger_topics.setdefault(ledger_id, topic)
        else:
            knowledge.add(ledger_id, named_by_topic(topic), f"list of ledgers of {topic}")


def _add_cursor_info(knowledge: Knowledge, topic: str, cursor: str, info: CursorInfo) -> None:
    if info.cursors_ledger_id >= 0:
        _add_cursor(knowledge, topic, cursor, info.cursors_ledger_id)
    elif cursor == DEDUPLICATION_CURSOR and info.state is not None:
        knowledge.deduplication[topic] = info.state
    compacted = info.state.properties.get(COMPACTED_PROPERTY) if info.state else None
    if cursor == COMPACTION_CURSOR and compacted is not None and info.cursors_ledger_id < 0:
        add_compacted(knowledge, topic, compacted)
    for ledger_id, span in bucket_ledgers(info.cursor_properties):
        knowledge.buckets[ledger_id] = Bucket(topic, cursor, span)
        name = LedgerName("delayed_bucket", topic, cursor)
        knowledge.add(ledger_id, name, f"bucket of delayed messages of {cursor} on {topic}")


def bucket_ledgers(properties: Mapping[str, str]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Ledgers of buckets that properties of a cursor name, each with the span of ledgers whose messages it is about."""
    for key, value in properties.items():
        span = bucket_span(key)
        if span is not None and value.isascii() and value.isdigit() and len(value) <= 18:
            yield int(value), span


def _add_cursor(knowledge: Knowledge, topic: str, cursor: str, ledger_id: int) -> None:
    knowledge.cursor_ledgers[topic, cursor] = ledger_id
    knowledge.add(ledger_id, LedgerName(kind_of_cursor(cursor), topic, cursor), f"cursor {cursor} of {topic}")


def add_compacted(knowledge: Knowledge, topic: str, ledger_id: int) -> None:
    """Note that a topic's compaction points to a ledger."""
    knowledge.add(ledger_id, LedgerName("compacted", topic), f"compaction of {topic}")
