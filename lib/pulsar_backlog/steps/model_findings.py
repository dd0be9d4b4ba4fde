"""Findings of the consumer models: per topic, what the log does to whom, and where."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS
from pulsar_backlog.findings import CATALOGUE, MAX_EVIDENCE, count_sentences
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
    slow: dict[str, int | str] = {"expiry_ms": DEFAULT_EXPIRY_MS, "complete": listed(COMPLETE)}
    values: dict[str, dict[str, int | str]] = {
        "overflows": _words("C19"),
        "slow_messages": _words("C20", expiry_seconds=DEFAULT_EXPIRY_MS // 1000) | slow,
        "permit_leaks": _words("C32"),
        "damages": _words_of_damages() | {"doubt": DOUBT_OF_ROW},
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


def _words(code: str, **numbers: int) -> dict[str, int | str]:
    """SQL: a code, its sentence with numbers in their places, and what each client model adds to it."""
    (sentence,) = count_sentences(code).values()
    for name, number in numbers.items():
        sentence = sentence.replace(f"{{{name}}}", str(number))
    return {
        "code": portable_literal(code), "message": portable_literal(sentence),
        "of_model": portable_literal(CATALOGUE[code].counted_of_model),
    }  # fmt: skip


def _words_of_damages() -> dict[str, int | str]:
    """The same of each kind of damage."""
    codes = sorted({*DAMAGE_CODES.values()})
    return {
        "code": case_of("damage", DAMAGE_CODES),
        "message": case_of("code", count_sentences(*codes)),
        "of_model": case_of("code", {code: CATALOGUE[code].counted_of_model for code in codes}),
    }
