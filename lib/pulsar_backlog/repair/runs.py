"""Positions as runs of entries."""

from __future__ import annotations

from collections.abc import Iterable

from pulsar_backlog.repair.values import Run
from pulsar_backlog.terms import Position


def runs_of(positions: Iterable[Position]) -> tuple[Run, ...]:
    """Ascending positions, each run as long as it can be; two ledgers never share one."""
    runs: list[Run] = []
    for ledger_id, entry_id in positions:
        last = runs[-1] if runs else None
        if last is not None and (last.ledger_id, last.last_entry_id + 1) == (ledger_id, entry_id):
            runs[-1] = Run(ledger_id, last.first_entry_id, entry_id)
        else:
            runs.append(Run(ledger_id, entry_id, entry_id))
    return tuple(runs)


def runs_text(runs: Iterable[Run], limit: int = 5) -> str:
    """The first few runs as `ledger:entry` or `ledger:first-last`."""
    texts = [
        f"{run.ledger_id}:{run.first_entry_id}"
        + (f"-{run.last_entry_id}" if run.last_entry_id > run.first_entry_id else "")
        for run in runs
    ]
    more = f" and {len(texts) - limit} more runs" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more
