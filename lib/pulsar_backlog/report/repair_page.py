"""The history of repairs as one HTML file: each plan, what was done about each action, by whom and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.html import escaping_environment, foreign, script, stylesheet
from pulsar_backlog.report.terminal.repair import Row, action_facts, action_line, counted_kinds, moment

MAX_FACT = 600


def render_repairs(cluster: str, plans: Sequence[Row], actions: Sequence[Row]) -> str:
    """The page; no network, nothing to fetch.

    Args:
        cluster: its name.
        plans: rows of `repair_plans`, newest first.
        actions: rows of `repair_actions`, in order; of plans that are not among `plans` nothing is shown.
    """
    environment = escaping_environment()
    environment.filters |= {"foreign": foreign, "shown": visible, "utc": moment}
    return environment.get_template("repairs.html.j2").render(
        cluster=cluster,
        plans=[_plan(plan, [row for row in actions if row["plan_id"] == plan["plan_id"]]) for plan in plans],
        **stylesheet(),
        **script(),
    )


def _plan(plan: Row, actions: Sequence[Row]) -> Mapping[str, Any]:
    states: dict[str, int] = {}
    for row in actions:
        states[row["state"]] = states.get(row["state"], 0) + 1
    return {
        "row": plan,
        "what": counted_kinds(actions),
        "states": states,
        "actions": [
            {
                "number": row["action"],
                "state": row["state"],
                "line": f"{visible(row['topic'])}: {action_line(row)}",
                "facts": [(name, visible(text, MAX_FACT)) for name, text in action_facts(row)],
            }
            for row in actions
        ],
        "missing": plan["actions"] - len(actions),
    }
