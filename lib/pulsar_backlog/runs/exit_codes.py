"""Which exit code findings ask for."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from pulsar_backlog.findings import SEVERITIES
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE

if TYPE_CHECKING:
    from pulsar_backlog.runs.context import JobContext


def exit_code(context: JobContext, job: str | None = None, topics: Collection[str] | None = None) -> int:
    """The exit code that the findings of one job, or of all, ask for; those about some topics, or all."""
    fail_on = context.options.fail_on
    bad = list(SEVERITIES[: SEVERITIES.index(fail_on) + 1]) if fail_on in SEVERITIES else []
    incomplete, failing = _counted(context, bad, job, topics)
    if incomplete:
        return EXIT_INCOMPLETE
    return EXIT_FINDINGS if failing else EXIT_CLEAN


def _counted(
    context: JobContext, bad: Collection[str], job: str | None, topics: Collection[str] | None
) -> tuple[int, int]:
    """How many findings say that something was not read, and how many are of a bad severity."""
    held = context.held("findings")
    if held is not None:
        rows = held.select(["job", "topic", "incomplete", "severity"]).to_pylist()
        mine = [row for row in rows if job in (None, row["job"]) and (topics is None or row["topic"] in topics)]
        return sum(row["incomplete"] for row in mine), sum(row["severity"] in bad for row in mine)
    findings = context.table("findings")
    if job is not None:
        findings = findings.filter(f.col("job") == job)
    if topics is not None:
        findings = findings.filter(f.col("topic").isin(*topics))
    (counts,) = findings.agg(f.count_if("incomplete"), f.count_if(f.col("severity").isin(*bad))).collect()
    return counts[0], counts[1]
