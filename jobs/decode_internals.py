"""The cluster's own state in ledgers, decoded: schemas, policies, transactions, cursors, compaction, delayed messages.

Reads: `internal_copies` and `ledgers` (the plan), the ledgers themselves; saved state, above all a dump of the metadata
store.
Writes: `internal_ledgers`, one row for every internal ledger with a verdict; a table for each kind; `cut_off_entries`;
its `findings`.
Guarantees: what cannot be read costs a row; nothing is called lost or leaked that the saved metadata do not prove.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse

from pulsar_backlog.arguments import JobArguments, job_parser, source_of
from pulsar_backlog.internals.findings import findings_of_internals
from pulsar_backlog.internals.references import knowledge_of
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps.cut_off import cut_off_rows
from pulsar_backlog.steps.internal_answers import LOG_TABLES, answers_of
from pulsar_backlog.steps.internal_ledgers import planned_rows, read_internals
from pulsar_backlog.steps.internal_tables import INTERNAL_TABLES, as_table, tables_of
from pulsar_backlog.steps.known_state import state_by_ledgers, state_inputs

JOB = "decode_internals"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, decode)


def decode(context: JobContext) -> JobResult:
    """Decode, judge, write; where plan and saved state are those of the last time, nothing."""
    plan: dict[str, object] = {name: context.version(name) for name in ("internal_copies", "ledgers", *LOG_TABLES)}
    digest = fingerprint(context.options, {**plan, **state_inputs(context)})
    if all(context.has(name) for name in INTERNAL_TABLES) and is_unchanged(context, digest):
        return JobResult(digest, changed=False)
    with query_engine(context, ("ledgers",)) as engine:
        knowledge = knowledge_of(state_by_ledgers(context, engine))
    source = source_of(context.options, context.live())
    internals = read_internals(context, source, knowledge)
    tables = tables_of(context.cluster, knowledge, internals.decoded, internals.rows)
    cut_off = cut_off_rows(context, source, knowledge, planned_rows(context))
    tables["cut_off_entries"] = as_table("cut_off_entries", context.cluster, cut_off)
    counts = {name: context.replace(name, rows) for name, rows in tables.items()}
    findings = list(findings_of_internals(internals.rows))
    with answers_of(context, counts) as answers:
        replace_findings(context, findings if answers is None else with_findings(context, answers, findings))
    return JobResult(digest, rows=counts, bytes_read=internals.bytes_read)


if __name__ == "__main__":
    run_process(main)
