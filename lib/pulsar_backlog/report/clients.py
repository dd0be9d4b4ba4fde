"""What models of real clients would do with the log: values of a report, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.words import position

MAX_MODELS = 12
"""Models listed per topic and over all."""

OUTCOMES: dict[str, str] = {
    "delivered": "delivered once, as it was sent",
    "delivered_again": "delivered more than once",
    "mixed": "delivered as a mixture with another message, without an error",
    "wrong_content": "delivered with bytes missing or added, without an error",
    "silent_loss": "whole in the log, acknowledged by the client itself, never delivered",
    "lost": "whole in the log, not delivered, left in the backlog",
    "dropped": "incomplete, and acknowledged by the client itself",
    "hole": "incomplete, and left in the backlog",
    "waiting": "may still arrive",
    "blocked": "never dispatched, behind something that stops the client",
    "breaks_client": "stops the client",
}
"""What an outcome means, in the order of a table's columns."""

DANGEROUS = ("breaks_client", "mixed", "wrong_content", "silent_loss", "lost", "delivered_again")
"""Outcomes that get a sentence of their own, the worst first."""

DAMAGE: dict[str, str] = {
    "reconnect_loop": "loses its connection, reconnects and receives the entry again, for ever",
    "process_death": "crashes its process, and again after every restart",
    "panic": "panics, and again after every restart",
    "query_failure": "fails its query",
    "permit_stall": "does not return enough permits and gets nothing more until it reconnects",
    "dispatch_stall": "gets nothing more, because the broker finds no consumer for a chunk",
}
"""What stops a client, as the end of a sentence about it."""

DAMAGE_SHORT: dict[str, str] = {
    "reconnect_loop": "reconnects for ever",
    "process_death": "dies",
    "panic": "panics",
    "query_failure": "fails",
    "permit_stall": "runs out of permits",
    "dispatch_stall": "gets nothing more",
}
"""The same in a few words."""

_WORDS = {
    "mixed": "delivers {} mixed with another, without an error",
    "wrong_content": "delivers {} with bytes missing or added, without an error",
    "silent_loss": "acknowledges {} without delivering, though whole in the log",
    "lost": "does not deliver {}, though whole in the log, and leaves the entries in the backlog",
    "delivered_again": "delivers {} more than once",
    "breaks_client": "is stopped by {}",
}


class ForecastRow(TypedDict):
    """The columns of `client_forecasts` that a report shows."""

    model: str
    builds: str
    publications: int
    delivered: int
    delivered_again: int
    mixed: int
    wrong_content: int
    silent_loss: int
    lost: int
    dropped: int
    hole: int
    waiting: int
    blocked: int
    breaks_client: int
    holes: int
    permits_kept: int
    peak_open_contexts: int
    peak_buffered_bytes: int
    damage: str | None
    damage_ledger_id: int | None
    damage_entry_id: int | None
    damage_reason: str | None
    sureness: str


@dataclass(frozen=True)
class Example:
    """A dangerous outcome on a topic: how many publications have it, and the first of them."""

    model: str
    outcome: str
    publications: int
    ledger_id: int
    entry_id: int
    sureness: str
    reason: str


@dataclass(frozen=True)
class TopicClients:
    """What the models make of one topic; empty when it has no chunks or no model ran."""

    forecasts: tuple[ForecastRow, ...] = ()
    examples: tuple[Example, ...] = ()


NO_CLIENTS = TopicClients()


@dataclass(frozen=True)
class ModelSum:
    """One model over all topics.

    Attributes:
        counts: publications by outcome.
        stopped: topics that stop it for ever, or until it reconnects.
        damage: what does, at the first of these topics; None when none stops it.
        sureness: how sure the least sure of the stops is.
    """

    model: str
    counts: dict[str, int]
    stopped: int = 0
    damage: str | None = None
    topic: str | None = None
    ledger_id: int | None = None
    entry_id: int | None = None
    sureness: str = "certain"


@dataclass(frozen=True)
class ClientSentence:
    """What a client does that somebody has to know, and how sure that is."""

    model: str
    text: str
    sureness: str
    reason: str


def columns(forecasts: Sequence[ForecastRow]) -> tuple[str, ...]:
    """Outcomes that any of the models has, in the order of `OUTCOMES`; delivered always."""
    return tuple(name for name in OUTCOMES if name == "delivered" or any(row[name] for row in forecasts))  # type: ignore[literal-required]


def sentences(clients: TopicClients) -> tuple[ClientSentence, ...]:
    """What is dangerous, what stops a client first."""
    stopped = [
        ClientSentence(row["model"], _stops(row), row["sureness"], row["damage_reason"] or "")
        for row in sorted(clients.forecasts, key=lambda row: row["model"])
        if row["damage"]
    ]
    models = {row["model"] for row in clients.forecasts if row["damage"]}
    examples = [one for one in clients.examples if one.outcome in _WORDS]
    others = [
        ClientSentence(one.model, _does(one), one.sureness, one.reason)
        for one in sorted(examples, key=lambda one: (DANGEROUS.index(one.outcome), one.model))
        if one.outcome != "breaks_client" or one.model not in models
    ]
    return (*stopped, *others)


def _stops(row: ForecastRow) -> str:
    at = position(row["damage_ledger_id"], row["damage_entry_id"])
    what = damage_words(row["damage"] or "")
    behind = f"; {counted(row['blocked'], 'message')} behind it {'is' if row['blocked'] == 1 else 'are'} not delivered"
    return f"at {at or 'an entry'} {what}{behind if row['blocked'] else ''}"


def _does(one: Example) -> str:
    first = "at" if one.publications == 1 else "the first at"
    what = counted(one.publications, "message")
    return f"{_WORDS[one.outcome].format(what)} ({first} {one.ledger_id}:{one.entry_id})"


def damage_words(damage: str) -> str:
    """What stops a client, in words."""
    return DAMAGE.get(damage, f"is stopped ({visible(damage, 40)})")
