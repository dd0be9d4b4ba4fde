"""Stored ledgers of segments that the segment's own list in the metadata store does not name.

| ledger | what it is |
|---|---|
| before the first of the list | deleted by the broker, and still in the files |
| between two of the list | lost from the list: no client reads it |
| behind the last of a sealed segment | written after its end, or the list lost it: no client reads it |
| behind the last of an active segment | perhaps newer than the list: nothing is said |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.reconciliation.open_transactions import SegmentLedger
from pulsar_backlog.wire.names import scalable_topic_of

_STORE = "stored ledgers against the lists in the metadata store"


def has_lists(state: ClusterState | None) -> bool:
    """Whether the metadata store's list of any segment was saved."""
    return state is not None and bool(_listed(state))


def findings_of_unlisted_ledgers(ledgers: Iterable[SegmentLedger], state: ClusterState | None) -> Iterator[Finding]:
    """S58: one for each scalable topic that has such ledgers."""
    listed = _listed(state) if state is not None else {}
    unlisted: dict[str, list[tuple[SegmentLedger, str]]] = defaultdict(list)
    for ledger in ledgers:
        where = _place(ledger.ledger_id, listed[ledger.segment]) if ledger.segment in listed else None
        if where is not None:
            unlisted[scalable_topic_of(ledger.segment) or ledger.segment].append((ledger, where))
    for topic, some in sorted(unlisted.items()):
        count, entries = len(some), sum(ledger.entries for ledger, _ in some)
        words = (
            f"{counted(count, 'ledger')} of segments of {topic} with {counted(entries, 'entry')} "
            f"{'is' if count == 1 else 'are'} stored, and the lists of their segments do not name them: no client "
            "reads them."
        )
        names = tuple(f"ledger {ledger.ledger_id} of {ledger.segment}: {where}" for ledger, where in some)
        yield Finding(
            "S58", topic, words, topic=topic, ledger_id=some[0][0].ledger_id, count=count, sureness="likely",
            reason=_STORE, evidence=names[:MAX_EVIDENCE],
        )  # fmt: skip


def _listed(state: ClusterState) -> dict[str, TopicState]:
    """Segments whose own list was saved, in whole; what readers found of live ones is no list."""
    saved = {value.topic for value in state.stored_values if value.cursor is None}
    return {name: state.topics[name] for name in saved if name in state.topics and scalable_topic_of(name)}


def _place(ledger_id: int, topic: TopicState) -> str | None:
    ids = {one.ledger_id for one in topic.ledgers}
    if ledger_id in ids or not topic.names_all_ledgers or not ids:
        return None
    if ledger_id < min(ids):
        return "before the first that is listed"
    if ledger_id < max(ids):
        return "between ledgers that are listed"
    return "behind the end of the sealed segment" if topic.terminated else None
