"""Rows about a plan: its own in `repair_plans`, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from pulsar_backlog.options.printed import Run
from pulsar_backlog.repair.applying.trail import plan_state
from pulsar_backlog.repair.planning.plan import Planned
from pulsar_backlog.repair.planning.words import with_places
from pulsar_backlog.report.terminal.repair import HeldBackRow
from pulsar_backlog.runs.context import JobContext

PLANS = "plans"
"""Folder of plans beside the tables."""
_CHOICES = (
    "topic", "subscription", "code", "severity", "min_age", "max_count", "max_bytes", "model", "republish_to",
    "accept_unsure", "give_up", "exported", "earlier", "as_stored", "message", "cut_off",
)  # fmt: skip
_SHOWN_REASONS = 50


def with_commands(planned: Planned, run: Run) -> Planned:
    """The same with the commands that it advises as they are typed after this audit."""
    held_back = (replace(one, next_step=run.fill(one.next_step)) for one in planned.held_back)
    return replace(planned, held_back=tuple(held_back))


def held_back_rows(planned: Planned) -> tuple[HeldBackRow, ...]:
    """What is left alone by reason, the most frequent first."""
    places: dict[tuple[str, str], list[str]] = {}
    for one in planned.held_back:
        places.setdefault((one.why, one.next_step), []).append(one.at or "")
    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(HeldBackRow(why, with_places(step, list(filter(None, at))), len(at)) for (why, step), at in ordered)


def row_of(
    context: JobContext, planned: Planned, rows: list[dict[str, Any]], held_back: Sequence[HeldBackRow],
    inputs: dict[str, int],
) -> dict[str, Any]:  # fmt: skip
    """The row of `repair_plans`; `inputs` are the versions of the tables it was made from."""
    plan_id = planned.plan.plan_id
    given = context.options.model_dump(include=set(_CHOICES), exclude_none=True)
    return {
        "cluster": context.cluster,
        "plan_id": plan_id,
        "made": context.started,
        "folder": f"{PLANS}/{plan_id}",
        "choices": {name: str(value) for name, value in given.items()},
        "inputs": inputs,
        "actions": len(rows),
        "entries": sum(one["entries"] for one in rows),
        "bytes": sum(one["bytes"] for one in rows),
        "left_off": planned.left_off,
        "held_back": [asdict(one) for one in held_back[:_SHOWN_REASONS]],
        "state": plan_state(rows),
    }
