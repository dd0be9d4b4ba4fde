"""From small rows about subscriptions and clients to the report's values; the queries: conf/report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.acks import (
    NO_ADVICE,
    AckCell,
    Acks,
    Axis,
    BlockedRow,
    ListedSubscription,
    StallRow,
    SubscriptionFacts,
    SubscriptionRow,
    TopicAcks,
)
from pulsar_backlog.report.clients import DAMAGE_SHORT, OUTCOMES, Example, ForecastRow, ModelSum, TopicClients
from pulsar_backlog.report.growth import growth_of
from pulsar_backlog.report.outlook import Outlook
from pulsar_backlog.report.words import position
from pulsar_backlog.subscriptions.advice import Advice, Need, NeedCount, SetFacts, advice_on, need_of
from pulsar_backlog.terms import SURENESSES

Row = dict[str, Any]
Topic = str | None


@dataclass(frozen=True)
class ConsumerRows:
    """Rows that belong to topics, each with a `topic`."""

    subscriptions: Sequence[Row] = ()
    stalls: Sequence[Row] = ()
    cells: Sequence[Row] = ()
    axes: Sequence[Row] = ()
    needs: Sequence[Row] = ()
    dangers: Sequence[Row] = ()
    forecasts: Sequence[Row] = ()
    examples: Sequence[Row] = ()
    outlooks: Mapping[tuple[str, str], Outlook] = field(default_factory=dict)


def acks_by_topic(rows: ConsumerRows) -> dict[Topic, TopicAcks]:
    """The subscriptions of each topic that has any."""
    stalls = _grouped(rows.stalls, "topic", "subscription")
    cells = _grouped(rows.cells, "topic", "subscription")
    advice = advice_by_subscription(rows.needs, rows.dangers)
    axes = {topic: _axis(starts) for (topic,), starts in _grouped(rows.axes, "topic").items()}
    acks: dict[Topic, TopicAcks] = {}
    for (topic,), own in _grouped(rows.subscriptions, "topic").items():
        subscriptions = tuple(
            replace(
                _facts(row, stalls.get(key, ()), cells.get(key, ()), advice.get(key, NO_ADVICE)),
                outlook=rows.outlooks.get(key),
            )
            for row in sorted(own, key=lambda row: row["number"])
            for key in [(topic, row["subscription"])]
        )
        acks[topic] = TopicAcks(axes.get(topic), subscriptions, own[0]["total"], own[0]["blocked"], _sureness(own[0]))
    return acks


def clients_by_topic(rows: ConsumerRows) -> dict[Topic, TopicClients]:
    """What the models make of each topic that has chunks."""
    examples = _grouped(rows.examples, "topic")
    return {
        topic: TopicClients(
            tuple(_picked(row, ForecastRow) for row in own), tuple(_example(row) for row in examples.get((topic,), ()))
        )
        for (topic,), own in _grouped(rows.forecasts, "topic").items()
    }


def acks(
    counts: Mapping[str, Any], blocked: Iterable[Row], needs: Iterable[Row], dangers: Iterable[Row],
    directions: Iterable[Row],
) -> Acks:  # fmt: skip
    """All subscriptions of the audit; needs and dangers of the blocked ones."""
    advice = advice_by_subscription(needs, dangers)
    rows = tuple(
        BlockedRow(
            row["topic"], row["subscription"], row["subscription_type"], row["ledger_id"], row["entry_id"],
            row["sureness"], advice.get((row["topic"], row["subscription"]), NO_ADVICE), row["action"],
            row["backlog_entries"], row["backlog_bytes"],
        )
        for row in blocked
    )  # fmt: skip
    growth = {row["direction"]: row["subscriptions"] for row in directions}
    return Acks(counts["total"], counts["stalled"], counts["blocked"], rows, _sureness(counts), growth)


def listed(row: Mapping[str, Any]) -> ListedSubscription:
    """One line about a subscription."""
    return ListedSubscription(
        row["topic"], row["subscription"], row["state"], row["stalls"] or 0, row["backlog_entries"],
        row["backlog_bytes"], _blocked_at(row), row["blocked_sureness"],
    )  # fmt: skip


def _blocked_at(row: Row | Mapping[str, Any]) -> tuple[int, int] | None:
    return None if row["blocked_sureness"] is None else (row["blocked_ledger_id"], row["blocked_entry_id"])


def _sureness(counts: Mapping[str, Any]) -> dict[str, int]:
    """How many are blocked, by how sure that is."""
    return {word: counts[f"blocked_{word}"] for word in SURENESSES if counts[f"blocked_{word}"]}


def model_sum(row: Mapping[str, Any]) -> ModelSum:
    """One model over all topics."""
    counts = {name: int(row[name] or 0) for name in OUTCOMES}
    if row["first_damage"] is None:
        return ModelSum(row["model"], counts)
    return ModelSum(
        row["model"], counts, row["stopped"], row["first_damage"], row["first_topic"], row["first_ledger_id"],
        row["first_entry_id"], row["sureness"],
    )  # fmt: skip


def advice_by_subscription(needs: Iterable[Row], dangers: Iterable[Row]) -> dict[tuple[Any, ...], Advice]:
    """What to do about each subscription that has chunk sets, or entries at which a client stops."""
    of_sets, stops = _grouped(needs, "topic", "subscription"), _grouped(dangers, "topic", "subscription")
    return {
        key: advice_on(
            (NeedCount(_need(row), row["sets"], row["blocks"], row["doubt"]) for row in of_sets.get(key, ())),
            dict.fromkeys(_danger(row) for row in sorted(stops.get(key, ()), key=_stop_order)),
        )
        for key in {**of_sets, **stops}
    }


def _need(row: Row) -> Need:
    return need_of(SetFacts(**{name: row[name] for name in SetFacts.__annotations__}))


def _danger(row: Row) -> str:
    """`go panics at 25:2`."""
    at = position(row["damage_ledger_id"], row["damage_entry_id"])
    return f"{visible(row['model'], 40)} {DAMAGE_SHORT.get(row['damage'], 'is stopped')} at {at}"


def _stop_order(row: Row) -> tuple[int, int, str]:
    return row["damage_ledger_id"], row["damage_entry_id"], row["model"]


def _facts(row: Row, stalls: Iterable[Row], cells: Iterable[Row], advice: Advice) -> SubscriptionFacts:
    return SubscriptionFacts(
        row=_picked(row, SubscriptionRow),
        blocked_at=_blocked_at(row),
        blocked_sureness=row["blocked_sureness"],
        cells=tuple(AckCell(**{name: cell[name] for name in AckCell.__annotations__}) for cell in cells),
        stalls=tuple(_picked({**stall, "need": _need(stall)}, StallRow) for stall in stalls),
        stall_total=row["stall_total"] or 0,
        advice=advice,
        blocked_place=row["blocked_place"],
        growth=growth_of(row),
    )


def _axis(starts: Sequence[Row]) -> Axis:
    """From the rows of a topic's cells, in order."""
    last = starts[-1]
    sizes = [b["start"] - a["start"] for a, b in pairwise([*starts, {"start": last["total"]}])]
    places = tuple((one["ledger_id"], one["entry_id"]) for one in starts)
    return Axis(places, tuple(sizes), (last["last_ledger_id"], last["last_entry_id"]))


def _example(row: Row) -> Example:
    return Example(
        row["model"], row["outcome"], row["publications"], row["first_ledger_id"], row["first_entry_id"],
        row["sureness"], row["reason"],
    )  # fmt: skip


def _picked(row: Row, shape: type[Any]) -> Any:
    return {name: row[name] for name in shape.__annotations__}


def _grouped(rows: Iterable[Row], *by: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups
