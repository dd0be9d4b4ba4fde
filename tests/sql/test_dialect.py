"""Spark's SQL as DuckDB's: cases that both engines answer over equal rows, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.sql import conf_queries
from pulsar_backlog.sql.dialect import duck_sql, duck_words, functions_of, parsed, translated_functions
from pulsar_backlog.sql.dialect_rules import FUNCTIONS, NODES, TranslationError
from pulsar_backlog.sql.duck import connected

NEEDS_SPARK = True

CASES = [
    line
    for line in Path(__file__).with_name("dialect_cases.sql").read_text().splitlines()
    if line and not line.startswith("--")
]
ROWS = """
SELECT * FROM VALUES
  (1, 'a', CAST(7 AS bigint), CAST(2 AS bigint), 1.5D, 'a.b.c', array('x', 'y', 'z'), array(3, 1, 2),
   TIMESTAMP '2026-11-21 12:34:56.789', DATE '2026-11-21', named_struct('l', 5L, 'e', 6L), map('k', 1), true,
   CAST('abc' AS binary)),
  (2, 'b', CAST(-7 AS bigint), CAST(2 AS bigint), -2.5D, 'Hello World', array('x'), array(5),
   TIMESTAMP '2024-02-29 23:59:59.001', DATE '2024-02-29', named_struct('l', 1L, 'e', 2L), map('k', 2, 'j', 3), false,
   CAST('Zz' AS binary)),
  (3, 'a', CAST(9 AS bigint), CAST(NULL AS bigint), CAST(NULL AS double), CAST(NULL AS string),
   CAST(NULL AS array<string>), CAST(array() AS array<int>), CAST(NULL AS timestamp), CAST(NULL AS date),
   CAST(NULL AS struct<l:bigint,e:bigint>), CAST(NULL AS map<string,int>), CAST(NULL AS boolean),
   CAST(NULL AS binary)),
  (4, NULL, CAST(1795258718643 AS bigint), CAST(3 AS bigint), 3.5D, 'x=1,y=2', array('q', NULL, 'x'), array(1, NULL),
   TIMESTAMP '1999-12-31 00:00:00', DATE '1999-12-31', named_struct('l', CAST(NULL AS bigint), 'e', 2L), map('z', 9),
   true, CAST('' AS binary))
AS t(id, g, n, m, d, s, tags, nums, ts, day, pos, mp, ok, bin)
"""


def query_of(case: str) -> str:
    """A case that is a value is asked of each row of `t`."""
    return case if re.match("SELECT|WITH", case) else f"SELECT id, {case} AS v FROM t ORDER BY id"


def plain(value: Any) -> Any:
    """A value in which what the engines' Arrow writes otherwise is equal: kinds of decimals, zones of times."""
    match value:
        case list() | tuple():
            return [plain(one) for one in value]
        case dict():
            return {name: plain(one) for name, one in value.items()}
        case float() | Decimal():
            return round(float(value), 9)
        case datetime():
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return value


def values(table: pa.Table) -> list[list[Any]]:
    return [plain(list(row.values())) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[pa.Table]:
    frame = spark.sql(ROWS)
    frame.createOrReplaceTempView("t")
    yield frame.toArrow()
    spark.catalog.dropTempView("t")


@pytest.fixture(scope="module")
def connection(rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    with connected() as one:
        one.register("t", rows)
        yield one


@pytest.mark.parametrize("case", CASES)
def test_both_engines_give_equal_answers(spark: SparkSession, connection: duckdb.DuckDBPyConnection, case: str) -> None:
    query = query_of(case)
    theirs = spark.sql(query).toArrow()
    ours = connection.execute(duck_sql(query)).to_arrow_table()
    assert values(ours) == values(theirs)
    if re.search(r"\*|range|VALUES", query):
        assert ours.column_names == theirs.column_names


def test_each_function_and_each_rule_has_a_case() -> None:
    trees = [parsed(query_of(case)) for case in CASES]
    called = {name for tree in trees for name in functions_of(tree)}
    assert called == translated_functions()
    assert FUNCTIONS.keys() <= called
    kinds = {type(node) for tree in trees for node in tree.walk()}
    assert NODES.keys() <= kinds


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT typeof(1)", "typeof"),
        ("SELECT to_json(named_struct('a', 1))", "jsonformat"),
        ("SELECT array_distinct(array(1, 1))", "arraydistinct"),
        ("SELECT array_sort(array(1, 2), (a, b) -> b - a)", "array_sort by a lambda"),
        ("SELECT aggregate(array(1), 0, (a, x) -> a + x, a -> a * 10)", "aggregate with a last step"),
        ("SELECT extract(DOW FROM now())", "extract"),
        ("SELECT datediff(MONTH, DATE '2026-01-31', DATE '2026-02-01')", "timestampdiff"),
        ("SELECT x FROM t LATERAL VIEW OUTER explode(tags) v AS x", "LATERAL VIEW OUTER"),
        ("SELECT * FROM read_csv('/etc/passwd')", "readcsv"),
        ("SELECT reflect('java.lang.System', 'exit', 1)", "reflect"),
        ("SELECT 1; SELECT 2", "not one query"),
        ("DROP TABLE t", "not one query"),
        ("INSERT OVERWRITE TABLE t SELECT 1", "not one query"),
        ("CACHE TABLE t AS SELECT 1", "not one query"),
        ("SELECT FROM WHERE", "Line 1"),
        ("SELECT " + "(" * 5000 + "1" + ")" * 5000, "recursion"),
        ("", "not one query"),
    ],
)
def test_what_is_not_vouched_for_is_refused(query: str, reason: str) -> None:
    with pytest.raises(TranslationError, match=re.escape(reason)):
        duck_sql(query)


def test_values_of_a_query_keep_their_places() -> None:
    text = conf_queries.translated("SELECT a FROM $table_of AS t WHERE a IN ($many) AND b < $most -- $comment\n")
    assert re.sub(r"\s+", " ", text) == "SELECT a FROM $table_of AS t WHERE a IN ($many) AND b < $most"


def test_a_query_that_changed_after_its_twin_was_made_is_translated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conf_queries, "home", lambda: tmp_path)
    (tmp_path / "conf" / "log").mkdir(parents=True)
    (tmp_path / "conf" / "log" / "a.sql").write_text("-- One.\nSELECT collect_list(a) AS a FROM t\n")
    (path, text), _alike = conf_queries.twins(tmp_path / "conf")
    (tmp_path / "conf" / path).parent.mkdir(parents=True)
    (tmp_path / "conf" / path).write_text(text)
    assert conf_queries.duck_query("log", "a") == text
    (tmp_path / "conf" / "log" / "a.sql").write_text("-- Two.\nSELECT collect_list(b) AS b FROM t\n")
    assert "LIST(b)" in conf_queries.duck_query("log", "a")


def test_a_query_that_both_read_alike_has_no_twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conf_queries, "home", lambda: tmp_path)
    (tmp_path / "conf" / "log").mkdir(parents=True)
    query = tmp_path / "conf" / "log" / "a.sql"
    query.write_text("-- One.\nselect a, 'B' as c FROM t WHERE a = $most\n")
    ((path, text),) = conf_queries.twins(tmp_path / "conf")
    (tmp_path / "conf" / path).parent.mkdir(parents=True)
    (tmp_path / "conf" / path).write_text(text)
    monkeypatch.setattr(conf_queries, "translated", lambda _: "translated")
    assert conf_queries.duck_query("log", "a") == query.read_text()
    query.write_text("-- Changed.\nSELECT a FROM t\n")
    assert conf_queries.duck_query("log", "a") == "translated"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT 'a'", "SELECT 'A'"),  # texts are not names
        ('SELECT "a"', 'SELECT "A"'),
        ("SELECT a != b", "SELECT a <> b"),
        (r"SELECT 'a\\b'", r"SELECT 'a\b'"),  # no escape to DuckDB
        ("SELECT a, b", "SELECT a b"),
    ],
)
def test_texts_that_duckdb_may_read_otherwise_are_not_alike(one: str, other: str) -> None:
    assert duck_words(one) != duck_words(other)
    assert duck_words(one) == duck_words(f"-- Words.\n{one}".replace("SELECT", " select "))
