"""What becomes of a backlog, in words; and how many go which way, in one line of terminal and page."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace

import pytest
from rich.console import Console

from pulsar_backlog.report.growth import GrowthRow, change_words, course_words, growth_of, totals_words
from pulsar_backlog.report.since import SinceLast
from pulsar_backlog.report.terminal.summary import print_summary
from tests.report.page_reader import PageReader, front
from tests.report.sample_consumers import growth
from tests.report.sample_models import lab
from tests.report.sample_parts import STARTED_MS

DAY_MS = 24 * 3600 * 1000
END = {"empty_from_ms": STARTED_MS, "empty_until_ms": STARTED_MS + 2 * DAY_MS}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (growth("grows", lowest_per_day=80.4, highest_per_day=1200.0),
            "The backlog grows by 80 to 1,200 entries a day over 5 nights"),
        (growth("grows", lowest_per_day=0.6, highest_per_day=1.4), "The backlog grows by 1 entry a day over 5 nights"),
        (growth("drains", lowest_per_day=-0.2, highest_per_day=-0.1, growth_reason="too far"),
            "The backlog drains by less than an entry a day over 5 nights; too far"),
        (growth("drains", lowest_per_day=-120.0, highest_per_day=-80.0, **END),
            "The backlog drains by 80 to 120 entries a day over 5 nights; it is empty between 2026-11-21 12:00:00 UTC "
            "and 2026-11-23 12:00:00 UTC if it goes on like that"),
        (growth("drains", lowest_per_day=-100.0, highest_per_day=-100.0, empty_from_ms=STARTED_MS,
            empty_until_ms=STARTED_MS),
            "The backlog drains by 100 entries a day over 5 nights; it is empty about 2026-11-21 12:00:00 UTC if it "
            "goes on like that"),
        (growth("flat"), "The backlog is the same over 5 nights, within 1 %"),
        (growth("empty", nights=1), "The backlog is empty"),
        (growth("cannot_say", growth_reason="it grew in some nights and not in others"),
            "What becomes of the backlog nobody can say: it grew in some nights and not in others"),
        (growth("flat", counted_by="stats"), "The backlog is the same over 5 nights, within 1 % (what is not stored "
            "here as the broker's statistics count it)"),
        (growth("\x1b[2J", growth_reason="\x1b[2J"), "What becomes of the backlog nobody can say: \\x1b[2J"),
    ],
)  # fmt: skip
def test_each_course_in_words(row: GrowthRow, words: str) -> None:
    assert course_words(row) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [(None, None), (0, "0 entries"), (1, "+1 entry"), (-1, "-1 entry"), (1200, "+1,200 entries"), (-7, "-7 entries")],
)
def test_a_change_since_the_night_before(change: int | None, words: str | None) -> None:
    assert change_words(growth("grows", growth_entries=change)) == words


def test_no_row_where_no_night_can_be_compared() -> None:
    assert growth_of(dict.fromkeys(GrowthRow.__annotations__)) is None
    assert growth_of({**growth("flat"), "topic": "t"}) == growth("flat")


@pytest.mark.parametrize(
    ("subscriptions", "words"),
    [
        ({}, None),
        ({"cannot_say": 3000, "empty": 2}, None),  # of the first nights there is nothing to tell
        ({"cannot_say": 3000, "empty": 2, "drains": 1, "grows": 1200, "flat": 4},
            "1,200 growing, 1 draining, 4 flat, 2 empty, 3,000 nobody can say"),
    ],
)  # fmt: skip
def test_how_many_go_which_way(subscriptions: Mapping[str, int], words: str | None) -> None:
    assert totals_words(subscriptions) == words


def test_page_and_terminal_tell_it() -> None:
    since = SinceLast(STARTED_MS - DAY_MS, STARTED_MS, {}, 0, ())
    acks = replace(lab().acks, growth={"grows": 2, "cannot_say": 1})
    model = replace(lab(), since=since, acks=acks)
    out = io.StringIO()
    print_summary(model, Console(file=out, width=200))
    assert "Backlogs over the nights: 2 growing, 1 nobody can say\n" in out.getvalue()
    page = PageReader(front(model)).root.full_text()
    assert "Backlogs over the nights: 2 growing, 1 nobody can say." in page
    assert "The backlog grows by 1 to 3 entries a day over 5 nights." in page, "beside the subscription"
    assert "Backlog since the night before+3 entries" in page.replace("\n", "")
    assert "Backlog over the nightsThe backlog is empty" in page.replace("\n", "")
