"""The audit trail of repairs: a plan's rows in its two tables, and the history that a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import functions as f

from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES

Row = Mapping[str, Any]

MAX_PLANS = 50
MAX_ACTIONS = 2000
"""Of the newest plans, in a history."""


def plan_row(store: TableStore, cluster: str, plan_id: str) -> dict[str, Any] | None:
    """A plan's row of `repair_plans`; None when it was not made from these tables."""
    plans = store.frame(TABLES["repair_plans"]).filter(_of(cluster, plan_id).column())
    return next(iter(plans.limit(1).toArrow().to_pylist()), None)  # by Arrow, whose times name their zone


def write_trail(store: TableStore, plan: Row, actions: Sequence[Row]) -> None:
    """Replace what is known of a plan; the plan's row comes last, so that it stands for all of its actions."""
    part = _of(plan["cluster"], plan["plan_id"])
    for name, rows in (("repair_actions", actions), ("repair_plans", [plan])):
        store.replace(TABLES[name], rows, part)


def history(store: TableStore, cluster: str) -> tuple[list[Row], list[Row]]:
    """The newest plans, newest first, and their actions in order, as many as fit."""
    if not store.exists(TABLES["repair_plans"]):
        return [], []
    all_plans, all_actions = (store.frame(TABLES[name]) for name in ("repair_plans", "repair_actions"))
    mine = f.col("cluster") == cluster  # a column needs the session that the frames began
    newest = (f.col("made").desc(), "plan_id")
    plans = all_plans.filter(mine).orderBy(*newest).limit(MAX_PLANS)
    ids = f.broadcast(plans.select("plan_id", "made"))
    all_actions = all_actions.filter(mine)
    actions = all_actions.join(ids, on="plan_id", how="inner").orderBy(*newest, "action").drop("made")
    return [row.asDict(recursive=True) for row in plans.collect()], [
        row.asDict(recursive=True) for row in actions.limit(MAX_ACTIONS).collect()
    ]


def _of(cluster: str, plan_id: str) -> Slice:
    return Slice.of(cluster=cluster, plan_id=plan_id)
