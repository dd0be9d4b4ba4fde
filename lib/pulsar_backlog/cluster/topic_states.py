"""Saved state cut by topic, so that what is known of one topic can be stored, and outlive a folder that lacks it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from pydantic import ConfigDict, TypeAdapter

from pulsar_backlog.cluster.layouts import Layout
from pulsar_backlog.cluster.merge import disputes
from pulsar_backlog.cluster.retention import Retention, SavedRetention
from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.stored_values import SavedCursorLedger, StoredValue
from pulsar_backlog.cluster.transactions import Transactions, TxnId
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.terms import Position


@dataclass(frozen=True)
class SavedTransactions:
    """`Transactions` in lists, as JSON has no tuples for names."""

    headers: tuple[tuple[TxnId, str], ...]
    of_segments: tuple[tuple[str, TxnId, str], ...]
    watermarks: tuple[tuple[str, Position], ...]
    until_ms: tuple[tuple[TxnId, int], ...] = ()
    writes: tuple[tuple[str, TxnId], ...] = ()
    acknowledgements: tuple[tuple[str, str, TxnId, tuple[Position, ...]], ...] = ()

    @staticmethod
    def of(store: Transactions) -> SavedTransactions | None:
        """What the store says; None where it says nothing."""
        decisions = tuple((segment, txn, state) for (segment, txn), state in store.of_segments.items())
        saved = SavedTransactions(
            tuple(store.headers.items()), decisions, tuple(store.watermarks.items()), tuple(store.until_ms.items()),
            tuple(sorted(store.writes)),
            tuple((*key, tuple(sorted(positions))) for key, positions in store.acknowledgements.items()),
        )  # fmt: skip
        return saved if store != Transactions() else None

    def read(self) -> Transactions:
        """The same as it was."""
        decisions = {(segment, txn): state for segment, txn, state in self.of_segments}
        acknowledgements = {(of, name, txn): set(positions) for of, name, txn, positions in self.acknowledgements}
        return Transactions(
            dict(self.headers),
            decisions,
            dict(self.watermarks),
            dict(self.until_ms),
            set(self.writes),
            acknowledgements,
        )


@dataclass(frozen=True)
class SavedTopic:
    """All that is saved of one topic; of the topic without a name what names none.

    Attributes:
        topic: full name.
        state: by admin JSON; None where there is none.
        stored_values: of the metadata store.
        cursor_ledgers: entries of cursor ledgers.
        layout: of a scalable topic.
        registered: subscriptions of a scalable topic.
        retention: policy in force.
        ttl_seconds: TTL in force, 0 for none; None when nothing tells.
        transactions: of v5 clients, with the topic without a name.
        settings: of brokers, likewise.
    """

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    topic: str
    state: TopicState | None = None
    stored_values: tuple[StoredValue, ...] = ()
    cursor_ledgers: tuple[SavedCursorLedger, ...] = ()
    layout: Layout | None = None
    registered: tuple[str, ...] = ()
    retention: Retention | None = None
    transactions: SavedTransactions | None = None
    settings: SavedSettings | None = None
    ttl_seconds: int | None = None

    @property
    def of_log(self) -> SavedTopic:
        """What of it is about the log: nothing of cursors, nor the time until which nothing followed."""
        state = self.state and replace(self.state, subscriptions=None, cursors=(), known_until_ms=None)
        values = tuple(one for one in self.stored_values if one.cursor is None)
        return SavedTopic(self.topic, state, values)

    @property
    def without_time(self) -> SavedTopic:
        """All but the time until which nothing followed."""
        return replace(self, state=self.state and replace(self.state, known_until_ms=None))

    def to_json(self) -> str:
        """As text that `from_json` reads."""
        return _adapter().dump_json(self).decode()

    @staticmethod
    def from_json(text: str) -> SavedTopic:
        """What `to_json` wrote.

        Raises:
            ValueError: another version wrote it, or nobody of ours did.
        """
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[SavedTopic]:
    return TypeAdapter(SavedTopic)


def by_topic(state: ClusterState) -> Iterator[SavedTopic]:
    """What a folder says, topic by topic."""
    values: dict[str, list[StoredValue]] = {}
    ledgers: dict[str, list[SavedCursorLedger]] = {}
    registered: dict[str, list[str]] = {}
    for value in state.stored_values:
        values.setdefault(value.topic, []).append(value)
    for ledger in state.cursor_ledgers:
        ledgers.setdefault(ledger.topic or "", []).append(ledger)
    for topic, name in sorted(state.registered):
        registered.setdefault(topic, []).append(name)
    transactions = SavedTransactions.of(state.transactions)
    settings = state.settings if state.settings != SavedSettings() else None
    nameless = {""} if transactions or settings else set()
    for topic in sorted({*state.topics, *values, *ledgers, *registered, *state.layouts, *nameless}):
        yield SavedTopic(
            topic, state.topics.get(topic), tuple(values.get(topic, ())), tuple(ledgers.get(topic, ())),
            state.layouts.get(topic), tuple(registered.get(topic, ())), state.retention.of(topic),
            None if topic else transactions, None if topic else settings, state.retention.ttl_of(topic),
        )  # fmt: skip


def of_topics(state: ClusterState, topics: Collection[str]) -> ClusterState:
    """What is said of some topics, and of the whole cluster."""
    return replace(
        state,
        topics={name: state.topics[name] for name in sorted(state.topics.keys() & topics)},
        stored_values=tuple(one for one in state.stored_values if one.topic in topics),
        cursor_ledgers=tuple(one for one in state.cursor_ledgers if one.topic in topics),
    )


def together(
    given: ClusterState | None, earlier: Iterable[SavedTopic], topics_of_ledgers: Mapping[int, str]
) -> ClusterState:
    """What a folder says, and of topics and of the cluster what was said earlier where the folder says nothing."""
    state = given or ClusterState({}, frozenset(), ())
    topics, layouts = dict(state.topics), dict(state.layouts)
    values, ledgers, registered = list(state.stored_values), list(state.cursor_ledgers), set(state.registered)
    retention = SavedRetention({}, state.retention.namespaces, state.retention.default)
    ttl_seconds = dict(state.retention.ttl_seconds)
    transactions, settings, ledger_ids = state.transactions, state.settings, {one.ledger_id for one in ledgers}
    for one in earlier:
        if one.transactions is not None and transactions == Transactions():
            transactions = one.transactions.read()
        if one.settings is not None and settings == SavedSettings():
            settings = one.settings
        if one.state is not None:
            topics[one.topic] = one.state
        if one.layout is not None:
            layouts[one.topic] = one.layout
        if one.retention is not None:
            retention.topics[one.topic] = one.retention
        if one.ttl_seconds is not None:
            retention.ttl_seconds[one.topic] = one.ttl_seconds
        values += one.stored_values
        ledgers += [ledger for ledger in one.cursor_ledgers if ledger.ledger_id not in ledger_ids]
        registered |= {(one.topic, name) for name in one.registered}
    retention.topics |= state.retention.topics
    retention.ttl_seconds |= ttl_seconds
    topics = {name: topics[name] for name in sorted(topics)}
    disputed, findings = disputes(topics, topics_of_ledgers)
    all_findings = tuple(finding for finding in state.findings if finding.code != "S20") + tuple(findings)
    return replace(
        state, topics=topics, disputed=disputed, findings=all_findings, stored_values=tuple(values),
        cursor_ledgers=tuple(ledgers), layouts=layouts, registered=frozenset(registered), transactions=transactions,
        retention=retention, settings=settings,
    )  # fmt: skip
