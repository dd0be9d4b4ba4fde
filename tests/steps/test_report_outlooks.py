"""A report forecasts the worst stalled subscriptions, as far as a bounded number of entries goes."""

from __future__ import annotations

from pulsar_backlog.steps.report_outlooks import MAX_ENTRIES, MAX_OUTLOOKS, within_bounds


def rows(*backlogs: int) -> list[dict[str, object]]:
    return [{"subscription": number, "backlog_entries": backlog} for number, backlog in enumerate(backlogs)]


def numbers(*backlogs: int) -> list[object]:
    return [row["subscription"] for row in within_bounds(rows(*backlogs))]


def test_the_worst_ones_and_no_more() -> None:
    assert numbers(*[1] * 20) == list(range(MAX_OUTLOOKS))


def test_entries_of_all_together() -> None:
    assert numbers(MAX_ENTRIES - 5, 6, 5, 1) == [0, 2]
    assert numbers(MAX_ENTRIES + 1) == []
