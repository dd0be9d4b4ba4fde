"""The audit trail of repairs: a plan's rows in its two tables, and the history that a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.tableio.delta import exists, read_table, replace_slice, schema_of
from pulsar_backlog.tables import TABLES

Row = Mapping[str, Any]

MAX_PLANS = 50
MAX_ACTIONS = 2000
"""Of the newest plans, in a history."""


def plan_row(spark: SparkSession, out: str, cluster: str, plan_id: str) -> dict[str, Any] | None:
    """A plan's row of `repair_plans`; None when it was not made from these tables."""
    found = read_table(spark, out, TABLES["repair_plans"]).filter(_of(cluster, plan_id)).first()
    return None if found is None else dict(found.asDict(recursive=True))


def write_trail(spark: SparkSession, out: str, plan: Row, actions: Sequence[Row]) -> None:
    """Replace what is known of a plan; the plan's row comes last, so that it stands for all of its actions."""
    part = _of(plan["cluster"], plan["plan_id"])
    for name, rows in (("repair_actions", actions), ("repair_plans", [plan])):
        table = TABLES[name]
        replace_slice(spark.createDataFrame([dict(row) for row in rows], schema_of(table)), out, table, part)


def history(spark: SparkSession, out: str, cluster: str) -> tuple[list[Row], list[Row]]:
    """The newest plans, newest first, and their actions in order, as many as fit."""
    if not exists(spark, out, TABLES["repair_plans"]):
        return [], []
    mine = f.col("cluster") == cluster
    newest = (f.col("made").desc(), "plan_id")
    plans = read_table(spark, out, TABLES["repair_plans"]).filter(mine).orderBy(*newest).limit(MAX_PLANS)
    ids = f.broadcast(plans.select("plan_id", "made"))
    all_actions = read_table(spark, out, TABLES["repair_actions"]).filter(mine)
    actions = all_actions.join(ids, on="plan_id", how="inner").orderBy(*newest, "action").drop("made")
    return [row.asDict(recursive=True) for row in plans.collect()], [
        row.asDict(recursive=True) for row in actions.limit(MAX_ACTIONS).collect()
    ]


def _of(cluster: str, plan_id: str) -> Column:
    return (f.col("cluster") == cluster) & (f.col("plan_id") == plan_id)
