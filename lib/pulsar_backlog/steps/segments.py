"""Segments of scalable topics: rows of `segments`, and what is wrong with them. Most clusters have none."""

from __future__ import annotations

import pyarrow as pa

from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.findings import Finding
from pulsar_backlog.reconciliation.segments import SegmentState, Stored, findings_of_segments, segment_states
from pulsar_backlog.storage.asking import Asking, sql
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema


def stored_segments(asked: Asking, state: ClusterState | None) -> list[SegmentState]:
    """Every segment that is stored, listed or laid out."""
    rows = asked.rows({"stored": sql("log", "stored_topics", {})})["stored"]
    return segment_states(state, {row["topic"]: Stored(row["ledgers"], row["entries"], row["bytes"]) for row in rows})


def segment_rows(segments: list[SegmentState], cluster: str) -> pa.Table:
    """Rows of `segments`."""
    return pa.Table.from_pylist([one.row(cluster) for one in segments], schema=arrow_schema(TABLES["segments"]))


def segment_findings(segments: list[SegmentState], state: ClusterState | None) -> list[Finding]:
    """S50 to S53."""
    return list(findings_of_segments(segments, state))
