"""What saved state says of the subscriptions of an audit, read against the ledgers that were scanned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pulsar_backlog.cluster.topic_states import of_topics
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.cursors.predict import Limits
from pulsar_backlog.findings import Finding
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.known_state import state_of
from pulsar_backlog.steps.stored_cursors import with_stored_cursors
from pulsar_backlog.steps.stored_ledgers import StoredLedgers
from pulsar_backlog.steps.topic_changes import TopicChanges
from pulsar_backlog.steps.topic_inputs import changes_of_analysis
from pulsar_backlog.subscriptions.analysed import Analysed, analysed, join_state, said_row
from pulsar_backlog.subscriptions.findings import HeldUp, findings_of_holdups, findings_of_state
from pulsar_backlog.subscriptions.holdups import (
    NO_EVIDENCE,
    LogEvidence,
    dead_letter_topics,
    holdups,
    may_wait_for_transaction,
)
from pulsar_backlog.subscriptions.ledger_lengths import Lengths
from pulsar_backlog.subscriptions.limits import LimitsFrom, limits_from, limits_of
from pulsar_backlog.subscriptions.sightings import CursorViews, cursor_views
from pulsar_backlog.subscriptions.states import States, SubscriptionState, by_topic
from pulsar_backlog.terms import Position


@dataclass(frozen=True)
class SavedState:
    """All cursors of saved state.

    Attributes:
        subscriptions: each cursor, analysed.
        views: the cursors, and the ledgers of their topics.
        scanned: ledgers that were scanned.
        limits: broker settings that decide what of a cursor is persisted.
        limits_source: whose word they are.
        broker: major and minor version; None when it was not saved.
        topics: all that saved state names.
        empty: ledgers that were open and had no entry yet, by topic.
    """

    subscriptions: list[Analysed]
    views: CursorViews
    scanned: frozenset[int]
    limits: Limits
    limits_source: LimitsFrom
    broker: tuple[int, int] | None = None
    topics: frozenset[str] = frozenset()
    empty: Mapping[str, int] = field(default_factory=dict)

    @property
    def states(self) -> States:
        """Every cursor whose state is known, by topic."""
        return by_topic((one.topic, state) for one, state in self._with_state)

    @property
    def readers(self) -> States:
        """Every subscription whose state is known, by topic."""
        return by_topic((one.topic, state) for one, state in self._with_state if one.kind == "subscription")

    @property
    def horizons(self) -> dict[str, Position]:
        """How far each topic is compacted."""
        return {
            one.topic: one.newest.chosen.acked.mark_delete
            for one in self.subscriptions
            if one.kind == "compaction" and one.newest is not None
        }

    @property
    def wanted_transactions(self) -> list[str]:
        """Topics of which it matters whether a transaction is open."""
        return sorted({one.topic for one in self.subscriptions if may_wait_for_transaction(one.saved)})

    @property
    def delaying_topics(self) -> list[str]:
        """Topics of which a broker said that messages are delayed."""
        saved = ((one.topic, one.saved) for one in self.subscriptions)
        return sorted({topic for topic, of in saved if of and of.dispatch and (of.dispatch.delayed or 0) > 0})

    def held_up(
        self, evidence: Mapping[tuple[str, str], LogEvidence], open_transactions: Mapping[str, Sequence[Position]]
    ) -> HeldUp:
        """Why subscriptions do not drain, by topic and name, of those whose statistics were saved.

        Args:
            evidence: what the log says, by topic and subscription.
            open_transactions: where transactions begin that nothing ends, in order, by topic.
        """
        return {
            (one.topic, one.name): holdups(
                one.saved, self._with_topic(one, evidence, open_transactions.get(one.topic, ())), self.broker
            )
            for one in self.subscriptions
            if one.saved is not None and one.saved.dispatch is not None
        }

    def _with_topic(
        self, one: Analysed, evidence: Mapping[tuple[str, str], LogEvidence], begins: Sequence[Position]
    ) -> LogEvidence:
        log = evidence.get((one.topic, one.name), NO_EVIDENCE)
        topic = next((name for name in dead_letter_topics(one.topic, one.name) if name in self.topics), None)
        chosen = one.newest.chosen if one.newest else None
        at = next((at for at in begins if chosen and at > chosen.acked.mark_delete), None)
        read_position = chosen.read_position if chosen else None
        return replace(log, dead_letter_topic=topic, open_transaction_at=at, read_position=read_position)

    def rows(self, cluster: str, held_up: HeldUp) -> list[dict[str, Any]]:
        """What is said of each cursor without a look at entries."""
        lengths = {
            topic: {id_: 0 if length is None and id_ == self.empty.get(topic) else length for id_, length in of.items()}
            for topic, of in self.views.lengths.items()
        }
        return [
            said_row(
                one,
                cluster,
                lengths.get(one.topic, {}),
                self.scanned,
                (self.limits, self.limits_source),
                held_up.get((one.topic, one.name)),
            )
            for one in self.subscriptions
        ]

    def findings(self, held_up: HeldUp) -> list[Finding]:
        """One finding per code and subject, the first: two files may hold the same fault."""
        views = self.views
        every = [*views.findings, *(every for view in views.cursors.values() for every in view.findings)]
        for of in self.subscriptions:
            every += findings_of_state(of, views.lengths.get(of.topic, {}), self.limits_source)
        every += findings_of_holdups(held_up)
        return list({(one.code, one.subject): one for one in reversed(every)}.values())

    @cached_property
    def _with_state(self) -> list[tuple[Analysed, SubscriptionState]]:
        return [(one, state) for one in self.subscriptions if (state := join_state(one)) is not None]


def changes_of_subscriptions(
    context: JobContext, ledgers: StoredLedgers, inputs: dict[str, object]
) -> tuple[TopicChanges, ClusterState] | None:
    """Topics whose subscriptions are looked at, and what is known of the cluster; None where no audit was given any.

    Args:
        context: of the job.
        ledgers: in the source.
        inputs: what the analysis goes by beside log and saved state.
    """
    given = state_of(context, ledgers.topics)
    if given is None:
        return None
    state = with_stored_cursors(context, given)
    stored_here = {one.topic or "" for one in state.cursor_ledgers[len(given.cursor_ledgers) :]}
    return changes_of_analysis(context, state, ledgers, inputs, stored_here), state


def saved_state(context: JobContext, ledgers: StoredLedgers, state: ClusterState) -> SavedState:
    """What is known by saved admin JSON and raw cursor state.

    Args:
        context: of the job, with the topics that it does; its options name the limits of the broker, where they are not
            the usual ones.
        ledgers: in the source.
        state: what is known of the cluster.
    """
    names = frozenset(state.topics) | ledgers.lengths.keys()
    lengths: Mapping[str, Lengths] = ledgers.lengths
    if context.topics is not None:
        state = of_topics(state, context.topics)
        lengths = {topic: lengths[topic] for topic in lengths.keys() & context.topics}
    views = cursor_views(state, lengths)
    words = state.settings, context.options.max_ack_ranges, context.options.max_batch_acks
    limits = limits_of(*words)
    return SavedState(
        list(analysed(views, state, limits)), views, ledgers.read & ledgers.stored.keys(), limits, limits_from(*words),
        state.settings.version, names,
        {one.topic: empty for one in state.topics.values() if (empty := one.empty_ledger_id) is not None},
    )  # fmt: skip
