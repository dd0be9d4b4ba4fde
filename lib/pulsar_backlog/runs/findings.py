"""Writing findings: each job owns the slice of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from pulsar_backlog.findings import Finding
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.tableio.spark_rows import frame_of, schema_of
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema


def findings_frame(context: JobContext, findings: Iterable[Finding]) -> DataFrame:
    """Findings as rows of the `findings` table."""
    return frame_of(context.spark, _rows_of(context, findings), schema_of(TABLES["findings"]))


def replace_findings(
    context: JobContext,
    findings: Rows | Sequence[Finding],
    left_out: Collection[int] = (),
    topics: Collection[str] | None = None,
) -> None:
    """Replace what this job found in this cluster before.

    Args:
        context: whose findings.
        findings: what it found now.
        left_out: ledgers that were not looked at; what was found about them stays.
        topics: topics that were looked at; what was found about others stays. None for all that the job does.
    """
    part = context.slice_of("findings").where(job=context.job).without(ledger_id=left_out)
    if topics is not None:
        part = part.where(topic=topics)
    rows = findings if isinstance(findings, DataFrame | pa.Table) else _rows_of(context, findings)
    context.store.replace(TABLES["findings"], rows, part)


def with_findings(context: JobContext, rows: Rows, findings: Iterable[Finding]) -> Rows:
    """Rows of the `findings` table, and findings besides."""
    if isinstance(rows, DataFrame):
        return rows.unionByName(findings_frame(context, findings))
    return pa.concat_tables([rows, _rows_of(context, findings)])


def _rows_of(context: JobContext, findings: Iterable[Finding]) -> pa.Table:
    rows = [finding.row(context.cluster, context.job) for finding in findings]
    return pa.Table.from_pylist(rows, schema=arrow_schema(TABLES["findings"]))
