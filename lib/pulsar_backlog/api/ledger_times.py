"""Between which times a ledger took its messages: what a choice by time leaves out goes by this.

Brokers note when a ledger was created; when it was closed, only saved state says. A ledger is closed before the next
one of its topic is created, so that is the latest end it can have. Producers and brokers have clocks of their own, and
a producer that waits sends later than the message says: `LATE` is what is allowed for that unless a reader says else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.values import LedgerCopy

LATE = timedelta(minutes=5)
"""How far a message's times may be from the time when its ledger took it: ten times a producer's send timeout."""


def with_ends(copies: Iterable[LedgerCopy]) -> Iterator[LedgerCopy]:
    """Copies in the order of topic and ledger, those without a time of closing with that of the next ledger's creation.

    Ledgers that nothing names a topic of stay as they are.
    """
    for topic, grouped in groupby(copies, key=lambda copy: copy.topic):
        own = list(grouped)
        yield from own if topic is None else reversed(list(_ended(own)))


def _ended(own: list[LedgerCopy]) -> Iterator[LedgerCopy]:
    """The copies of one topic from its end on."""
    following: tuple[int, int] | None = None  # the nearest later ledger whose creation is known, and when that was
    pending: tuple[int, int] | None = None
    for copy in reversed(own):
        if pending is not None and pending[0] != copy.ledger_id:
            following, pending = pending, None
        created = copy.created_time_ms
        end = following[1] if following is not None else None
        fits = end is not None and created is not None and end >= created  # else some clock went backwards
        yield replace(copy, closed_time_ms=end) if copy.closed_time_ms is None and fits else copy
        if created is not None:
            pending = (copy.ledger_id, created)


def with_allowance(scope: Scope, lateness: timedelta) -> Scope:
    """The ledgers that may hold messages of these times, clocks and waiting producers allowed for."""
    return replace(scope, since=earlier(scope.since, lateness), until=later(scope.until, lateness))


def earlier(time: datetime | None, lateness: timedelta = LATE) -> datetime | None:
    """A first time, with what is allowed for."""
    try:
        return None if time is None else time - lateness
    except OverflowError:
        return None


def later(time: datetime | None, lateness: timedelta = LATE) -> datetime | None:
    """A time that is not wanted any more, with what is allowed for."""
    try:
        return None if time is None else time + lateness
    except OverflowError:
        return None
