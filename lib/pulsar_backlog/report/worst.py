"""Which subscription a report tells first what to do about: the worst, and the worst that commands put right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.acks import SubscriptionFacts
from pulsar_backlog.report.acks_view import commands_for
from pulsar_backlog.report.commands import Command, remedies
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.subscriptions.advice import Advice


@dataclass(frozen=True)
class ToDo:
    """A subscription, the advice on it and the commands for what is most urgent."""

    topic: str
    subscription: str
    advice: Advice
    commands: tuple[Command, ...]


def first_to_do(model: ReportModel, run: Run) -> tuple[ToDo, ...]:
    """The worst subscription; where commands do not put it right, the worst that they do as well; none without any."""
    every = sorted(_with_sets(model), key=lambda one: _order(*one))
    worst = _worst_blocked(model, run) if model.acks.rows else None
    if worst is None and every:
        worst = _to_do(*next((one for one in every if one[1].advice.is_repaired), every[0]), run)
    if worst is None or worst.advice.is_repaired:
        return (worst,) if worst else ()
    right = next((one for one in every if one[1].advice.is_repaired), None)
    return (worst,) if right is None else (worst, _to_do(*right, run))


def _worst_blocked(model: ReportModel, run: Run) -> ToDo:
    row = model.acks.rows[0]
    for section in model.topics:
        for facts in section.acks.subscriptions:
            if (section.topic, facts.row["subscription"]) == (row.topic, row.subscription) and facts.stalls:
                return _to_do(row.topic, facts, run)
    at = (row.ledger_id, row.entry_id)
    commands = remedies(row.advice.need, run, row.topic, row.subscription, [at], row.advice.accepted)
    return ToDo(row.topic, row.subscription, row.advice, commands)


def _to_do(topic: str, facts: SubscriptionFacts, run: Run) -> ToDo:
    return ToDo(topic, facts.row["subscription"], facts.advice, commands_for(facts, facts.advice.need, topic, run))


def _with_sets(model: ReportModel) -> Iterator[tuple[str, SubscriptionFacts]]:
    """Subscriptions with chunk sets to do something about."""
    for section in model.topics:
        for facts in section.acks.subscriptions:
            if section.topic and facts.stalls and facts.advice.sets_to_do:
                yield section.topic, facts


def _order(topic: str, facts: SubscriptionFacts) -> tuple[bool, int, str, str]:
    return facts.blocked_at is None, -facts.advice.sets_to_do, topic, facts.row["subscription"]
