"""Chunks of the topics that changed put together: `jobs/assemble_chunks.py` where there is news."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.reconciliation.segments import findings_of_segments
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult
from pulsar_backlog.sql.engines import MAX_TASK_BYTES, QueryEngine, query_engine
from pulsar_backlog.steps.chunk_findings import TopicFacts, findings_of_chunks
from pulsar_backlog.steps.chunk_rows import name_chunk_entries
from pulsar_backlog.steps.finding_rows import noticed_findings
from pulsar_backlog.steps.folding import fold
from pulsar_backlog.steps.known_state import state_by_ledgers
from pulsar_backlog.steps.ledger_chains import TABLES_ASKED, findings_of_chains
from pulsar_backlog.steps.log_edges import edge_rows, log_edges
from pulsar_backlog.steps.order_findings import findings_of_order
from pulsar_backlog.steps.segments import findings_of_ledgers, segment_rows, stored_segments, transaction_rows
from pulsar_backlog.steps.topic_inputs import FOLD_TABLES, changes_of_fold, open_topics
from pulsar_backlog.steps.topic_stats import topic_stats

MADE_HERE = ("chunked_messages", "segments", "transactions")
_NAMELESS = "SELECT count(*) AS ledgers FROM ledgers WHERE selected AND topic IS NULL"


def assemble_topics(context: JobContext, digest: str, tables: Sequence[str]) -> JobResult:
    """Fold the chunks of the topics that changed, write publications, roles, statistics and findings.

    Args:
        context: of the job.
        digest: of its inputs.
        tables: that it reads.
    """
    with query_engine(context, FOLD_TABLES) as engine:
        state = state_by_ledgers(context, engine)
        changes = changes_of_fold(context, engine, state)
    changes.begin()
    rows = {} if changes.is_empty else _assemble(context, changes.context, changes.of_topics(state), tables)
    return JobResult(digest, rows=rows | {"topic_digests": changes.finish(*open_topics(changes.context))})


def _assemble(
    context: JobContext, part: JobContext, state: ClusterState | None, tables: Sequence[str]
) -> dict[str, int]:
    with query_engine(part, tables, MAX_TASK_BYTES) as engine:
        _name_relations(engine)
        edges = log_edges(edge_rows(engine), engine, state, (context.options.grace_seconds or 0) * 1000)
        rows = fold(part, engine, edges)
        segments = stored_segments(engine, state)
        of_ledgers = list(findings_of_ledgers(engine, segments, state))
        has_nameless = bool(engine.rows({"": _NAMELESS})[""][0]["ledgers"])
        rows["segments"] = context.replace("segments", segment_rows(segments, context.cluster))
        rows["transactions"] = context.replace("transactions", transaction_rows(state, context.cluster))
    chains = []
    if has_nameless:  # entries are read for nothing else
        with query_engine(part, TABLES_ASKED) as engine:
            chains = list(findings_of_chains(engine))
    with query_engine(part, (*tables, *MADE_HERE)) as engine:
        _name_relations(engine)
        limit_bytes = state.settings.number("maxMessageSize") if state else None
        rows["topic_stats"] = part.replace("topic_stats", topic_stats(engine, context.cluster, limit_bytes))
        absent = {topic: edge.absent_ledgers for topic, edge in edges.items()}
        of_chunks = findings_of_chunks(engine, TopicFacts.of(edges, state), limit_bytes)
        noticed = of_chunks, findings_of_order(engine, absent)
        findings = noticed_findings(part, engine, *noticed)
        others = [*chains, *of_ledgers, *findings_of_segments(segments, state)]
        replace_findings(part, with_findings(part, findings, others))
    return rows


def _name_relations(engine: QueryEngine) -> None:
    engine.materialize("producers", engine.sql("log", "producers", {}))
    name_chunk_entries(engine)
