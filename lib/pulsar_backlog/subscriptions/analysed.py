"""Each subscription with its newest state and what becomes of it, and what can be said of it without its entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pulsar_backlog.cluster.saved_cursors import SavedSubscription
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.cursors.newest import Newest
from pulsar_backlog.cursors.predict import Limits, Prediction, predict
from pulsar_backlog.subscriptions.holdups import Holdup
from pulsar_backlog.subscriptions.ledger_lengths import Lengths
from pulsar_backlog.subscriptions.limits import LimitsFrom
from pulsar_backlog.subscriptions.sightings import DEDUPLICATION, CursorViews
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.subscriptions.states import SubscriptionState, state_of
from pulsar_backlog.terms import Position

COMPACTION = "__compaction"
_REPLICATORS = ("pulsar.repl.", "pulsar.repl-")
"""How names of replicators' cursors begin: of those to another cluster, and to a shadow topic (not durable).

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/service/persistent/ShadowReplicator.java
"""


@dataclass(frozen=True)
class Analysed:
    """One subscription with its newest state and what becomes of it; both None where nothing says where it is."""

    topic: str
    name: str
    newest: Newest | None
    prediction: Prediction | None
    saved: SavedSubscription | None

    @property
    def kind(self) -> str:
        """What the cursor is for."""
        if self.name == COMPACTION:
            return "compaction"
        if self.name == DEDUPLICATION:
            return "deduplication"
        if self.name.startswith(_REPLICATORS):
            return "replicator"
        return "reader" if self.saved is not None and self.saved.durable is False else "subscription"


def analysed(views: CursorViews, state: ClusterState, limits: Limits) -> Iterator[Analysed]:
    """Every subscription that anything names, in the order of topics and names."""
    named = set(views.cursors)
    for topic in state.topics.values():
        named |= {(topic.topic, name) for name in topic.subscriptions or ()}
    for topic_name, name in sorted(named):
        view = views.cursors.get((topic_name, name))
        of_topic = state.topics.get(topic_name)
        saved = (of_topic.subscriptions or {}).get(name) if of_topic else None
        newest = view.newest() if view is not None and view.sightings else None
        lengths = views.lengths.get(topic_name, {})
        yield Analysed(topic_name, name, newest, predict(newest, limits, lengths) if newest else None, saved)


def join_state(one: Analysed) -> SubscriptionState | None:
    """What the joins need of it; None without a state."""
    if one.newest is None or one.prediction is None:
        return None
    acked = one.newest.chosen.acked
    view = SubscriptionView(
        name=one.name,
        type=one.saved.type if one.saved else None,
        mark_delete=acked.mark_delete,
        last_acked=acked.last(),
        read_position=one.newest.chosen.read_position,
        sureness=one.newest.sureness,
        reason=one.newest.reason,
    )
    return state_of(view, acked, one.prediction.redelivered, one.newest.rollback)


def said_row(
    one: Analysed, cluster: str, lengths: Lengths, stored: frozenset[int], limits: tuple[Limits, LimitsFrom],
    held_up: Sequence[Holdup] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The columns of `subscriptions` that need no entries, and why it does not drain; None when nothing says."""
    row: dict[str, Any] = {
        "cluster": cluster,
        "topic": one.topic,
        "subscription": one.name,
        "kind": one.kind,
        "subscription_type": one.saved.type if one.saved else None,
        "consumers": one.saved.consumers if one.saved else None,
        "replicated": one.saved.replicated if one.saved else None,
        "stats_backlog_entries": one.saved.dispatch.backlog if one.saved and one.saved.dispatch else None,
        "limits": asdict(limits[0]),
        "limits_from": limits[1],
        "over_limits": [],
        "holdups": None if held_up is None else [asdict(reason) for reason in held_up],
    }
    if one.newest is None or one.prediction is None:
        return row | {
            "source": "stats", "state": "unknown", "sureness": "cannot_tell",
            "reason": "no saved state says where the subscription is",
        }  # fmt: skip
    return row | _state(one.newest) | _positions(one.newest, lengths, stored) | _predicted(one.newest, one.prediction)


def _state(newest: Newest) -> dict[str, Any]:
    chosen, stored = newest.chosen, newest.stored
    recovered = stored.recovered if stored else None
    state = "whole" if chosen.whole else "rolled_back"
    if chosen.recovered is not None and chosen.recovered.faults:
        state = "older"
    return {
        "source": chosen.source,
        "source_file": chosen.file,
        "cursor_ledger_id": chosen.cursor_ledger_id,
        "cursor_ledger_entry_id": chosen.entry_id,
        "state": state,
        "sureness": newest.sureness,
        "reason": newest.reason,
        "read": chosen.read_position,
        "encoding": stored.state.encoding if stored and stored.state else None,
        "compression": stored.compression if stored else None,
        "parts": recovered.parts if recovered else 1 if stored and stored.state else None,
        "state_bytes": stored.stored_bytes if stored else None,
    }


def _positions(newest: Newest, lengths: Lengths, stored: frozenset[int]) -> dict[str, Any]:
    acked = newest.chosen.acked
    last = acked.last()
    named = {"mark_delete": acked.mark_delete, "last_acked": last, "read": newest.chosen.read_position}
    columns = {
        f"{name}_{part}": position[at] if position else None
        for name, position in named.items()
        for at, part in enumerate(("ledger_id", "entry_id"))
    }
    columns |= (
        {"rollback_ledger_id": newest.rollback[0], "rollback_entry_id": newest.rollback[1]} if newest.rollback else {}
    )
    return columns | {
        "span_entries": span_entries(acked.mark_delete, last, lengths) if last else 0,
        "unstored_entries": _unstored(newest, lengths, stored),
    }


def span_entries(first: Position, last: Position, lengths: Lengths) -> int | None:
    """Entries after `first` up to and with `last`; None where a ledger between them has no known length."""
    if last[0] == first[0]:
        return last[1] - first[1]
    between = [length for ledger_id, length in lengths.items() if first[0] < ledger_id < last[0]]
    head = lengths.get(first[0], 0 if first[0] not in lengths else None)
    if head is None or any(length is None for length in between):
        return None
    return max(head - first[1] - 1, 0) + sum(length or 0 for length in between) + last[1] + 1


def _unstored(newest: Newest, lengths: Lengths, stored: frozenset[int]) -> int | None:
    """Unacknowledged entries of ledgers that are not in the source; None where one of them is open."""
    acked, total = newest.chosen.acked, 0
    for ledger_id, length in lengths.items():
        if ledger_id in stored or ledger_id < acked.mark_delete[0]:
            continue
        if length is None:
            return None
        done = len(acked.ledgers.get(ledger_id, ()))
        total += length - done - (acked.mark_delete[1] + 1 if ledger_id == acked.mark_delete[0] else 0)
    return max(total, 0)


def _predicted(newest: Newest, prediction: Prediction) -> dict[str, Any]:
    first = prediction.redelivered_from
    return {
        "acked_entries": prediction.acked_entries,
        "acked_ranges": prediction.acked_ranges,
        "ranges_bytes": prediction.ranges_bytes,
        "long_array_bytes": prediction.long_array_bytes,
        "split_parts": prediction.split_parts,
        "over_limits": list(prediction.over_limits),
        "dropped_ranges": prediction.dropped_ranges,
        "dropped_entries": prediction.dropped_entries,
        "dropped_batch_entries": prediction.dropped_batch_entries,
        "redelivered_entries": sum(map(len, prediction.redelivered.values())),
        "redelivered_from": {"ledger_id": first[0], "entry_id": first[1]} if first else None,
        "downgrade_safe": newest.stored.downgrade_safe if newest.stored else None,
    }
