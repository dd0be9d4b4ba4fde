"""Data-quality rules of conf/quality, run by Great Expectations on one row per ledger, per topic and for the audit.

Reads: `ledgers`, `scans`, `ledger_facts`, `rejects`, `chunked_messages`, `chunks`, `findings`; of `entries` the number
of rows. Writes: `quality_results`, and Data Docs under the output folder.
Guarantees: rules never run over single entries; a rule that fails is a row, never a failed job.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
from typing import TYPE_CHECKING, Any

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.config import home
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.tableio.beside import beside

if TYPE_CHECKING:
    from pulsar_backlog.quality.summaries import Summary

JOB = "check_quality"
DATA_DOCS, FRONT_PAGE = "data_docs", "index.html"
INPUTS = ("ledgers", "scans", "ledger_facts", "entries", "rejects", "chunked_messages", "chunks", "findings")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, run_rules, inputs=INPUTS)


def run_rules(context: JobContext) -> JobResult:
    """Check the summaries, write results and Data Docs."""
    out = context.out
    files = beside(out)
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    digest = fingerprint(context.options, inputs)
    if is_unchanged(context, digest) and files.exists(f"{DATA_DOCS}/{FRONT_PAGE}"):
        return JobResult(digest, changed=False)
    from pulsar_backlog.quality.rule_worker import check_rules, start_rule_worker  # noqa: PLC0415 - of no use without news

    start_rule_worker()
    with files.folder(DATA_DOCS, last=FRONT_PAGE) as pages:
        results = check_rules(home() / "conf" / "quality", summaries(context), pages)
    rows = [{"cluster": context.cluster} | result for result in results]
    context.replace("quality_results", rows)
    return JobResult(digest, rows={"quality_results": len(rows)})


def summaries(context: JobContext) -> dict[str, list[dict[str, Any]]]:
    """Rows of the summaries: one per ledger, per topic and for the audit."""
    from pulsar_backlog.sql.duck_values import literal  # noqa: PLC0415
    from pulsar_backlog.sql.engines import query_engine  # noqa: PLC0415

    given: dict[Summary, dict[str, int | str]] = {
        "ledger_summary": {
            "unsized_kinds": ", ".join(literal(name) for name, kind in STORAGE_KINDS.items() if not kind.is_sized)
        },
        "topic_summary": {},
        "audit_summary": {
            "stored": context.rows("entries"),
            "present": sum(context.has(name) for name in INPUTS),
            "expected": len(INPUTS),
            "run_at_ms": round(context.started.timestamp() * 1000),
            "left_unread": literal(LEFT_UNREAD),
        },
    }
    with query_engine(context, [name for name in INPUTS if name != "entries"]) as engine:
        return engine.rows({name: engine.sql("quality", name, values) for name, values in given.items()})


if __name__ == "__main__":
    run_process(main)
