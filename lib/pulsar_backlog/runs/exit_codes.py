"""Which exit code findings ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.findings import SEVERITIES
from pulsar_backlog.findings.acknowledgements import ESCAPE, Acknowledgement, acknowledgements
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pulsar_backlog.runs.context import JobContext

NEWS = "new-"
"""How a `--fail-on` begins that asks for what the audit before did not find."""
_NEWS = ("new", "back")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def exit_code(context: JobContext, job: str | None = None, topics: Collection[str] | None = None) -> int:
    """The exit code that the findings of one job, or of all, ask for; those about some topics, or all.

    What an acknowledgement covers asks for nothing but where it could not be read. News are what `compare_audits`
    found: only who judges all jobs knows of them.
    """
    fail_on = context.options.fail_on or ""
    severity = fail_on.removeprefix(NEWS)
    bad = list(SEVERITIES[: SEVERITIES.index(severity) + 1]) if severity in SEVERITIES else []
    is_news = fail_on.startswith(NEWS)
    incomplete, failing = _counted(context, [] if is_news else bad, job, topics)
    if is_news and job is None:
        failing = _count_news(context, bad)
    if incomplete:
        return EXIT_INCOMPLETE
    return EXIT_FINDINGS if failing else EXIT_CLEAN


def _counted(
    context: JobContext, bad: Collection[str], job: str | None, topics: Collection[str] | None
) -> tuple[int, int]:
    """How many findings say that something was not read, and how many are of a bad severity."""
    covers = acknowledgements(context.options.known, context.started.date())
    table = context.small_rows("findings")
    if table is not None:
        mine = table if job is None else table.filter(pc.equal(table["job"], job))
        if topics is not None:
            mine = mine.filter(pc.is_in(mine["topic"], pa.array(list(topics), mine["topic"].type)))
        bad_rows = mine.filter(pc.is_in(mine["severity"], pa.array(list(bad), mine["severity"].type)))
        covered = sum(_is_covered(row, covers) for row in bad_rows.to_pylist()) if covers else 0
        return pc.sum(mine["incomplete"], min_count=0).as_py(), bad_rows.num_rows - covered
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    findings = context.table("findings")
    if job is not None:
        findings = findings.filter(f.col("job") == job)
    if topics is not None:
        findings = findings.filter(f.col("topic").isin(*topics))
    fails = f.col("severity").isin(*bad) & ~_covered(covers)
    (counts,) = findings.agg(f.count_if("incomplete"), f.count_if(fails)).collect()
    return counts[0], counts[1]


def _count_news(context: JobContext, bad: Collection[str]) -> int:
    """What the last comparison found new or back, unless a report has told it."""
    compared, reported = (last_run(context, job) for job in ("compare_audits", "write_report"))
    if compared is None or (reported is not None and compared[0] <= reported[0]):
        return 0
    run_id, table = compared[1], context.small_rows("problems")
    if table is None:
        from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

        problems = context.table("problems")  # first: a column needs the session that it begins
        is_news = f.col("change").isin(*_NEWS) & f.col("severity").isin(*bad) & f.col("acknowledged_by").isNull()
        return problems.filter(is_news & (f.col("run_id") == run_id)).count()
    rows = table.select(["change", "severity", "acknowledged_by", "run_id"]).to_pylist()
    return sum(
        row["change"] in _NEWS and row["severity"] in bad and row["acknowledged_by"] is None and row["run_id"] == run_id
        for row in rows
    )


def last_run(context: JobContext, job: str) -> tuple[datetime, str] | None:
    """When the last recorded run of a job started, and its id; None where there is none."""
    table = context.small_rows("runs")
    if table is not None:
        started_us = table["started"].cast(pa.int64())  # of times pyarrow makes objects by an import of pandas
        runs = table.select(["job", "run_id"]).append_column("us", started_us).to_pylist()
        last_us, run_id = max(((run["us"], run["run_id"]) for run in runs if run["job"] == job), default=(None, ""))
        return None if last_us is None else (_EPOCH + timedelta(microseconds=last_us), run_id)
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    last = f.max(f.struct("started", "run_id")).alias("last")
    (row,) = context.table("runs").filter(f.col("job") == job).agg(last).collect()
    return None if row["last"] is None else (row["last"][0].astimezone(UTC), row["last"][1])


def _is_covered(row: Mapping[str, Any], covers: Sequence[Acknowledgement]) -> bool:
    return any(one.covers(row["code"], row["subject"], row["topic"]) for one in covers)


def _covered(covers: Sequence[Acknowledgement]) -> Column:
    """Whether a row of `findings` is covered."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    def covered(one: Acknowledgement) -> Column:
        pattern = f.lit(one.pattern)
        about = [f.coalesce(f.like(f.col(name), pattern, f.lit(ESCAPE)), f.lit(False)) for name in ("subject", "topic")]
        code = f.lit(True) if one.code == "*" else f.col("code") == one.code
        return code & (about[0] | about[1])

    return reduce(or_, map(covered, covers), f.lit(False))
