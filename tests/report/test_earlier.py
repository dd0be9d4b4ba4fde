"""Sentences about what is not of this audit: whose it is, why, and how old."""

from __future__ import annotations

from typing import Any

import pytest

from pulsar_backlog.report.earlier import NOTHING_EARLIER, Earlier, EarlierScope, EarlierState, earlier_scope

DAY = 86_400_000
NOW = 1_763_719_200_000  # 2025-11-21 10:00 UTC


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            EarlierState(3, 3, NOW - 3 * DAY, False),
            "Subscriptions are as saved on 2025-11-18 10:00 UTC, 3 days before; this audit was given no saved state.",
        ),
        (
            EarlierState(1, 3, NOW - DAY, True),
            "Subscriptions of 1 topic are as saved on 2025-11-20 10:00 UTC, 1 day before; this audit's saved state "
            "lacks them.",
        ),
        (
            EarlierState(2, 3, NOW - DAY + 1, True),
            "Subscriptions of 2 topics are as saved on 2025-11-20 10:00 UTC, less than a day before; this audit's "
            "saved state lacks them.",
        ),
        (
            EarlierState(3, 3, None, False),
            "Subscriptions are as an earlier audit was given them; this audit was given no saved state.",
        ),
    ],
)
def test_saved_state(state: EarlierState, said: str) -> None:
    assert list(Earlier(state).sentences(NOW)) == [said]


def test_nothing_is_said_of_an_audit_that_was_given_all() -> None:
    assert list(NOTHING_EARLIER.sentences(NOW)) == []


def run(ago: int, **options: str) -> dict[str, Any]:
    return {"options": {"out": "x", **options}, "started_ms": NOW - ago * DAY}


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        pytest.param([], None, id="no run"),
        pytest.param([run(0)], None, id="the first one looks at all"),
        pytest.param([run(0, topic="a")], None, id="the first one is narrowed, and nothing else was ever audited"),
        pytest.param([run(1, topic="a"), run(0, topic="a")], None, id="always the same topics"),
        pytest.param([run(1, topic="a"), run(0)], None, id="now all"),
        pytest.param([run(2), run(0, topic="a")], EarlierScope(("topic",), NOW - 2 * DAY), id="all, then one topic"),
        pytest.param(
            [run(3), run(2, topic="b"), run(0, topic="a", since="x")],
            EarlierScope(("topic", "since"), NOW - 3 * DAY),
            id="since the last that looked at all",
        ),
        pytest.param(
            [run(2, topic="b"), run(0, topic="a")], EarlierScope(("topic",), NOW - 2 * DAY), id="another topic before"
        ),
    ],
)
def test_what_a_narrowed_audit_leaves_to_an_earlier_one(runs: list[dict[str, Any]], found: EarlierScope | None) -> None:
    assert earlier_scope(runs) == found


def test_a_narrowed_audit_says_so() -> None:
    (said,) = Earlier(scope=EarlierScope(("topic", "since"), NOW - 2 * DAY)).sentences(NOW)
    assert said == (
        "This audit was narrowed by --topic, --since; the rest is of the audit of 2025-11-19 10:00 UTC, 2 days before."
    )
