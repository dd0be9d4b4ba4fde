"""Internal ledgers for a terminal, and as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.console import Console
from rich.text import Text

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.internals.kinds import KINDS
from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.words import spaced

MAX_LINES = 200
"""Ledgers that people are shown; `--json` has all."""
_STYLES = {"lost": "bold red", "leaked": "bold yellow", "cannot_tell": "yellow"}
_LONG = 200


def internal_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each ledger as a JSON object on a line, in printable ASCII."""
    for row in rows:
        yield to_json({"type": "internal_ledger", **row}, compact=True) + "\n"


def print_internals(counts: Sequence[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]], console: Console) -> None:
    """The verdict, then each kind, then the ledgers that are not well."""
    console.print(Text(_verdict(counts), style="bold"), highlight=False)
    for row in counts:
        console.print(Text(f"  {_kind_line(row)}"), highlight=False, overflow="fold")
    others = [row for row in islice(rows, MAX_LINES) if row["verdict"] != "ok"]
    for row in others:
        line = Text(f"  {spaced(row['verdict'])} ", style=_STYLES.get(row["verdict"], ""))
        line.append(f"ledger {row['ledger_id']} {spaced(row['kind'])}", style="bold")
        line.append(
            f" [{visible(row['name'] or '-', _LONG)}] {visible(row['reason'], _LONG)}", style="not bold default"
        )
        console.print(line, highlight=False, overflow="fold")
    more = sum(row["ledgers"] - row["ok"] for row in counts) - len(others)
    if more > 0:
        console.print(f"... {more:,} more; --json lists all", highlight=False)


def _verdict(counts: Sequence[Mapping[str, Any]]) -> str:
    if not counts:
        return "No internal ledgers: nothing that was read or saved tells of any."
    total = {name: sum(row[name] for row in counts) for name in ("ledgers", "ok", "lost", "leaked", "cannot_tell")}
    ledgers = counted(total["ledgers"], "internal ledger", "internal ledgers")
    words = {"lost": "lost", "leaked": "leaked", "cannot_tell": "cannot be told", "ok": "ok"}
    parts = ", ".join(f"{total[name]:,} {word}" for name, word in words.items() if total[name])
    return f"{ledgers}: {parts}."


def _kind_line(row: Mapping[str, Any]) -> str:
    kind = KINDS.get(row["kind"])
    unread = f", {counted(row['unread_entries'], 'entry', 'entries')} not read" if row["unread_entries"] else ""
    entries = (
        f"{counted(row['entries'], 'entry', 'entries')}{unread}" if row["entries"] is not None else "not in the source"
    )
    return f"{row['ledgers']:>7,}  {spaced(row['kind']):<22} {entries}: {kind.words if kind else ''}"
