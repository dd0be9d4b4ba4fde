"""Ledgers that brokers still list: one that internal statistics do not list any more is gone for every reader.

Ids of ledgers are never used again, so what was missing once stays missing; what is listed may be trimmed any moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulsar_backlog.cluster.admin_http import AdminError

FRESH_SECONDS = 1.0
"""How long a list is believed about ledgers that are in it."""


@dataclass(frozen=True)
class _List:
    at: float
    ledgers: frozenset[int] | None


@dataclass(frozen=True)
class Gone:
    """Why a ledger cannot be read any more.

    Attributes:
        reason: `trimmed`, or `not_found` where its topic is gone.
        words: the same in words.
    """

    reason: str
    words: str


class ListedLedgers:
    """What a cluster's internal statistics list, topic by topic.

    Args:
        statistics: `internalStats` of a topic; raises `AdminError`.
    """

    def __init__(self, statistics: Callable[[str], Mapping[str, object]]) -> None:
        self._statistics = statistics
        self._lists: dict[str, _List] = {}

    def gone(self, topic: str, ledger_id: int, *, ask: bool) -> Gone | None:
        """Why a ledger is gone; None where it is listed, or nothing is known.

        Args:
            topic: full name.
            ledger_id: of it.
            ask: whether to ask for a list that is older than `FRESH_SECONDS`.
        """
        ledgers = self._lists.get(topic)
        if ledgers is not None and ledgers.ledgers is not None and ledger_id not in ledgers.ledgers:
            return _gone(ledgers.ledgers)
        if ask and (ledgers is None or time.monotonic() - ledgers.at >= FRESH_SECONDS):
            ledgers = self._lists[topic] = _List(time.monotonic(), self._ask(topic))
            if ledgers.ledgers is not None and ledger_id not in ledgers.ledgers:
                return _gone(ledgers.ledgers)
        return None

    def _ask(self, topic: str) -> frozenset[int] | None:
        """Ids of the ledgers; none where there is no such topic, None where nobody says."""
        try:
            ledgers = self._statistics(topic).get("ledgers")
        except AdminError as error:
            return frozenset() if error.status == 404 else None
        if not isinstance(ledgers, list) or not ledgers:
            return None
        ids = [one.get("ledgerId") for one in ledgers if isinstance(one, dict)]
        numbers = [number for number in ids if type(number) is int]
        return frozenset(numbers) if len(numbers) == len(ledgers) else None


def _gone(ledgers: frozenset[int]) -> Gone:
    if not ledgers:
        return Gone("not_found", "its topic was deleted")
    return Gone("trimmed", "the broker trimmed its ledger, and no subscription gets its entries any more")
