"""Who answers a report's questions: this process or Spark, and that both say the same of a real audit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import check_quality
from pulsar_backlog.config import home
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import Options
from pulsar_backlog.report.result import result_json
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql import engines
from pulsar_backlog.sql.engines import DuckEngine, SparkEngine
from pulsar_backlog.steps.log_edges import _unproven_seams, edge_rows
from pulsar_backlog.steps.report_model import Gathering
from pulsar_backlog.tableio import table_cache, table_logs
from tests.auditing import Audited
from tests.small_tables import write_tables

NEEDS_SPARK = True

LONG_AGO = now()


def context_of(spark: SparkSession, out: Path) -> JobContext:
    return JobContext(lambda: spark, "job", Options(out=str(out), cluster="demo"), LONG_AGO)


def test_both_engines_tell_the_same_of_the_bundled_audit(
    spark: SparkSession, bundled: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, checked, ends = [], [], []
    for engine, rows, most in (
        (DuckEngine, table_cache.MAX_ROWS, 0), (DuckEngine, -1, engines.MAX_BYTES), (SparkEngine, -1, -1),
    ):  # fmt: skip
        monkeypatch.setattr(table_cache, "MAX_ROWS", rows)
        monkeypatch.setattr(engines, "MAX_BYTES", most)
        table_cache.clear()
        context = context_of(spark, bundled.out)
        with context.resources, engines.query_engine(context) as asked:
            assert isinstance(asked, engine)
            gathering = Gathering(context, asked)
            told.append(
                [
                    json.loads(json.dumps(part, default=vars, sort_keys=True))
                    for part in (result_json(gathering.model()), vars(gathering.model()))
                ]
            )
            edges = [{name: tuple(sorted(value)) if isinstance(value, list | set) and name != "hurt" else value
                for name, value in row.items()} for row in edge_rows(asked)]  # fmt: skip
            edges.append({"seams": _unproven_seams(asked)})
        checked.append(check_quality.summaries(context))
        ends.append(sorted(edges, key=str))
    assert len(told[0][1]["topics"]) > 50
    assert len(ends[0]) > 50
    for other in (1, 2):
        assert told[0] == told[other]
        assert checked[0] == checked[other]
        assert ends[0] == ends[other]


@pytest.mark.parametrize(
    "path", sorted((home() / "conf").glob("*/*.sql")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_each_query_begins_with_a_sentence(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith("-- ")
    assert first.endswith(".")


def test_spark_answers_where_tables_are_its_own(
    spark: SparkSession, bundled: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_logs, "tasks_share_disk", lambda: False)
    context = context_of(spark, bundled.out)
    with context.resources, engines.query_engine(context) as asked:
        assert isinstance(asked, SparkEngine)
        (row,) = asked.rows({"n": "SELECT count(*) AS n FROM ledgers"})["n"]
        assert row["n"] > 0
    assert not spark.catalog.tableExists("quality_results")


def test_relations_come_back_after_an_engine_within_the_block(
    spark: SparkSession, bundled: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_logs, "tasks_share_disk", lambda: False)
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    table_cache.clear()
    context = context_of(spark, bundled.out)
    with context.resources, engines.query_engine(context, ("ledgers", "scans")) as outer:
        with engines.query_engine(context, ("ledgers", "runs")) as inner:
            assert isinstance(inner, SparkEngine)
            inner.materialize("scans", "SELECT 1 AS n")
        (row,) = outer.rows({"n": "SELECT count(*) AS n FROM ledgers JOIN scans USING (ledger_id)"})["n"]
        assert row["n"] > 0
        assert not spark.catalog.tableExists("runs")
    assert not spark.catalog.tableExists("ledgers")


def test_all_tables_are_counted_where_no_log_tells_their_rows(
    spark: SparkSession, bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(bundled.out / "tables", tmp_path / "tables")
    write_tables(tmp_path, messages=[{"cluster": "demo", "topic": "t"}, {"cluster": "other", "topic": "t"}])
    context = context_of(spark, tmp_path)
    with context.resources, engines.query_engine(context) as asked:
        told = Gathering(context, asked)._sizes()
    monkeypatch.setattr(table_logs, "tasks_share_disk", lambda: False)
    with context.resources, engines.query_engine(context) as asked:
        counted = Gathering(context, asked)._sizes()
    assert told["messages"] == 1
    assert told == counted


def test_a_table_that_cannot_be_read_is_one_sentence(
    spark: SparkSession, bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(bundled.out, tmp_path / "out")
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    (file, *_) = (tmp_path / "out" / "tables" / "chunked_messages").glob("*.parquet")
    file.write_bytes(b"PAR1" + file.read_bytes()[4:-8])
    with (
        pytest.raises(UsageError, match=r"is damaged or gone: .*chunked_messages"),
        engines.query_engine(context_of(spark, tmp_path / "out")) as asked,
    ):
        asked.rows({"n": "SELECT count(state) AS n FROM chunked_messages"})
