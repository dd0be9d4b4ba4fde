"""Changes for a terminal, and as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from rich.console import Console
from rich.text import Text

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.since import NEWS, WORDS, about, growth
from pulsar_backlog.report.words import utc_time

MAX_LINES = 200
"""Changes that people are shown; `--json` has all."""
_STYLES = {"error": "bold red", "warning": "bold yellow"}
_LONG = 160


def change_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each change as a JSON object on a line, in printable ASCII."""
    for row in rows:
        yield to_json({"type": "change", **row}, compact=True) + "\n"


def print_changes(
    since: datetime, counts: Mapping[tuple[str, str], int], rows: Iterable[Mapping[str, Any]], console: Console
) -> None:
    """How many of each, then one line for each, the most urgent of each comparison first."""
    totals = {change: sum(n for (one, _), n in counts.items() if one == change) for change in NEWS}
    summary = (
        ", ".join(f"{totals[change]:,} {words}" for change, words in WORDS.items() if totals.get(change))
        or "nothing changed"
    )
    console.print(Text(f"Since {utc_time(round(since.timestamp() * 1000))}: {summary}", style="bold"), highlight=False)
    for row in islice(rows, MAX_LINES):
        line = Text(f"  {row['change']} ", style=_STYLES.get(row["severity"], ""))
        line.append(f"{visible(row['severity'], 20)} {visible(row['code'], 60)}", style="bold")
        line.append(f" [{visible(about(row), _LONG)}] {visible(row['message'], _LONG)}", style="not bold default")
        if words := growth(row):
            line.append(f" ({visible(words, _LONG)})", style="dim")
        console.print(line, highlight=False, overflow="fold")
    if sum(totals.values()) > MAX_LINES:
        console.print(f"... {sum(totals.values()) - MAX_LINES:,} more; --json lists all", highlight=False)
