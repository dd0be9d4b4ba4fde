"""Internal ledgers decoded and judged: `jobs/decode_internals.py` where there is news."""

from __future__ import annotations

from pulsar_backlog.arguments import source_of
from pulsar_backlog.internals.findings import findings_of_internals
from pulsar_backlog.internals.references import knowledge_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps.cut_off import cut_off_rows
from pulsar_backlog.steps.internal_answers import answers_of
from pulsar_backlog.steps.internal_ledgers import planned_rows, read_internals
from pulsar_backlog.steps.internal_tables import as_table, tables_of
from pulsar_backlog.steps.known_state import state_by_ledgers


def decode_all(context: JobContext, digest: str) -> JobResult:
    """Decode, judge, write.

    Args:
        context: of the job.
        digest: of its inputs.
    """
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
