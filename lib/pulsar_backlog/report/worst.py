"""Which subscription a report tells first what to do about: the worst, and the worst that commands put right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_backlog.report.acks import StallRow, SubscriptionFacts
from pulsar_backlog.report.acks_view import first_unacked
from pulsar_backlog.report.commands import PLANNED
from pulsar_backlog.report.model import PublicationRow, ReportModel, TopicSection
from pulsar_backlog.terms import Position

_CONTRADICTS = frozenset({"decode_fault", "sizes_lie", "metadata_conflict"})
"""Flags of messages that no export verifies, and that a plan therefore leaves alone."""

_IDLE = ("wait", "none")


@dataclass(frozen=True)
class ToDo:
    """A subscription, what is to be done about it and where.

    Attributes:
        contradicts: whether its message contradicts itself, so that no command puts it right.
    """

    topic: str
    subscription: str
    action: str
    at: Position | None
    contradicts: bool = False


def first_to_do(model: ReportModel) -> tuple[ToDo, ...]:
    """The worst subscription; where commands do not put it right, the worst that they do as well; none without any."""
    right = min(_put_right(model), key=lambda pair: pair[0], default=None)
    if not model.acks.rows:
        waiting = min(_waiting(model), key=lambda pair: pair[0], default=None)
        return tuple(one[1] for one in (right or waiting,) if one)
    row = model.acks.rows[0]
    contradicts = _blocked_by_contradiction(model, row.topic, row.subscription)
    worst = ToDo(row.topic, row.subscription, row.action, (row.ledger_id, row.entry_id), contradicts)
    helped = row.action not in _IDLE and not contradicts
    return (worst,) if helped or right is None else (worst, right[1])


Ranked = tuple[tuple[bool, int, str, str], ToDo]


def _put_right(model: ReportModel) -> Iterator[Ranked]:
    """Subscriptions of which each listed chunk set is put right by commands, as far as the tables tell."""
    for section in model.topics:
        for facts in section.acks.subscriptions:
            todo = [stall for stall in facts.stalls if stall["action"] not in _IDLE]
            if section.topic and todo and all(_is_right(section, stall) for stall in todo):
                yield _ranked(section.topic, facts, todo[0])


def _waiting(model: ReportModel) -> Iterator[Ranked]:
    for section in model.topics:
        for facts in section.acks.subscriptions:
            if section.topic and facts.row["stalls"] and facts.stalls:
                yield _ranked(section.topic, facts, facts.stalls[0])


def _ranked(topic: str, facts: SubscriptionFacts, first: StallRow) -> Ranked:
    name = facts.row["subscription"]
    order = (facts.blocked_at is None, -facts.row["stalls"], topic, name)
    return order, ToDo(topic, name, first["action"], first_unacked(first))


def _is_right(section: TopicSection, stall: StallRow) -> bool:
    """An export keeps its message, or it is for certain lost."""
    found = _publication(section, stall)
    if found is None:
        return stall["action"] == "export_then_acknowledge"
    if _CONTRADICTS & set(found["flags"]) or found["state"] == "malformed":
        return False
    return stall["action"] == "export_then_acknowledge" or (
        stall["action"] in PLANNED and found["sureness"] == "certain"
    )


def _blocked_by_contradiction(model: ReportModel, topic: str, subscription: str) -> bool:
    return any(
        stall["blocks_dispatch"] and _contradicts(section, stall)
        for section in model.topics
        if section.topic == topic
        for facts in section.acks.subscriptions
        if facts.row["subscription"] == subscription
        for stall in facts.stalls
    )


def _contradicts(section: TopicSection, stall: StallRow) -> bool:
    found = _publication(section, stall)
    return found is not None and bool(_CONTRADICTS & set(found["flags"]))


def _publication(section: TopicSection, stall: StallRow) -> PublicationRow | None:
    """Its message, where that is among the listed ones that are not simply whole."""
    key = stall["chunk_uuid"], stall["publish_time_ms"]
    return next((row for row in section.broken if (row["chunk_uuid"], row["publish_time_ms"]) == key), None)
