"""Table functions that a query on DuckDB may call: none writes a file, or changes what DuckDB does."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck_scope import ALLOWED, REFUSED, refusal
from tests.small_tables import write_tables
from tests.sql.printed import printed

LOGGING = "enable_logging(level = 'trace', storage = 'file', storage_path = '{folder}/l')"
REFUSALS = {
    # This one wrote two files into the folder of `findings`.
    "SELECT length(write_log('x' || i, level := 'error', scope := 'database')), (SELECT count(*) FROM findings) "
    f"FROM range(30000) t(i) WHERE 0 = (SELECT count(*) FROM {LOGGING})": "enable_logging is refused, because",
    "SELECT * FROM findings, \"Enable_Logging\"(storage_path = '{folder}')": "enable_logging is refused",
    "SELECT * FROM findings, system.main.enable_profiling(save_location = '{folder}/x.json')": "enable_profiling is",
    f"WITH a AS (SELECT * FROM {LOGGING}) SELECT * FROM findings, a": "enable_logging is refused",
    "SELECT * FROM findings UNION ALL SELECT f.* FROM findings AS f, truncate_duckdb_logs()": "changes what DuckDB",
    "SELECT list_transform([1], x -> (SELECT count(*) FROM checkpoint())) FROM findings": "checkpoint is refused",
    "SELECT * FROM findings, query('SELECT * FROM enable_' || 'logging()')": "its arguments hold a query",
    "SELECT * FROM findings, json_execute_serialized_sql('')": "its arguments hold a query",
    "SELECT * FROM findings, LATERAL (SELECT * FROM disable_logging())": "disable_logging is refused",
    "FROM disable_logging() SELECT *": "disable_logging is refused",
}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "out", runs=[], findings=[{"code": "C01"}])


def stored(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("query", REFUSALS)
def test_functions_that_do_more_than_give_rows(out: Path, query: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The folders of the tables are those that DuckDB itself would let them write to."""
    before = stored(out)
    with pytest.raises(UsageError) as caught:
        printed(out, query.format(folder=out / "tables" / "findings"))
    (sentence,) = str(caught.value).splitlines()
    assert REFUSALS[query] in sentence
    assert stored(out) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM findings, range(1), unnest([1]), json_each('[1]')",
        "SELECT count(*) FROM findings WHERE code <> '\"type\":\"TABLE_FUNCTION\"' AND code <> 'enable_logging()'",
        f"SELECT {' + '.join(['1'] * 400)} - 399 AS n",
        "SELECT count(*) FROM duckdb_views() WHERE view_name = 'findings'",
        "SELECT count(*) FROM (SELECT * FROM (PIVOT findings ON code IN ('C01') USING count(*)))",
    ],
)
def test_all_others_are_called(out: Path, query: str) -> None:
    assert printed(out, query).split()[-1] == "1"


def test_every_table_function_of_this_duckdb_was_looked_at() -> None:
    kinds = "('table', 'table_macro')"
    rows = duckdb.sql(f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN {kinds}")
    names = {name for (name,) in rows.fetchall()}
    assert names - ALLOWED - set(REFUSED) == set(), "read what they do: then duck_scope has a place for them"
    assert (ALLOWED | set(REFUSED)) - names == set()
    assert not ALLOWED & set(REFUSED)


def test_what_is_no_select_cannot_be_listed() -> None:
    with duckdb.connect() as connection:
        assert refusal(connection, "EXPLAIN SELECT 1") == "its functions cannot be listed: write it as one SELECT"
        with pytest.raises(duckdb.ParserException):
            refusal(connection, "SELECT 1) AS a, (SELECT 1")
