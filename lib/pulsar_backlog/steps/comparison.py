"""What an audit finds wrong, against what the one before found: rows of `problems` and `changes`; and `backlogs`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from pulsar_backlog.chunks.verdict_findings import NO_LOSS, STATE_CODES
from pulsar_backlog.findings import CATALOGUE, Severity
from pulsar_backlog.findings.acknowledgements import Acknowledgement
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine, query_engine
from pulsar_backlog.steps.compared_tables import SOURCES
from pulsar_backlog.steps.finding_rows import case_of, listed
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import COMPLETE, INCOMPLETE

CHANGES = ("new", "back", "worse", "healed", "gone")
"""What is news about a problem."""

_PASSING = ("S17", "S43", "S44")
"""Codes of what is said of one audit: ledgers that changed in or left the source since the one before."""
_DAMAGED = "C34"
"""Code of a message of which every chunk is stored and no good copy of some."""
_UNSURE: Severity = "warning"
"""Of a lost message whose loss nobody can tell; of any other, that of its state's finding."""
_ACKNOWLEDGEMENTS = pa.schema([(name, pa.string()) for name in ("code", "pattern", "owner", "last_day")])
_LAST_RUN = "SELECT run_id FROM problems ORDER BY compared_at DESC LIMIT 1"
_FINISHED = "SELECT run_id FROM runs WHERE job = {}"
_CHANGED = "SELECT * FROM compared WHERE run_id = {} AND change IN ({})"


def compare(context: JobContext, covers: Sequence[Acknowledgement]) -> dict[str, int]:
    """Replace the cluster's `problems`, and write what changed and the backlogs: how many rows were written, by table.

    What a comparison that was killed has written is compared once more, and replaced.
    """
    names = (*SOURCES, "saved_states", "problems", "runs")
    with query_engine(context, names) as engine:
        unfinished = _unfinished(context, engine)
        at_ms = round(context.started.timestamp() * 1000)
        put_together(engine, covers, context.run_id, at_ms, unfinished)
        given = {"cluster": context.cluster}
        problems = engine.table("SELECT * FROM compared", TABLES["problems"], given)
        query = _CHANGED.format(portable_literal(context.run_id), listed(CHANGES))
        changes = engine.table(query, TABLES["changes"], given)
        backlogs = engine.table(backlogs_query(engine, context.run_id, at_ms), TABLES["backlogs"], given)
        if isinstance(problems, DataFrame):  # it is read from the table that it replaces
            problems, changes = context.cache(problems), context.cache(changes)
            changes.count()
        count = context.replace("problems", problems)
        of_run = {"changes": changes, "backlogs": backlogs}
        return {"problems": count} | {name: _replace(context, name, of_run[name], unfinished) for name in of_run}


def backlogs_query(engine: QueryEngine, run_id: str, at_ms: int) -> str:
    """Rows of `backlogs` without the cluster, as this audit saw them."""
    return engine.sql("changes", "backlogs", {"run_id": portable_literal(run_id), "at_ms": at_ms})


def put_together(
    engine: QueryEngine, covers: Sequence[Acknowledgement], run_id: str, at_ms: int, unfinished: str
) -> None:
    """Make the relation `compared`, in the columns of `problems` but `cluster`.

    Args:
        engine: knows the tables.
        covers: what people know of already.
        run_id: of this comparison.
        at_ms: when it started.
        unfinished: run that was killed after it wrote `problems`; empty where none was.
    """
    rows = [
        {"code": one.code, "pattern": one.pattern, "owner": one.owner, "last_day": one.until.isoformat()}
        for one in covers
    ]
    engine.register("acknowledgements", pa.Table.from_pylist(rows, schema=_ACKNOWLEDGEMENTS))
    codes = {**{str(state): code for state, code in STATE_CODES.items()}, "whole": _DAMAGED, "out_of_order": _DAMAGED}
    present: dict[str, int | str] = {
        "stall_severity": case_of("code", {code: kind.severity for code, kind in CATALOGUE.items()}),
        "state_code": case_of("state", codes),
        "state_severity": case_of("state", {state: CATALOGUE[code].severity for state, code in codes.items()}),
        "unsure_severity": portable_literal(_UNSURE),
        "complete": listed(sorted(COMPLETE)),
        "incomplete": listed(sorted(INCOMPLETE)),
        "no_loss": portable_literal(NO_LOSS),
    }
    engine.materialize("present", engine.sql("changes", "present", present))
    values: dict[str, int | str] = {
        "unfinished": portable_literal(unfinished),
        "run_id": portable_literal(run_id),
        "at_ms": at_ms,
        "passing": listed(_PASSING),
    }
    engine.materialize("compared", engine.sql("changes", "compared", values))


def _unfinished(context: JobContext, engine: QueryEngine) -> str:
    """The run of the last comparison where it is not recorded, because it was killed; else nothing."""
    rows = engine.rows({"last": _LAST_RUN, "finished": _FINISHED.format(portable_literal(context.job))})
    last = {str(row["run_id"]) for row in rows["last"]} - {str(row["run_id"]) for row in rows["finished"]}
    return next(iter(last), "")


def _replace(context: JobContext, name: str, rows: Rows, unfinished: str) -> int:
    """Replace what this run wrote into a table, and what the one wrote that was killed."""
    part = context.slice.where(run_id=[context.run_id, unfinished])
    return context.store.replace(TABLES[name], rows, part)
