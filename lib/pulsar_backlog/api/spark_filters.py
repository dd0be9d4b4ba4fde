"""Filters that Spark pushes down, as a narrower choice of rows; Spark looks at each row again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pulsar_backlog.api.wanted import Wanted

_LAST = 2**63 - 1
_SINCE_UNTIL = {"publish_time": ("since", "until"), "broker_timestamp": ("broker_since", "broker_until")}


def narrowed(wanted: Wanted, filters: Iterable[Any], masked: Collection[str] = ()) -> Wanted:
    """The choice without what the filters, all of which must hold, rule out.

    Those on columns that are `masked` rule out nothing here: they are about what becomes of the stored values.
    """
    for one in filters:
        name = ".".join(one.attribute) if hasattr(one, "attribute") else ""
        narrow = None if name in masked else _NARROWING.get(name)
        if narrow is not None:
            wanted = narrow(wanted, name, type(one).__name__, one)
    return wanted


def _topic(wanted: Wanted, _: str, kind: str, one: Any) -> Wanted:
    values = _values(kind, one)
    # A name may hold what globs understand; several choices of topics cannot be joined.
    return wanted if values is None or wanted.exact_topics else replace(wanted, exact_topics=values)


def _producer(wanted: Wanted, _: str, kind: str, one: Any) -> Wanted:
    values = _values(kind, one)
    return wanted if values is None or wanted.producers else replace(wanted, producers=values)


def _key(wanted: Wanted, _: str, kind: str, one: Any) -> Wanted:
    values = _values(kind, one)
    return wanted if values is None or wanted.stored_keys else replace(wanted, stored_keys=values)


def _ledger(wanted: Wanted, _: str, kind: str, one: Any) -> Wanted:
    values = _values(kind, one)
    if values is not None:
        ranges = tuple((value, value) for value in values)
    elif kind in ("GreaterThan", "GreaterThanOrEqual"):
        ranges = ((one.value, _LAST),)
    elif kind in ("LessThan", "LessThanOrEqual"):
        ranges = ((0, one.value),)
    else:
        return wanted
    return replace(wanted, ledgers=_both(wanted.ledgers or ((0, _LAST),), ranges))


def _entry(wanted: Wanted, _: str, kind: str, one: Any) -> Wanted:
    values = _values(kind, one)
    first, last = wanted.entry_ids
    if values:
        first, last = max(first, min(values)), min(last, max(values))
    elif kind in ("GreaterThan", "GreaterThanOrEqual"):
        first = max(first, one.value)
    elif kind in ("LessThan", "LessThanOrEqual"):
        last = min(last, one.value)
    return replace(wanted, entry_ids=(first, last))


def _time(wanted: Wanted, name: str, kind: str, one: Any) -> Wanted:
    since, until = _SINCE_UNTIL[name]
    value = getattr(one, "value", None)
    if not isinstance(value, datetime):
        return wanted
    time = value.astimezone(UTC)
    if kind in ("GreaterThan", "GreaterThanOrEqual", "EqualTo"):
        bound = getattr(wanted, since)
        least: dict[str, Any] = {since: time if bound is None else max(bound, time)}
        wanted = replace(wanted, **least)
    if kind in ("LessThan", "LessThanOrEqual", "EqualTo"):
        end = time + timedelta(microseconds=1)
        bound = getattr(wanted, until)
        most: dict[str, Any] = {until: end if bound is None else min(bound, end)}
        wanted = replace(wanted, **most)
    return wanted


def _values(kind: str, one: Any) -> tuple[Any, ...] | None:
    if kind == "EqualTo":
        return (one.value,)
    return tuple(value for value in one.value if value is not None) if kind == "In" else None


def _both(some: tuple[tuple[int, int], ...], others: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Ranges of what lies in both; a range of nothing where that is nothing."""
    both = [(max(a, c), min(b, d)) for a, b in some for c, d in others if max(a, c) <= min(b, d)]
    return tuple(both) or ((-1, -1),)


_NARROWING: dict[str, Callable[[Wanted, str, str, Any], Wanted]] = {
    "topic": _topic,
    "producer_name": _producer,
    "partition_key": _key,
    "ledger_id": _ledger,
    "entry_id": _entry,
    "publish_time": _time,
    "broker_timestamp": _time,
}
