"""A live ledger as a copy: ranges of entries, up to the last one that was confirmed when it was listed."""

from __future__ import annotations

from pulsar_backlog.ledgers.copies import Examined, Pair
from pulsar_backlog.ledgers.live.values import address_of, entries_of, live_ledger
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block
from pulsar_backlog.wire.names import managed_ledger_of_topic

BLOCK_BYTES = 8 * 1024 * 1024
"""Size a range aims at; a unit is made of several."""
_LEAST_BYTES = 16
"""Of an entry, where the broker does not say how large a ledger is."""


def examine(source: Source, pair: Pair) -> Examined:
    """The copy, from what the listing says; nothing is read."""
    del source
    stored = pair.data
    named = live_ledger(stored.path) if stored else None
    if stored is None or named is None:
        return Examined(pair)
    count = entries_of(stored)
    average = max(_LEAST_BYTES, stored.size // max(1, count))
    step = max(1, BLOCK_BYTES // average)
    blocks = tuple(
        Block(address_of(first), average * min(step, count - first), first, min(step, count - first))
        for first in range(0, count, step)
    )
    return Examined(pair, named_by_path=_managed_ledger(named[0]), blocks=blocks)


def _managed_ledger(topic: str) -> str | None:
    try:
        return managed_ledger_of_topic(topic)
    except ValueError:
        return None
