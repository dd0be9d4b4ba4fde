"""The message about a night: what is new, back, worse, healed or gone, and where the report is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.since import NEWS, SEVERITIES, WORDS, about
from pulsar_backlog.report.words import spaced

MAX_LINES = 12
"""Changes that a message names; the report has more."""
_LONG = 160
_ALWAYS = ("new", "back", "healed")


def is_worth_telling(counts: Mapping[tuple[str, str], int]) -> bool:
    """Whether anybody should be told: errors and warnings that came or healed, and errors that got worse.

    What is gone with its data is named beside other news; that ledgers left is a warning of its own.
    """
    came_or_healed = any(counts.get((change, severity), 0) for change in _ALWAYS for severity in SEVERITIES)
    return came_or_healed or counts.get(("worse", "error"), 0) > 0


def message_of(
    cluster: str, counts: Mapping[tuple[str, str], int], rows: Sequence[Mapping[str, Any]], link: str
) -> tuple[str, str]:
    """Title and text; names from topics are made visible.

    Args:
        cluster: whose tables.
        counts: problems by change and severity.
        rows: changes, the most urgent first.
        link: of the report.
    """
    totals = {change: sum(counts.get((change, one), 0) for one in SEVERITIES) for change in WORDS}
    sums = ", ".join(f"{totals[change]:,} {words}" for change, words in WORDS.items() if totals[change])
    lines = [_line(row) for row in rows[:MAX_LINES]]
    more = sum(totals[change] for change in NEWS) - len(lines)
    if more > 0:
        lines.append(f"and {more:,} more")
    return f"pulsar-backlog {visible(cluster, _LONG)}: {sums}", "\n".join([*lines, f"Report: {visible(link, 1000)}"])


def _line(row: Mapping[str, Any]) -> str:
    code = str(row["code"])
    name = spaced(CATALOGUE[code].name) if code in CATALOGUE else "data quality"
    return f"{row['change']}: {row['severity']} {visible(code, 60)} {name}: {visible(about(row), _LONG)}"
