"""Writing findings: each job owns the slice of its own."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.findings import Finding
from pulsar_backlog.storage.delta import replace_slice, schema_of
from pulsar_backlog.storage.runs import JobContext
from pulsar_backlog.tables import TABLES


def findings_frame(context: JobContext, findings: Iterable[Finding]) -> DataFrame:
    """Findings as rows of the `findings` table."""
    rows = [finding.row(context.cluster, context.job) for finding in findings]
    return context.spark.createDataFrame(rows, schema_of(TABLES["findings"]))


def replace_findings(context: JobContext, findings: DataFrame) -> None:
    """Replace what this job found in this cluster before."""
    mine = (f.col("cluster") == context.cluster) & (f.col("job") == context.job)
    replace_slice(findings, context.out, TABLES["findings"], mine)
