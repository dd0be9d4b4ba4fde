"""SQL over the tables and views of the bundled audit."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from pulsar_backlog.errors import UsageError
from pulsar_backlog.storage.query import MAX_ROWS, run_query
from tests.auditing import Audited

VIEWS = sorted(path.stem for path in (Path(__file__).parents[2] / "conf" / "sql").glob("*.sql"))


def ask(audited: Audited, query: str, *, terminal: bool = False) -> str:
    out = io.StringIO()
    run_query(str(audited.out), query, Console(file=out, force_terminal=terminal, width=400))
    return out.getvalue()


def test_tables_by_name(bundled: Audited) -> None:
    answer = ask(bundled, "SELECT state, count(*) AS n FROM chunked_messages GROUP BY state ORDER BY state")
    counted = bundled.result["counts"]["by_state"]
    assert answer == "state\tn\n" + "".join(f"{state}\t{counted[state]}\n" for state in sorted(counted))


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_answers(bundled: Audited, view: str) -> None:
    header, *rows = ask(bundled, f"SELECT * FROM {view}").splitlines()
    assert "cluster" in header.split("\t")
    assert rows or view == "rejected_entries"
    assert all(line.count("\t") == header.count("\t") for line in rows)


def test_values_cannot_steer_a_terminal(bundled: Audited) -> None:
    query = (
        "SELECT concat('a', chr(27), '[31m', chr(10), chr(9), '[bold]b') AS hostile, X'0E01' AS bytes, NULL AS nothing"
    )
    assert ask(bundled, query) == "hostile\tbytes\tnothing\na\\x1b[31m\\x0a\\x09[bold]b\t0e01\t\n"
    drawn = ask(bundled, query, terminal=True)
    assert "a\\x1b[31m\\x0a\\x09[bold]b" in drawn


def test_a_column_name_cannot_steer_a_terminal(bundled: Audited) -> None:
    assert ask(bundled, "SELECT 1 AS `a\x1b[31m\tb`") == "a\\x1b[31m\\x09b\n1\n"


def test_a_long_answer_is_cut_and_says_so(bundled: Audited) -> None:
    lines = ask(bundled, f"SELECT id FROM range({MAX_ROWS + 1})").splitlines()
    assert len(lines) == 1 + MAX_ROWS + 1
    assert lines[-1].startswith(f"... more than {MAX_ROWS} rows")
    assert len(ask(bundled, f"SELECT id FROM range({MAX_ROWS})").splitlines()) == 1 + MAX_ROWS


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT", "end of input"),
        ("SELEC 1", "SELEC"),
        ("SELECT * FROM no_such_table", "no_such_table"),
        ("SELECT no_such_column FROM entries", "no_such_column"),
        ("SELECT 1/0", "zero"),  # found only when it runs
        ("SELECT CAST('x' AS INT)", "'x'"),
    ],
)
def test_bad_sql_is_one_sentence(bundled: Audited, query: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(bundled, query)
    (said,) = str(caught.value).splitlines()
    assert named in said
    assert "JVM" not in said
