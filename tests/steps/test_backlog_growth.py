"""What is said of a backlog's future, against futures that are simulated; in both engines."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.steps.comparison import backlogs_query
from pulsar_backlog.tables import TABLES
from tests.blank_rows import NOON
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import table_rows

NEEDS_SPARK = True

DAY = timedelta(days=1)
TOPIC = "persistent://t/n/a"

Growth = Callable[[Iterable[dict[str, Any]]], dict[str, dict[str, Any]]]
"""Rows of the view by subscription, over rows of `backlogs`."""


@pytest.fixture(params=ENGINES)
def growth(request: pytest.FixtureRequest, spark: SparkSession) -> Growth:
    def ask(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        context = job_context(spark if request.param == "spark" else None)
        with asked_of(request.param, context, {"backlogs": table_rows("backlogs", rows)}) as asked:
            answer = asked.rows({"all": asked.sql("sql", "backlog_growth", {})})["all"]
        assert len({row["subscription"] for row in answer}) == len(answer)
        return {row["subscription"]: row for row in answer}

    return ask


def night(subscription: str, at: float, waiting: int | None, **other: Any) -> dict[str, Any]:
    """A row of the night `at`, whose state was saved at noon and compared an hour later."""
    time = NOON + at * DAY
    return {
        "cluster": "c", "topic": TOPIC, "subscription": subscription, "run_id": f"run {at}",
        "compared_at": time + timedelta(hours=1), "saved_time": time, "comparable": True, "backlog_entries": waiting,
        "unstored_entries": 0, "mark_delete_ledger_id": 5, "mark_delete_entry_id": int(at * 1000),
    } | other  # fmt: skip


def nights(subscription: str, waiting: Sequence[int | None], first: int = 0, **other: Any) -> list[dict[str, Any]]:
    return [night(subscription, first + at, one, **other) for at, one in enumerate(waiting)]


def utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


SERIES: dict[str, tuple[list[int | None], str]] = {
    "drains by the same each night": ([1000, 900, 800, 700, 600], "drains"),
    "drains unevenly": ([820, 720, 640, 540, 420], "drains"),
    "grows": ([100, 200, 310, 400, 500], "grows"),
    "is always the same": ([500] * 5, "flat"),
    "hardly moves": ([1000, 1003, 998, 1001, 1000], "flat"),
    "is empty": ([0] * 5, "empty"),
    "was drained": ([300, 200, 100, 50, 0], "empty"),
    "goes up and down": ([1000, 900, 950, 800, 700], "cannot_say"),
    "was three times as fast in a night": ([1000, 900, 800, 500, 400], "cannot_say"),
    "was drained in a burst": ([1000, 990, 980, 200, 190], "cannot_say"),
    "has stood still for a night": ([1000, 900, 800, 800, 700], "cannot_say"),
    "has three nights only": ([1000, 900, 800], "cannot_say"),
    "has one night": ([1000], "cannot_say"),
}
"""What was not acknowledged night by night, and what is said of it."""


def last_night(waiting: Sequence[int | None]) -> int:
    return 4 - len(waiting) + 1


def test_what_is_said_of_each_course(growth: Growth) -> None:
    rows = [row for name, (waiting, _) in SERIES.items() for row in nights(name, waiting, last_night(waiting))]
    said = growth(rows)
    assert {name: row["direction"] for name, row in said.items()} == {name: way for name, (_, way) in SERIES.items()}
    for row in said.values():
        assert (row["reason"] is not None) == (row["direction"] == "cannot_say"), row
        assert (row["empty_until"] is not None) == (row["direction"] == "drains"), row
    drained = said["drains by the same each night"]
    assert (drained["growth_entries"], drained["lowest_per_day"], drained["highest_per_day"]) == (-100, -100, -100)
    assert [utc(drained[name]) for name in ("empty_from", "empty_until")] == [NOON + 10 * DAY] * 2
    uneven = said["drains unevenly"]  # by 80 to 120 a night, so by 60 to 140 in nights to come
    assert [utc(uneven[name]) for name in ("empty_from", "empty_until")] == [NOON + 7 * DAY, NOON + 11 * DAY]


LINEAR: list[int | None] = [1000, 900, 800, 700, 600]
BACK = {"mark_delete_ledger_id": 4}
DOUBTS: dict[str, tuple[list[dict[str, Any]], str]] = {
    # three nights since the position was set back; the five before are of another course
    "set back": ([*nights("set back", LINEAR, -3), *nights("set back", [2000, 1900, 1800], 2, **BACK)], "fewer"),
    "newest not wholly read": ([*nights("newest not wholly read", LINEAR[:4]),
        night("newest not wholly read", 4, 0, comparable=False)], "newest state"),
    "newest of unknown time": ([*nights("newest of unknown time", LINEAR[:4]),
        night("newest of unknown time", 4, 600, comparable=False, saved_time=None)], "newest state"),
    # what lies in the open ledger may grow while the stored entries drain
    "open ledger not counted": (nights("open ledger not counted", LINEAR, unstored_entries=None), "not in the source"),
    # the log went on for days, the state did not
    "state of last week": ([*nights("state of last week", LINEAR, -6), night("state of last week", -2, 900,
        run_id="now", compared_at=NOON + 4 * DAY + timedelta(hours=1))], "twice as long"),
}  # fmt: skip


def test_what_makes_it_unsayable(growth: Growth) -> None:
    said = growth([row for rows, _ in DOUBTS.values() for row in rows])
    for name, (_, words) in DOUBTS.items():
        assert said[name]["direction"] == "cannot_say", name
        assert words in said[name]["reason"], name
        assert said[name]["empty_until"] is None, name


@pytest.mark.parametrize(
    ("first", "later", "counted_by"),
    [
        ("ledgers", "ledgers", "ledgers"),
        (None, "ledgers", "ledgers"),  # of a release that counted by ledgers only, and did not say so
        ("stats", "ledgers", "stats"),  # one night is enough
        ("ledgers", "stats", "stats"),
    ],
)
def test_who_counted(growth: Growth, first: str | None, later: str, counted_by: str) -> None:
    rows = nights("s", LINEAR)
    said = growth([rows[0] | {"counted_by": first}, *(row | {"counted_by": later} for row in rows[1:])])["s"]
    assert (said["direction"], said["counted_by"]) == ("drains", counted_by)


def test_what_lies_far_back_is_not_looked_at(growth: Growth) -> None:
    """Of the last sixteen days with audits three have states that can be compared; earlier ones are not looked at."""
    old = nights("s", [1000, 900, 800, 700], 0)
    between = [night("s", at, None, comparable=False) for at in range(4, 17)]
    new = nights("s", [600, 500], 17)
    said = growth([*old, *between, *new])["s"]
    assert (said["direction"], said["nights"]) == ("cannot_say", 3)
    assert "fewer than four" in said["reason"]
    weekly = [row for at, one in enumerate(LINEAR) for row in nights("weekly", [one], at * 7)]
    assert growth(weekly)["weekly"]["direction"] == "drains", "days without audits do not count"


def test_nobody_counted(growth: Growth) -> None:
    said = growth(nights("s", LINEAR, unstored_entries=None))["s"]
    assert (said["direction"], said["counted_by"]) == ("cannot_say", None)


def test_what_is_no_night_of_its_own_or_no_subscription_any_more(growth: Growth) -> None:
    again = [night("again", 3, 100_000, run_id="again", compared_at=NOON + 3.5 * DAY)]  # the same state, a longer log
    broken = [night("a hole", 2, 0, comparable=False)]  # a ledger was unread: nothing was drained
    said = growth(
        [
            *nights("again", LINEAR), *again,
            *[row for row in nights("a hole", LINEAR) if row["run_id"] != "run 2"], *broken,
            *nights("deleted", LINEAR[:4]),
            *nights("set back and long since", [5, 1_000_000], -7),
            *nights("set back and long since", LINEAR, 0, **BACK),
            *nights("other cluster", LINEAR, cluster="d"),
        ]
    )  # fmt: skip
    assert "deleted" not in said, "the last audit of its cluster knows it no more"
    for name in ("again", "a hole", "set back and long since", "other cluster"):
        assert (said[name]["direction"], utc(said[name]["empty_until"])) == ("drains", NOON + 10 * DAY), name


def test_nothing_is_said_of_a_future_further_than_three_times_the_past(growth: Growth) -> None:
    near, far = nights("near", [1600, 1500, 1400, 1300, 1200]), nights("far", [1610, 1510, 1410, 1310, 1210])
    said = growth([*near, *far])
    assert utc(said["near"]["empty_until"]) == NOON + 16 * DAY
    assert (said["far"]["direction"], said["far"]["empty_from"], said["far"]["empty_until"]) == ("drains", None, None)
    assert "further ahead" in said["far"]["reason"]


def simulated(seed: int, steps: Callable[[random.Random], int]) -> tuple[list[int], float | None]:
    """Eight nights of a backlog, and when it was really empty; None where it was not within 200 nights."""
    chance = random.Random(seed)
    waiting = [chance.randrange(7_000, 18_000)]
    while len(waiting) < 200:
        step = steps(chance)
        if waiting[-1] + step <= 0:
            return waiting[:8], len(waiting) - 1 + waiting[-1] / -step
        waiting.append(waiting[-1] + step)
    return waiting[:8], None


def coverage(growth: Growth, steps: Callable[[random.Random], int]) -> tuple[int, int, int]:
    """Of 300 backlogs: how many last eight nights, of how many an end is said, and of how many it comes as said."""
    courses = {str(seed): simulated(seed, steps) for seed in range(300)}
    courses = {name: course for name, course in courses.items() if len(course[0]) == 8}
    said = growth(row for name, (waiting, _) in courses.items() for row in nights(name, waiting))
    dated = {name: row for name, row in said.items() if row["empty_until"] is not None}
    kept = [
        name
        for name, row in dated.items()
        if (end := courses[name][1]) is not None
        and utc(row["empty_from"]) - DAY / 1000 <= NOON + end * DAY <= utc(row["empty_until"]) + DAY / 1000
    ]
    return len(courses), len(dated), len(kept)


def test_an_end_that_is_said_comes(growth: Growth) -> None:
    """A drain with noise of a third: what is said holds, though nights to come are not bound by those that were."""
    number, dated, kept = coverage(growth, lambda chance: -round(900 * chance.uniform(0.67, 1.33)))
    assert dated > number * 0.75, "it is said of all but those whose end is too far away"
    assert kept > dated * 0.98


def test_no_end_is_said_of_what_only_wavers(growth: Growth) -> None:
    number, dated, _ = coverage(growth, lambda chance: chance.randrange(-1_000, 1_001))
    assert number > 250
    assert dated <= number * 0.02


def test_no_end_is_said_of_what_grows(growth: Growth) -> None:
    assert coverage(growth, lambda chance: round(900 * chance.uniform(0.5, 1.5)))[1] == 0


KNOWN = {"cluster": "c", "topic": TOPIC, "saved_time": NOON, "read_time": NOON + DAY}
READER = {"cluster": "c", "topic": TOPIC, "subscription": "s", "kind": "subscription", "state": "whole",
    "sureness": "certain", "backlog_entries": 7}  # fmt: skip
UNREAD = {"cluster": "c", "code": "S02", "subject": "s", "topic": TOPIC, "incomplete": True}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("given", "comparable"),
    [
        ({}, [True]),
        ({"subscriptions": [READER | {"state": "rolled_back"}]}, [False]),  # its position is that of an earlier day
        ({"subscriptions": [READER | {"sureness": "likely"}]}, [False]),
        ({"subscriptions": [READER | {"backlog_entries": None}]}, [False]),
        ({"findings": [UNREAD]}, [False]),  # what could not be read is no drain
        ({"findings": [UNREAD | {"topic": None}]}, [False]),
        ({"findings": [UNREAD | {"topic": "another"}]}, [True]),
        ({"findings": [UNREAD, UNREAD | {"subject": "another"}]}, [False]),  # one row all the same
        ({"saved_states": [KNOWN | {"saved_time": None}]}, [False]),
        ({"saved_states": []}, [False]),
        ({"subscriptions": [READER | {"kind": "compaction"}]}, []),
    ],
)
def test_which_nights_may_be_compared(
    engine: str, spark: SparkSession, given: dict[str, list[dict[str, Any]]], comparable: list[bool]
) -> None:
    rows = {"subscriptions": [READER], "saved_states": [KNOWN], "findings": []} | given
    tables = {name: table_rows(name, of_table) for name, of_table in rows.items()}
    with asked_of(engine, job_context(spark if engine == "spark" else None), tables) as asked:
        made = listed(asked.table(backlogs_query(asked, "run 1", 1000), TABLES["backlogs"], {"cluster": "c"}))
    assert [row["comparable"] for row in made] == comparable
