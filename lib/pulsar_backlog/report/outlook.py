"""What `forecast` says of a stalled subscription, for the report: whether it drains, and what each remedy does.

Its consumers are those that were connected, as their statistics name their clients; where nobody was, or they name none
that is modelled, Java 4.2. Plays are few: a report forecasts the worst subscriptions, and only short backlogs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypedDict

from pulsar_backlog.chunks.dispatch.brokers import PlayedBroker
from pulsar_backlog.chunks.dispatch.forecast import StoredEntry, consumers_of, forecast
from pulsar_backlog.chunks.dispatch.remedies import best_remedy, needs_remedy, tried_remedies
from pulsar_backlog.chunks.dispatch.settings import DispatchType
from pulsar_backlog.report.terminal.forecast import stage_words, verdict_line

MAX_CONSUMERS = 8
ENTRIES_PLAYED = 1_000
"""Of all plays of one stage; seven plays at least."""
_QUEUE = 1_000
_ASSUMED = "java 4.2"
_CLIENTS = (
    (re.compile(r"Pulsar-Java-v?(\d{1,3}\.\d{1,3})", re.ASCII), "java"),
    (re.compile(r"Pulsar-CPP-v?(\d{1,3}\.\d{1,3})", re.ASCII), "cpp"),
    (re.compile(r"Pulsar Go v?(\d{1,3}\.\d{1,3})", re.ASCII), "go"),
    (re.compile(r"pulsar-rs-v?(6\.\d{1,3})", re.ASCII), "rust"),
)

ConsumersFrom = Literal["saved", "assumed"]


class OutlookStage(TypedDict):
    """What comes of an event or a remedy, in words."""

    event: str
    words: list[str]


@dataclass(frozen=True)
class Outlook:
    """A forecast of one subscription.

    Attributes:
        consumers: that connect, as `forecast --consumers` takes them.
        consumers_from: `saved` where statistics name the client of each, else `assumed`.
        broker: that was played, in words.
        entries: that were not acknowledged.
        verdict: whether it drains, what is lost, what helps.
        remedy: the best one; None without one.
        stages: of connecting, then of each remedy that was tried.
    """

    consumers: str
    consumers_from: ConsumersFrom
    broker: str
    entries: int
    verdict: str
    remedy: str | None
    stages: tuple[OutlookStage, ...]


def consumer_words(clients: Sequence[str | None], connected: int | None) -> tuple[str, ConsumersFrom]:
    """Consumers as `forecast` takes them, and whose word that is.

    Args:
        clients: `clientVersion` of each that was connected, as far as it was saved.
        connected: how many there were; None when that was not saved.
    """
    named = [_client(one) for one in clients[:MAX_CONSUMERS]]
    if named and all(named):
        counts = [(name, len(list(of))) for name, of in groupby(named)]
        return ", ".join(f"{name} x {count}" if count > 1 else str(name) for name, count in counts), "saved"
    count = min(max(connected or 1, 1), MAX_CONSUMERS)
    return f"{_ASSUMED} x {count}" if count > 1 else _ASSUMED, "assumed"


def _client(version: str | None) -> str | None:
    for pattern, family in _CLIENTS:
        match = pattern.match(version or "")
        if match is not None:
            return f"{family} {match[1]}"
    return None


def outlook_of(
    entries: Sequence[StoredEntry], consumers: tuple[str, ConsumersFrom], broker: PlayedBroker, dispatch: DispatchType
) -> Outlook:
    """The forecast of a subscription when its consumers connect, and of the remedies where anything stays or is lost.

    Args:
        entries: that it has not acknowledged, in order.
        consumers: as by `consumer_words`.
        broker: that is played.
        dispatch: type of the subscription.
    """
    text, whose = consumers
    clients = consumers_of(text, _QUEUE)
    (base,) = forecast(
        entries, clients, (), broker=broker.line, dispatch=dispatch, entries_played=ENTRIES_PLAYED,
        read_batches=broker.read_batches,
    )  # fmt: skip
    tried = (
        list(tried_remedies(entries, clients, broker.line, dispatch, broker.read_batches, ENTRIES_PLAYED))
        if needs_remedy(base)
        else []
    )
    remedy = best_remedy(base, tried)
    stages = [("connect", base), *((one.name, one.stage) for one in tried)]
    return Outlook(
        text, whose, broker.words, len(entries), verdict_line([base], remedy, tried), remedy.name if remedy else None,
        tuple(OutlookStage(event=name, words=list(stage_words(stage))) for name, stage in stages),
    )  # fmt: skip
