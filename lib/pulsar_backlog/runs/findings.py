"""Writing findings: each job owns the slice of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.findings import Finding
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.tableio.delta import frame_of, replace_rows, replace_slice, schema_of
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema


def findings_frame(context: JobContext, findings: Iterable[Finding]) -> DataFrame:
    """Findings as rows of the `findings` table."""
    return frame_of(context.spark, _held(context, findings), schema_of(TABLES["findings"]))


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
        topics: topics that were looked at; what was found about others stays. None for all.
    """
    mine = context.mine & (f.col("job") == context.job)
    if left_out:
        mine &= f.col("ledger_id").isNull() | ~f.col("ledger_id").isin(*left_out)
    if topics is not None:
        mine &= f.col("topic").isin(*topics)
    if isinstance(findings, DataFrame):
        replace_slice(findings, context.out, TABLES["findings"], mine)
    else:
        rows = findings if isinstance(findings, pa.Table) else _held(context, findings)
        replace_rows(context.spark, rows, context.out, TABLES["findings"], mine)


def with_findings(context: JobContext, rows: Rows, findings: Iterable[Finding]) -> Rows:
    """Rows of the `findings` table, and findings besides."""
    if isinstance(rows, DataFrame):
        return rows.unionByName(findings_frame(context, findings))
    return pa.concat_tables([rows, _held(context, findings)])


def _held(context: JobContext, findings: Iterable[Finding]) -> pa.Table:
    rows = [finding.row(context.cluster, context.job) for finding in findings]
    return pa.Table.from_pylist(rows, schema=arrow_schema(TABLES["findings"]))
