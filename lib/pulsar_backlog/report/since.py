"""Since the last audit: what is new, came back, got worse, healed or is gone, as values and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast

MAX_CHANGES = 200
"""Changes that a report lists; the table `changes` has all."""
FIRST_CHANGES = 5
"""Of these, those that stand before what to do next; the others stand behind the findings."""

Change = Literal["new", "back", "worse", "healed", "gone", "still", "unsure"]

WORDS: Mapping[Change, str] = {
    "new": "new",
    "back": "back",
    "worse": "worse",
    "healed": "healed",
    "gone": "gone with their data",
    "still": "still there",
    "unsure": "not judged, because not everything was read",
}
"""Changes in the order in which they are told."""
NEWS: tuple[Change, ...] = ("new", "back", "worse", "healed", "gone")
"""Those that are listed."""
SEVERITIES = ("error", "warning")
"""Of what people are told of; the tables have `info` too."""


class ChangeRow(TypedDict):
    """What changed about one problem."""

    identity: str
    change: str
    kind: str
    code: str
    severity: str
    topic: str | None
    subscription: str | None
    subject: str
    message: str
    count: int
    count_before: int | None
    reason: str | None
    first_seen_ms: int


@dataclass(frozen=True)
class SinceLast:
    """What changed since the audit before.

    Attributes:
        previous_ms: when that one was compared.
        compared_ms: when this one was.
        counts: problems by change and severity, those that somebody has acknowledged left out.
        acknowledged: errors and warnings that somebody has acknowledged.
        rows: some of the changes, the most urgent first.
    """

    previous_ms: int
    compared_ms: int
    counts: Mapping[tuple[str, str], int]
    acknowledged: int
    rows: tuple[ChangeRow, ...]

    def total(self, change: str) -> int:
        """Errors and warnings of which a change is said."""
        return sum(self.counts.get((change, severity), 0) for severity in SEVERITIES)

    @property
    def listed(self) -> int:
        """Changes, listed or not."""
        return sum(self.total(change) for change in NEWS)

    @property
    def first(self) -> tuple[ChangeRow, ...]:
        """The few that stand before what to do next."""
        return self.rows[:FIRST_CHANGES]

    @property
    def later(self) -> bool:
        """Whether there are more than those."""
        return len(self.rows) > FIRST_CHANGES

    @property
    def headline(self) -> str:
        """All of it in one line."""
        parts = [f"{self.total(change):,} {words}" for change, words in WORDS.items() if self.total(change)]
        if self.acknowledged:
            parts.append(f"{self.acknowledged:,} acknowledged")
        return ", ".join(parts) or "nothing was wrong then, and nothing is now"


def since_last(
    runs: Iterable[Mapping[str, Any]], counts: Sequence[Mapping[str, Any]], rows: Sequence[Any]
) -> SinceLast | None:
    """What changed since the audit before; None where there was none.

    Args:
        runs: `job` and `started_ms` of all runs.
        counts: rows of conf/report/change_counts.sql.
        rows: rows of conf/report/changes.sql.
    """
    started = sorted(run["started_ms"] for run in runs if run["job"] == "compare_audits")
    if len(started) < 2:
        return None
    by_change: Counter[tuple[str, str]] = Counter()
    for row in counts:
        if not row["is_acknowledged"]:
            by_change[row["change"], row["severity"]] += row["problems"]
    covered = (row["problems"] for row in counts if row["is_acknowledged"] and row["severity"] in SEVERITIES)
    return SinceLast(started[-2], started[-1], by_change, sum(covered), tuple(cast(ChangeRow, row) for row in rows))


def since_json(since: SinceLast | None) -> dict[str, object] | None:
    """As result.json has it."""
    if since is None:
        return None
    return {
        "previous_ms": since.previous_ms,
        "counts": {
            severity: {change: since.counts.get((change, severity), 0) for change in WORDS}
            for severity in (*SEVERITIES, "info")
        },
        "acknowledged": since.acknowledged,
        "total": since.listed,
        "listed": len(since.rows),
        "rows": [dict(row) for row in since.rows],
    }


def about(row: Mapping[str, Any]) -> str:
    """What a change is about, in the words of others: a topic and a subscription, or a subject."""
    if row["topic"] is None:
        return str(row["subject"])
    return (
        f"{row['topic']}, subscription {row['subscription']}" if row["subscription"] is not None else str(row["topic"])
    )


def growth(row: Mapping[str, Any]) -> str:
    """How many are concerned, and how many were before."""
    if row["change"] == "worse" and row["count_before"] is not None and row["count_before"] != row["count"]:
        return f"{row['count_before']:,} before, {row['count']:,} now"
    return str(row["reason"] or "")
