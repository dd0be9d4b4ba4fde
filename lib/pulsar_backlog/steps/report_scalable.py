"""Scalable topics (Pulsar 5) for the report: by the views that people ask, and bounded rows of the worst of them."""

from __future__ import annotations

from pulsar_backlog.report import build
from pulsar_backlog.report.model import MAX_TOPIC_FINDINGS
from pulsar_backlog.report.scalable import (
    MAX_SCALABLE,
    MAX_SCALABLE_SUBSCRIPTIONS,
    MAX_SEGMENTS,
    NO_SCALABLE,
    Scalable,
    ScalableRows,
    scalable,
)
from pulsar_backlog.sql.engines import QueryEngine

_VIEWS = ("scalable_topics", "scalable_subscriptions")


def scalable_topics(engine: QueryEngine) -> Scalable:
    """The scalable topics of the engine's cluster; most clusters have none, which costs one short query."""
    if not engine.rows({"": "SELECT topic FROM segments LIMIT 1"})[""]:
        return NO_SCALABLE
    for name in _VIEWS:
        engine.materialize(name, engine.sql("sql", name, {}))
    engine.materialize("worst_scalable", engine.sql("report", "scalable", {"scalable": MAX_SCALABLE}))
    engine.materialize("chosen", "SELECT topic FROM worst_scalable")
    rows = engine.rows(
        {
            "topics": "SELECT * FROM worst_scalable ORDER BY place",
            "segments": engine.sql("report", "scalable_segments", {"segments": MAX_SEGMENTS}),
            "subscriptions": engine.sql(
                "report", "scalable_cursors", {"subscriptions": MAX_SCALABLE_SUBSCRIPTIONS}
            ),
            "findings": engine.sql("report", "topic_findings", {"findings": MAX_TOPIC_FINDINGS}),
            "totals": engine.sql("report", "topic_totals", {}),
        }
    )  # fmt: skip
    return scalable(
        ScalableRows(
            topics=rows["topics"],
            segments=rows["segments"],
            subscriptions=rows["subscriptions"],
            findings=[build.finding(row) for row in rows["findings"]],
            totals=[(row["topic"], build.total(row)) for row in rows["totals"]],
        )
    )
