"""The numbers of an audit, gathered from its tables and written where Prometheus finds them."""

from __future__ import annotations

from pathlib import Path

from pulsar_backlog.chunks.verdict_findings import NO_LOSS
from pulsar_backlog.errors import UsageError
from pulsar_backlog.report.metrics import BOUND, Numbers, exposition
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.finding_rows import listed
from pulsar_backlog.terms import COMPLETE, INCOMPLETE
from pulsar_backlog.whole_files import replacing

TABLES_OF_METRICS = ("subscriptions", "stalls", "chunked_messages", "findings", "problems", "runs", "topic_stats")
_ENTRIES = "SELECT CAST(coalesce(sum(entries), 0) AS bigint) AS entries FROM topic_stats"
_BYTES = "SELECT bytes_read FROM runs WHERE job = 'scan_entries' ORDER BY started DESC LIMIT 1"
_SECONDS = "SELECT job, seconds FROM runs ORDER BY started DESC LIMIT 32"


def write_metrics(context: JobContext, engine: QueryEngine, exit_code: int) -> None:
    """Write the file of `--metrics`, whole or not at all; nothing where none is named.

    Raises:
        UsageError: it cannot be written.
    """
    if context.options.metrics is not None:
        write_exposition(Path(context.options.metrics), exposition(_gathered(context, engine, exit_code)))


def write_exposition(path: Path, text: str) -> None:
    """Write the file of `--metrics`.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        with replacing(path) as part:
            part.write_text(text)
            part.chmod(0o644)  # another user's node_exporter reads it
    except OSError as error:
        raise UsageError(f"--metrics {path}: {error.strerror}") from error


def _gathered(context: JobContext, engine: QueryEngine, exit_code: int) -> Numbers:
    words: dict[str, int | str] = {
        "bound": BOUND,
        "complete": listed(sorted(COMPLETE)),
        "incomplete": listed(sorted(INCOMPLETE)),
        "no_loss": literal(NO_LOSS),
    }
    rows = engine.rows({
        "subscriptions": engine.sql("metrics", "subscriptions", {"bound": BOUND}),
        "topics": engine.sql("metrics", "topics", words),
        "totals": engine.sql("report", "totals", {}),
        "changes": engine.sql("report", "change_counts", {}),
        "entries": _ENTRIES,
        "bytes": _BYTES,
        "seconds": _SECONDS,
    })  # fmt: skip
    moment = now()
    began = context.audit_started
    of_jobs = {row["job"]: row["seconds"] for row in reversed(rows["seconds"])}
    return Numbers(
        cluster=context.cluster,
        at_ms=round(moment.timestamp() * 1000),
        seconds=sum(of_jobs.values()) if began is None else (moment - began).total_seconds(),
        exit_code=exit_code,
        read_bytes=next((row["bytes_read"] for row in rows["bytes"]), 0),
        entries=rows["entries"][0]["entries"],
        subscriptions=rows["subscriptions"],
        topics=rows["topics"],
        totals=rows["totals"],
        changes=rows["changes"],
    )
