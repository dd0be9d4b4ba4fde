"""The kinds of internal ledgers, in words, and which a name says that a ledger is.

A ledger's own metadata say what it is for (`component` and others, see `named_by_custom`); of a managed ledger the
local name of its topic does. Names of system topics:
https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/naming/SystemTopicNames.java
and of ledgers' metadata:
https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/LedgerMetadataUtils.java
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

from pulsar_backlog.wire.ledger_metadata import MANAGED_LEDGER_KEY
from pulsar_backlog.wire.names import topic_of_managed_ledger

PENDING_ACK_SUFFIX = "__transaction_pending_ack"
DEDUPLICATION_CURSOR = "pulsar.dedup"
COMPACTION_CURSOR = "__compaction"


@dataclass(frozen=True)
class InternalKind:
    """A kind: its name in tables, what it is in words, and whether its entries are messages."""

    name: str
    words: str
    of_messages: bool = False


KINDS: Mapping[str, InternalKind] = {
    one.name: one
    for one in (
        InternalKind("schema", "a version of a topic's schema"),
        InternalKind("topic_policies", "policies of the topics of a namespace", of_messages=True),
        InternalKind("transaction_log", "the log of a transaction coordinator"),
        InternalKind("transaction_snapshot", "snapshots of topics' transactions", of_messages=True),
        InternalKind("pending_ack", "acknowledgements of transactions on a subscription"),
        InternalKind("compacted", "a compacted topic"),
        InternalKind("cursor", "the acknowledgement state of a subscription"),
        InternalKind("deduplication", "the highest sequence id of each producer of a topic"),
        InternalKind("delayed_bucket", "an index of delayed messages"),
        InternalKind("functions", "state of functions and connectors", of_messages=True),
        InternalKind("load_report", "loads and assignments of brokers", of_messages=True),
        InternalKind("system_topic", "another system topic", of_messages=True),
        InternalKind("unknown", "nobody says, and its bytes fit nothing that is known"),
    )
}
"""By name, in the order in which they are shown."""

_PARTITION = re.compile(r"-partition-\d+\Z", re.ASCII)
_LOCAL_NAMES = {
    "__change_events": "topic_policies",
    "__transaction_buffer_snapshot": "transaction_snapshot",
    "__transaction_buffer_snapshot_segments": "transaction_snapshot",
    "__transaction_buffer_snapshot_indexes": "transaction_snapshot",
    "transaction_coordinator_assign": "system_topic",
}
_FUNCTION_TOPICS = ("metadata", "coordinate", "assignments")


def kind_of_topic(topic: str | None) -> str | None:
    """The kind of a system topic, by its full name; None of a topic that people made, or without a name."""
    if topic is None or not topic.startswith("persistent://"):
        return None
    space, _, local = topic.removeprefix("persistent://").rpartition("/")
    local = _PARTITION.sub("", local)
    if local.startswith("__transaction_log_") and space == "pulsar/system":
        return "transaction_log"
    if local.endswith(PENDING_ACK_SUFFIX):
        return "pending_ack"
    if local in _LOCAL_NAMES:
        return _LOCAL_NAMES[local]
    if space == "public/functions" and local in _FUNCTION_TOPICS:
        return "functions"
    if local.startswith("loadbalancer-") and space == "pulsar/system":
        return "load_report"
    return "system_topic" if space == "pulsar/system" or space.startswith("pulsar/") or local.startswith("__") else None


def kind_of_cursor(cursor: str) -> str:
    """The kind of a cursor's ledger, by the cursor's name."""
    return "deduplication" if cursor == DEDUPLICATION_CURSOR else "cursor"


@dataclass(frozen=True, slots=True)
class LedgerName:
    """What a ledger is for.

    Attributes:
        kind: name of a kind; None of a ledger of messages that people sent.
        topic: full name that it belongs to; None where nothing names one.
        subscription: of a cursor, a bucket or pending acknowledgements; None elsewhere.
        schema_id: of a schema, `tenant/namespace/topic`.
    """

    kind: str | None
    topic: str | None = None
    subscription: str | None = None
    schema_id: str | None = None

    @property
    def name(self) -> str | None:
        """What a person calls it."""
        if self.subscription is not None:
            return f"{self.topic or '?'} / {self.subscription}"
        return self.schema_id or self.topic


def named_by_custom(custom: Mapping[str, bytes]) -> LedgerName | None:
    """What the custom metadata of a ledger say that it is for; None where they do not."""
    texts = {key: value.decode("utf-8", "replace") for key, value in custom.items() if key != "pulsar/compactedTo"}
    component = texts.get("component")
    if component == "schema":
        schema_id = texts.get("pulsar/schemaId", "")
        return LedgerName("schema", topic_of_schema(schema_id), schema_id=schema_id)
    if component == "compacted-ledger":
        return LedgerName("compacted", texts.get("pulsar/compactedTopic"))
    if component == "delayed-index-bucket":
        return LedgerName(
            "delayed_bucket", texts.get("pulsar/delayedIndexTopic"), texts.get("pulsar/delayedIndexCursor")
        )
    managed = texts.get(MANAGED_LEDGER_KEY)
    return None if managed is None else named_by_managed_ledger(managed, texts.get("pulsar/cursor"))


def named_by_managed_ledger(managed_ledger: str, cursor: str | None) -> LedgerName:
    """What a ledger of a managed ledger is for; `cursor` as it is encoded, None of one with entries."""
    try:
        topic = topic_of_managed_ledger(managed_ledger)
    except ValueError:
        topic = None
    if cursor is not None:
        name = unquote_plus(cursor, errors="replace")
        return LedgerName(kind_of_cursor(name), topic, name)
    return named_by_topic(topic)


def named_by_topic(topic: str | None) -> LedgerName:
    """What a ledger of a topic's entries is for."""
    kind = kind_of_topic(topic)
    if kind == "pending_ack" and topic is not None:
        # `<topic>-<subscription>` cannot be told apart where both have hyphens: shown as it is.
        return LedgerName(kind, topic)
    return LedgerName(kind, topic)


def topic_of_schema(schema_id: str) -> str | None:
    """The topic of a schema; of all partitions and segments, the parent."""
    return f"persistent://{unquote_plus(schema_id, errors='replace')}" if schema_id.count("/") == 2 else None
