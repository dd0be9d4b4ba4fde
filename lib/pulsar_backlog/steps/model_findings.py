"""Findings of the consumer models: per topic, what the log does to whom, and where."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS
from pulsar_backlog.findings import MAX_EVIDENCE, count_sentences
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.finding_rows import DOUBT_OF_ROW, case_of, listed, noticed_findings
from pulsar_backlog.terms import COMPLETE

DAMAGE_CODES = {
    "reconnect_loop": "C41",
    "process_death": "C42",
    "panic": "C42",
    "query_failure": "C42",
    "permit_stall": "C43",
    "dispatch_stall": "C43",
}
_CODES = {"undelivered": "C21", "mixtures": "C40"}
"""Code of the findings of each query of conf/clients that gives messages with their models."""

TABLES_ASKED = ("consumer_outcomes", "client_forecasts", "chunked_messages")


def findings_of_models(context: JobContext, engine: QueryEngine) -> Rows:
    """Rows of `findings` from all that the models said, and from the spans of whole messages.

    Args:
        context: of the job.
        engine: knows `TABLES_ASKED`.
    """
    values: dict[str, dict[str, int | str]] = {
        "overflows": {},
        "slow_messages": {"expiry_ms": DEFAULT_EXPIRY_MS, "complete": listed(COMPLETE)},
        "permit_leaks": {},
        "damages": {"code": case_of("damage", DAMAGE_CODES), "doubt": DOUBT_OF_ROW},
    }
    queries = [engine.sql("clients", name, given) for name, given in values.items()]
    sentences = count_sentences(*_CODES.values())
    for name, code in _CODES.items():
        engine.materialize(name, engine.sql("clients", name, {"complete": listed(COMPLETE)}))
        of_name: dict[str, int | str] = {
            "code": portable_literal(code), "message": portable_literal(sentences[code]), "messages": name,
            "max_evidence": MAX_EVIDENCE, "doubt": DOUBT_OF_ROW,
        }  # fmt: skip
        queries.append(engine.sql("clients", "messages_of_models", of_name))
    return noticed_findings(context, engine, *queries)
