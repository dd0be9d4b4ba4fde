"""What there is to ask: each table and view with its sentence, the same from both engines, however one asks."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.information_schema import as_query
from pulsar_backlog.sql.query import Engine
from pulsar_backlog.sql.view_columns import view_columns
from pulsar_backlog.sql.views import views
from pulsar_backlog.tables import TABLES
from tests.auditing import Audited
from tests.small_tables import write_tables
from tests.sql.printed import both, printed

NEEDS_SPARK = True


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("schema") / "out", runs=[], findings=[{"code": "information_schema"}])


def ask(out: Path, query: str, engine: Engine = "duckdb") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(printed(out, query, engine, form="csv"))))


@both
def test_show_tables_lists_tables_and_views_with_their_sentences(spark: object, out: Path, engine: Engine) -> None:
    rows = {row["name"]: (row["type"], row["comment"]) for row in ask(out, "SHOW TABLES", engine)}
    assert rows.keys() == TABLES.keys() | views().keys()
    assert rows["runs"] == ("BASE TABLE", TABLES["runs"].comment)
    assert rows["producers"] == ("VIEW", views()["producers"].splitlines()[0].removeprefix("-- "))
    assert {row["name"] for row in ask(out, "SHOW VIEWS", engine)} == views().keys()


@both
def test_describe_lists_columns_with_their_sentences(spark: object, out: Path, engine: Engine) -> None:
    for name, table in TABLES.items():
        described = ask(out, f"DESCRIBE {name}", engine) if name in ("entries", "runs") else []
        expected = [
            {
                "column_name": column.name,
                "data_type": column.type,
                "is_nullable": "YES" if column.nullable else "NO",
                "comment": column.comment,
            }
            for column in table.columns
        ]
        assert not described or described == expected
    producers = {row["column_name"]: row["data_type"] for row in ask(out, "DESCRIBE producers", engine)}
    assert producers["topic"] == "string"
    assert "binary" not in producers.values()


def test_columns_of_views_are_those_that_the_views_have(bundled: Audited, spark: object) -> None:
    from pulsar_backlog.sql.spark_query import spark_answer

    assert view_columns().keys() == views().keys()
    for view, columns in view_columns().items():
        with spark_answer(str(bundled.out), f"SELECT * FROM {view}") as answer:
            assert columns == answer._frame.dtypes


@both
@pytest.mark.parametrize(
    "query",
    [
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE comment LIKE '%ledger%'",
        "SELECT table_type, count(*) AS n FROM information_schema.tables GROUP BY table_type ORDER BY n",
        "SELECT t.comment FROM Information_Schema . TABLES AS t -- a comment\n WHERE table_name = 'runs'",
        "SELECT c.comment FROM information_schema.tables t JOIN information_schema.columns c USING (table_name) "
        "WHERE c.column_name = 'job' AND t.table_type = 'BASE TABLE' ORDER BY c.table_name",
        "SELECT 'information_schema.tables' AS text, code FROM findings",
        "SELECT n FROM (SELECT count(*) AS n FROM information_schema.tables) AS q",
    ],
)
def test_the_information_schema_is_asked_like_any_table(spark: object, out: Path, engine: Engine, query: str) -> None:
    rows = ask(out, query, engine)
    assert rows
    assert sorted(map(str, rows)) == sorted(map(str, ask(out, query, "duckdb")))
    if "text" in rows[0]:
        assert rows == [{"text": "information_schema.tables", "code": "information_schema"}]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("show tables;", "SHOW TABLES"),
        ("  SHOW ALL TABLES ; -- all", "SHOW TABLES"),
        ("-- which are there?\nSHOW TABLES", "SHOW TABLES"),
        ("/* ; */ desc runs", "DESCRIBE runs"),
        ('DESCRIBE TABLE "Runs"', "DESCRIBE runs"),
        ("describe extended `runs`;;", "DESCRIBE runs"),
        ("SHOW COLUMNS FROM runs", "DESCRIBE runs"),
        ("SHOW COLUMNS IN runs", "DESCRIBE runs"),
    ],
)
def test_words_that_mean_the_same(text: str, same: str) -> None:
    assert as_query(text) == as_query(same) != same


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'SHOW TABLES'",
        "SELECT 1 -- information_schema.tables",
        "DESCRIBE SELECT 1 AS n",
        "SHOW TABLES LIKE 'r*'",
    ],
)
def test_what_is_no_question_about_tables_stays_as_it_is(query: str) -> None:
    assert as_query(query) == query


@both
def test_a_folder_without_tables_has_nothing_to_list(spark: object, tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(UsageError, match="holds no tables"):
        ask(tmp_path, "SHOW TABLES", engine)
