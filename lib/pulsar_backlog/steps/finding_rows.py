"""Rows of `findings` by query: what was noticed, in the catalogue's terms, and one finding per topic and code."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from pulsar_backlog.findings import CATALOGUE, MAX_EVIDENCE
from pulsar_backlog.frames.codes import CODED
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine, spark_engine
from pulsar_backlog.sql.sureness import doubt_of
from pulsar_backlog.tables import TABLES

DOUBT_OF_ROW = doubt_of("sureness")
"""SQL: how doubtful a row is; of a group, the most doubtful one counts."""


def case_of(value: str, words: Mapping[Any, str]) -> str:
    """SQL: what `words` says of a value; null where it says nothing. All words are this program's own."""
    whens = " ".join(f"WHEN {portable_literal(name)} THEN {portable_literal(word)}" for name, word in words.items())
    return f"CASE {value} {whens} END"


def listed(words: Iterable[str]) -> str:
    """SQL: words of this program, between commas."""
    return ", ".join(map(portable_literal, words))


def noticed_findings(context: JobContext, engine: QueryEngine, *queries: str) -> Rows:
    """Rows of `findings` of the job: what queries noticed, each with the columns of `conf/findings/counted.sql`."""
    engine.create_view("noticed", " UNION ALL ".join(f"({query}\n)" for query in queries))
    named = {
        "name": case_of("code", {code: kind.name for code, kind in CATALOGUE.items()}),
        "severity": case_of("code", {code: kind.severity for code, kind in CATALOGUE.items()}),
    }
    given = {"cluster": context.cluster, "job": context.job}
    return engine.table(engine.sql("findings", "findings", named), TABLES["findings"], given)


def counted(engine: QueryEngine, codes: Mapping[str, str], *queries: str, incomplete: Collection[str] = ()) -> str:
    """SQL of what is noticed where places are counted: one row per topic and code, as `conf/findings/counted.sql`.

    Args:
        engine: answers the query.
        codes: what is counted, by code; other codes are left out.
        queries: rows as `frames.codes.CODED`.
        incomplete: codes of what was unreadable, so that the audit is not complete.
    """
    engine.create_view("coded", " UNION ALL ".join(f"({query}\n)" for query in queries))
    values: dict[str, int | str] = {
        "counted": case_of("code", codes),
        "codes": listed(codes),
        "doubt": DOUBT_OF_ROW,
        "max_evidence": MAX_EVIDENCE,
        "incomplete": listed(incomplete or ("",)),
    }
    return engine.sql("findings", "counted", values)


def counted_findings(
    context: JobContext, places: DataFrame, codes: Mapping[str, str], incomplete: Collection[str] = ()
) -> Rows:
    """Rows of `findings` where the places are a frame, as `frames.codes.CODED`; the others as for `counted`."""
    with spark_engine(context, {"places": places.select(*CODED)}) as engine:
        query = counted(engine, codes, "SELECT * FROM places", incomplete=incomplete)
        return noticed_findings(context, engine, query)
