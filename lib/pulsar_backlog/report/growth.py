"""What becomes of a backlog, in words: its growth over nights and when it is empty, or why nobody can say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.words import spaced, utc_time

DIRECTIONS: Mapping[str, str] = {
    "grows": "growing",
    "drains": "draining",
    "flat": "flat",
    "empty": "empty",
    "cannot_say": "nobody can say",
}
"""Directions in the order in which they are told."""
_SAYABLE = ("grows", "drains", "flat")
"""Those without which there is nothing to tell."""


class GrowthRow(TypedDict):
    """The columns of `backlog_growth` that a report shows, times in milliseconds."""

    direction: str
    nights: int
    growth_entries: int | None
    lowest_per_day: float | None
    highest_per_day: float | None
    counted_by: str | None
    empty_from_ms: int | None
    empty_until_ms: int | None
    growth_reason: str | None


def course_words(row: GrowthRow) -> str:
    """Which way a backlog goes, how fast, and to which end: one sentence without its full stop."""
    nights = f"over {counted(row['nights'], 'night')}"
    match row["direction"]:
        case "grows":
            words = f"The backlog grows by {_rate(row)} a day {nights}"
        case "drains":
            words = f"The backlog drains by {_rate(row)} a day {nights}; {_end(row)}"
        case "flat":
            words = f"The backlog is the same {nights}, within 1 %"
        case "empty":
            words = "The backlog is empty"
        case _:
            words = f"What becomes of the backlog nobody can say: {visible(row['growth_reason'] or 'not known', 200)}"
    by_stats = " (what is not stored here as the broker's statistics count it)" if row["counted_by"] == "stats" else ""
    return f"{words}{by_stats}"


def change_words(row: GrowthRow) -> str | None:
    """How much it changed since the night before; None where there is none."""
    change = row["growth_entries"]
    if change is None:
        return None
    return f"{'+' if change > 0 else ''}{counted(change, 'entry') if abs(change) != 1 else f'{change} entry'}"


def is_news(row: GrowthRow) -> bool:
    """Whether people want to read it before they ask for numbers."""
    return row["direction"] in ("grows", "drains")


def totals_words(subscriptions: Mapping[str, int]) -> str | None:
    """How many backlogs go which way; None where of none anything can be said, or all are empty."""
    if not any(subscriptions.get(direction) for direction in _SAYABLE):
        return None
    numbers = {words: subscriptions.get(direction, 0) for direction, words in DIRECTIONS.items()}
    return ", ".join(f"{number:,} {words}" for words, number in numbers.items() if number)


def growth_of(row: Mapping[str, Any]) -> GrowthRow | None:
    """From a row of conf/report/topic_subscriptions.sql; None where no night of the subscription can be compared."""
    if row["direction"] is None:
        return None
    return {name: row[name] for name in GrowthRow.__annotations__}  # type: ignore[return-value]


def _rate(row: GrowthRow) -> str:
    """`100 entries`, `80 to 120 entries`, `less than an entry`."""
    low, high = sorted(round(abs(rate or 0)) for rate in (row["lowest_per_day"], row["highest_per_day"]))
    if high == 0:
        return "less than an entry"
    return counted(high, "entry") if low == high else f"{low:,} to {counted(high, 'entry')}"


def _end(row: GrowthRow) -> str:
    if row["empty_from_ms"] is None or row["empty_until_ms"] is None:
        return spaced(visible(row["growth_reason"] or "nobody can say when it is empty", 200))
    first, last = utc_time(row["empty_from_ms"]), utc_time(row["empty_until_ms"])
    when = f"about {first}" if first == last else f"between {first} and {last}"
    return f"it is empty {when} if it goes on like that"
