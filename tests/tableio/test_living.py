"""Rows of ledgers that are gone: in the tables, and in nothing that a job reads of them, whoever answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql import engines
from pulsar_backlog.sql.engines import DuckEngine, QueryEngine, SparkEngine
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.living import BY_LEDGER
from tests.small_tables import write_tables

NEEDS_SPARK = True


@pytest.fixture
def context(spark: SparkSession, tmp_path: Path) -> JobContext:
    """Tables of two clusters, each with the ledgers 1 and 2, of which ledger 1 of one cluster is gone."""
    names = {*BY_LEDGER, "ledgers"}
    rows = [{"cluster": cluster, "ledger_id": id_, "topic": f"t{id_}"} for cluster in ("c", "d") for id_ in (1, 2)]
    place = {"ledger_id": 1, "entry_id": 0}
    placed = [{**row, "first": {**place, "index": 0}, "last_entry": place} for row in rows]
    given = {name: placed if name == "producer_facts" else rows for name in names}
    write_tables(tmp_path, runs=[], gone_ledgers=rows[:1], **given)
    table_cache.clear()
    return JobContext(lambda: spark, "job", Options(out=str(tmp_path), cluster="c"), now())


def test_which_tables_are_written_ledger_by_ledger() -> None:
    assert {
        "entries", "scans", "rejects", "ledger_facts", "producer_facts", "entry_spans", "noted_entries"
    } == BY_LEDGER  # fmt: skip


@pytest.mark.parametrize("name", sorted(BY_LEDGER))
def test_what_a_job_reads(context: JobContext, name: str) -> None:
    assert [row["ledger_id"] for row in context.table(name).collect()] == [2]
    assert context.table(name).columns[:2] == ["cluster", "topic"]
    assert context.rows(name) == 1
    few = context.small_rows(name)
    assert few is None if name == "entries" else few is not None and few["ledger_id"].to_pylist() == [2]


def test_what_is_replaced_as_a_whole_is_read_as_it_is(context: JobContext) -> None:
    assert context.table("ledgers").count() == 2


@pytest.mark.parametrize(
    ("engine", "rows", "most"),
    [(DuckEngine, table_cache.MAX_ROWS, 0), (DuckEngine, -1, engines.MAX_BYTES), (SparkEngine, -1, -1)],
)
def test_who_answers(
    context: JobContext, engine: type[QueryEngine], rows: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_cache, "MAX_ROWS", rows)
    monkeypatch.setattr(engines, "MAX_BYTES", most)
    names = [name for name in sorted(BY_LEDGER) if name != "entries"]
    with context.resources, engines.query_engine(context, [*names, "ledgers"]) as asked:
        assert isinstance(asked, engine)
        found = asked.rows({name: f"SELECT ledger_id FROM {name} ORDER BY 1" for name in [*names, "ledgers"]})
    assert {name: [row["ledger_id"] for row in of] for name, of in found.items()} == {
        "ledgers": [1, 2], **{name: [2] for name in names}
    }  # fmt: skip
