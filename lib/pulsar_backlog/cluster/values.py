"""What the broker knew about topics and their ledgers when someone saved it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsar_backlog.cluster.layouts import Layout
from pulsar_backlog.cluster.retention import SavedRetention
from pulsar_backlog.cluster.saved_cursors import SavedCursor, SavedSubscription
from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.store_nodes import StoreNodes
from pulsar_backlog.cluster.stored_values import SavedCursorLedger, StoredValue
from pulsar_backlog.cluster.transactions import Transactions
from pulsar_backlog.findings import Finding
from pulsar_backlog.wire.names import is_segment


@dataclass(frozen=True)
class LedgerRecord:
    """The broker's record of one ledger.

    Attributes:
        ledger_id: ledger.
        topic: full name of the topic partition it belongs to.
        uuid: of the newest offload attempt, complete or not; None when there was none or it was not saved.
        complete: whether the broker reads the ledger from the offloaded copy; None when that was not saved.
        entries: entries of the closed ledger; None while it is open.
        size_bytes: bytes of all entries of the closed ledger; None while it is open.
        closed_time_ms: when it was closed; None while it is open, or when that was not saved.
    """

    ledger_id: int
    topic: str
    uuid: str | None = None
    complete: bool | None = None
    entries: int | None = None
    size_bytes: int | None = None
    closed_time_ms: int | None = None


@dataclass(frozen=True)
class TopicState:
    """What the broker knew about one topic partition.

    Attributes:
        topic: full name.
        ledgers: in the broker's order, the last one usually open.
        last_confirmed: (ledger id, entry id) of the last entry; entry id -1 when that ledger is empty.
        last_ledger_created_ms: when the newest ledger was begun.
        known_until_ms: no entry followed `last_confirmed` before this time; without `last_confirmed`, no
            ledger followed the last one. A lower bound: of the documents, only a snapshot says when it asked.
        publishers: producers that were connected.
        subscriptions: by name, as the newest stats say.
        state: of the managed ledger, such as `LedgerOpened`.
        terminated: whether nothing can be published any more; None when that was not saved.
        terminated_at: (ledger id, entry id) of the last entry that a terminated topic will ever have; entry id -1 when
            that ledger is empty; None when it is not terminated, or that was not saved.
        cursors: of all documents about the topic; one cursor may be there several times.
        compacted_ledger_id: ledger of the compacted topic; None when there is none, or it was not saved.
        open_bytes: of the entries of the ledger that is open; None when that was not saved.
        open_ledger_id: ledger that was open when `last_confirmed` was read; None when none was, or it was not saved.
        deduplicated: whether the broker dropped duplicates then; None when that was not saved.
        names_all_ledgers: whether the ids of all listed ledgers could be read; else where the list begins is not known.
    """

    topic: str
    ledgers: tuple[LedgerRecord, ...] = ()
    last_confirmed: tuple[int, int] | None = None
    last_ledger_created_ms: int | None = None
    known_until_ms: int | None = None
    publishers: int | None = None
    subscriptions: Mapping[str, SavedSubscription] | None = None
    state: str | None = None
    terminated: bool | None = None
    terminated_at: tuple[int, int] | None = None
    deduplicated: bool | None = None
    cursors: tuple[SavedCursor, ...] = ()
    compacted_ledger_id: int | None = None
    open_bytes: int | None = None
    open_ledger_id: int | None = None
    names_all_ledgers: bool = True

    @property
    def empty_ledger_id(self) -> int | None:
        """The open ledger, where nothing was written to it yet; None where it has entries, or nothing says."""
        if self.open_ledger_id is None or self.last_confirmed is None:
            return None
        return self.open_ledger_id if self.last_confirmed < (self.open_ledger_id, 0) else None


@dataclass(frozen=True)
class ClusterState:
    """What a folder of saved admin JSON says.

    Attributes:
        topics: by full name.
        disputed: ledger ids that two topics claim; nothing that is said of them can be relied on.
        findings: files that could not be used (S19) and claims that contradict each other (S20).
        stored_values: values of the metadata store.
        cursor_ledgers: entries of cursor ledgers.
        layouts: of scalable topics, by name.
        registered: scalable topic and name of each subscription that the store registers: of stream and checkpoint
            consumers. Where no store was saved there is none.
        transactions: of v5 clients, as the store says.
        retention: policies that let ledgers go.
        settings: version and settings of the brokers, as a snapshot saved them.
        nodes: of the metadata store, about ledgers themselves and schemas.
    """

    topics: Mapping[str, TopicState]
    disputed: frozenset[int]
    findings: tuple[Finding, ...]
    stored_values: tuple[StoredValue, ...] = ()
    cursor_ledgers: tuple[SavedCursorLedger, ...] = ()
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    registered: frozenset[tuple[str, str]] = frozenset()
    transactions: Transactions = field(default_factory=Transactions)
    retention: SavedRetention = field(default_factory=SavedRetention)
    settings: SavedSettings = field(default_factory=SavedSettings)
    nodes: StoreNodes = field(default_factory=StoreNodes)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing of any topic or cursor."""
        return not (self.topics or self.stored_values or self.cursor_ledgers or self.layouts)


def broker_copies(state: ClusterState) -> dict[int, LedgerRecord]:
    """The broker's records by ledger id, without the disputed ones."""
    return {
        ledger.ledger_id: ledger
        for topic in state.topics.values()
        for ledger in topic.ledgers
        if ledger.ledger_id not in state.disputed
    }


def topics_besides(state: ClusterState) -> dict[int, str]:
    """Segments by ledger, of ledgers that no saved list names: by BookKeeper's metadata, and by transactions."""
    listed = {ledger.ledger_id for topic in state.topics.values() for ledger in topic.ledgers}
    named = ((ledger_id, state.nodes.topic(ledger_id)) for ledger_id in state.nodes.ledgers if ledger_id not in listed)
    by_metadata = {ledger_id: topic for ledger_id, topic in named if topic is not None and is_segment(topic)}
    by_writes = {ledger_id: of for ledger_id, of in state.transactions.ledgers().items() if ledger_id not in listed}
    return by_writes | by_metadata
