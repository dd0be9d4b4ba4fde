"""The facts of a stretch of a ledger, and how those of its stretches become the ledger's row of `ledger_facts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pulsar_backlog.facts.counts import Counts, Extremes, codecs_of, counts_of, extremes_of
from pulsar_backlog.facts.odd import Places, both_places, odd_entries
from pulsar_backlog.facts.order import Order, joined, order_of
from pulsar_backlog.facts.sizes import Sizes, sizes_of
from pulsar_backlog.facts.steps import PublishTimes, publish_times
from pulsar_backlog.facts.stretch import Stretch

TimesOf = Callable[[], Iterable[PublishTimes]]


@dataclass(frozen=True)
class Facts:
    """What a stretch of at least one entry shows. Facts of neighbours add up with `both`."""

    counts: Counts
    extremes: Extremes
    codecs: Counter[str]
    order: Order
    odd: Mapping[str, Places]
    sizes: Sizes


def facts_of(stretch: Stretch) -> Facts:
    """The facts of a stretch."""
    return Facts(
        counts_of(stretch),
        extremes_of(stretch),
        codecs_of(stretch),
        order_of(stretch),
        odd_entries(stretch),
        sizes_of(stretch),
    )


def both(before: Facts | None, after: Facts, times_after: TimesOf) -> Facts:
    """The facts of two neighbouring stretches of a ledger.

    Args:
        before: of the one before; None where there is none.
        after: of the one after.
        times_after: the publish times of the latter, asked only where they must be looked at again.
    """
    if before is None:
        return after
    return Facts(
        before.counts + after.counts,
        before.extremes + after.extremes,
        before.codecs + after.codecs,
        joined(before.order, after.order, times_after),
        both_places(before.odd, after.odd),
        before.sizes + after.sizes,
    )


def with_stretch(before: Facts | None, stretch: Stretch) -> Facts:
    """The facts of a stretch together with those of what lies before it."""
    return both(before, facts_of(stretch), lambda: (publish_times(stretch),))


def ledger_row(facts: Facts | None, cluster: str, topic: str | None, ledger_id: int) -> dict[str, Any]:
    """The row of `ledger_facts`; `facts` are None for a ledger without entries."""
    row: dict[str, Any] = {"cluster": cluster, "topic": topic, "ledger_id": ledger_id}
    if facts is None:
        nothing: dict[str, Any] = {"codecs": {}, "steps": [], "odd": [], "cells": []}
        backwards = ("not_ascending", "index_backwards", "broker_time_backwards", "publish_time_backwards")
        return row | asdict(Counts()) | dict.fromkeys(backwards, 0) | nothing
    row |= asdict(facts.counts) | asdict(facts.extremes) | _order_columns(facts.order)
    steps, odd = (
        [{"code": code, **asdict(one), "entry_ids": list(one.entry_ids)} for code, one in counts.items()]
        for counts in (facts.order.steps, facts.odd)
    )
    return row | {"codecs": dict(facts.codecs), "steps": steps, "odd": odd} | _cell_columns(facts.sizes)


def _order_columns(order: Order) -> dict[str, Any]:
    first, last = order.first, order.last
    return {
        "not_ascending": order.not_ascending,
        "index_backwards": order.index_backwards,
        "broker_time_backwards": order.broker_backwards,
        "publish_time_backwards": order.publish_backwards,
        "newest_publish_ms": order.newest_publish_ms,
        "oldest_publish": _timed("publish_ms", order.oldest_publish),
        "earliest": _timed("seek_ms", order.earliest),
        "latest": _timed("seek_ms", order.latest),
        "first_index": first.index,
        "first_messages": first.messages,
        "first_message_index": first.first_message_index,
        "first_has_metadata": first.has_metadata,
        "first_broker_ms": order.first_timed and order.first_timed[0],
        "last_entry_index": last.index,
        "last_index": order.last_index,
        "last_has_metadata": last.has_metadata,
        "last_broker_ms": order.last_broker_ms,
    }


def _timed(name: str, timed: tuple[int, int] | None) -> dict[str, int] | None:
    return timed and {name: timed[0], "entry_id": timed[1]}


def _cell_columns(sizes: Sizes) -> dict[str, Any]:
    columns = (sizes.starts, *sizes.sums)
    names = ("start_ms", "entries", "bytes", "chunk_entries")
    cells = [dict(zip(names, cell, strict=True)) for cell in zip(*(c.tolist() for c in columns), strict=True)]
    return {"cell_ms": sizes.cell_ms if cells else None, "cells": cells}
