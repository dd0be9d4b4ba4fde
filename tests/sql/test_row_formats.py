"""Rows as text: each format read back by a reader of its own, and a grid only where one can read it."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
from typer.testing import CliRunner

from pulsar_backlog.command_line import app
from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.query import MAX_ROWS, Engine, PrintFormat
from tests.auditing import Audited
from tests.small_tables import write_tables
from tests.sql.printed import both, printed

NEEDS_SPARK = True

HOSTILE = 'a,"b"|c\n\x1b[31m\u202e\r*_<b>d</b>'
ROWS = """
SELECT 1 AS n, code AS `odd, "name"`, CAST(NULL AS string) AS nothing, '' AS empty, unhex('00FF') AS bytes,
  0.5 AS half, publish FROM (SELECT code, TIMESTAMP'2026-11-24 12:00:00' AS publish FROM findings)
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("formats") / "out", runs=[], findings=[{"code": HOSTILE}])


def ask(
    out: Path, query: str, form: PrintFormat | None = None, engine: Engine = "duckdb", width: int | None = None
) -> str:
    """What is printed; with a width to a terminal."""
    console = {"force_terminal": width is not None, "width": width or 80, "color_system": None}
    return printed(out, query, engine, form=form, **console)


def to_file(out: Path, query: str, path: Path, *options: str) -> str:
    result = CliRunner().invoke(app, ["sql", str(out), query, "--to", str(path), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_bytes().decode()


def rows_for(engine: Engine) -> str:
    return ROWS.replace('`odd, "name"`', '"odd, ""name"""') if engine == "duckdb" else ROWS


@both
def test_csv_is_read_back_and_null_is_not_an_empty_text(
    spark: object, out: Path, tmp_path: Path, engine: Engine
) -> None:
    text = to_file(out, rows_for(engine), tmp_path / "x.csv", "--engine", engine)
    names, values = csv.reader(io.StringIO(text, newline=""))
    assert names == ["n", 'odd, "name"', "nothing", "empty", "bytes", "half", "publish"]
    assert values[1] == HOSTILE
    assert [values[0], *values[4:6]] == ["1", "00ff", "0.5"]
    assert values[6].startswith("2026-11-24T12:00:00.000")
    assert ',"",00ff,' in text  # the empty text
    read = duckdb.read_csv(str(tmp_path / "x.csv"), all_varchar=True, quotechar='"', escapechar='"').fetchall()
    assert read[0][1] == HOSTILE
    assert read[0][2] is None


@both
def test_json_is_an_array_and_jsonl_are_lines(spark: object, out: Path, tmp_path: Path, engine: Engine) -> None:
    query = rows_for(engine)
    (row,) = json.loads(to_file(out, query, tmp_path / "x.json", "--engine", engine))
    assert row['odd, "name"'] == HOSTILE
    assert (row["n"], row["nothing"], row["empty"], row["bytes"]) == (1, None, "", "AP8=")
    (line,) = to_file(out, query, tmp_path / "x.jsonl", "--engine", engine).splitlines()
    assert json.loads(line) == row
    assert json.loads(ask(out, query, "json", engine)) == [row]
    assert json.loads(ask(out, query, "jsonl", engine)) == row
    three = "SELECT x FROM (SELECT explode(sequence(1, 3)) AS x) AS q ORDER BY x"
    assert json.loads(ask(out, three, "json", engine)) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert json.loads(ask(out, "SELECT code FROM findings WHERE code = 'none'", "json", engine)) == []


@pytest.mark.parametrize("form", [form for form in get_args(PrintFormat) if form != "jsonl"])
def test_nothing_that_is_printed_steers_a_terminal(out: Path, form: PrintFormat) -> None:
    for width in (None, 300):
        said = ask(out, "SELECT code FROM findings", form, width=width)
        assert not {"\x1b", "\u202e", "\r"} & set(said)
        assert "\\x1b" in said or "\\u001B" in said


def test_markdown_has_no_markup_of_its_values(out: Path, tmp_path: Path) -> None:
    said = to_file(out, "SELECT code, 1 AS not_whole FROM findings", tmp_path / "x.md")
    assert said.splitlines()[:2] == ["| code | not_whole |", "| --- | --- |"]
    (row,) = said.splitlines()[2:]
    assert row.startswith(r'| a,"b"\|c')
    assert r"\<b\>d\</b\>" in row


def test_a_format_is_told_by_the_name_of_the_file_or_by_the_option(out: Path, tmp_path: Path) -> None:
    query = "SELECT 1 AS n"
    assert to_file(out, query, tmp_path / "x.CSV") == "n\n1\n"
    assert to_file(out, query, tmp_path / "x.json", "--format", "csv") == "n\n1\n"
    assert to_file(out, query, tmp_path / "x.txt", "--format", "vertical") == "-[ RECORD 1 ]\nn | 1\n"
    assert duckdb.read_parquet(str(_parquet(out, query, tmp_path))).fetchall() == [(1,)]


def _parquet(out: Path, query: str, folder: Path) -> Path:
    path = folder / "x.parquet"
    assert CliRunner().invoke(app, ["sql", str(out), query, "--to", str(path)]).exit_code == 0
    return path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--to", "{folder}/x.xlsx"], "x.xlsx: the name ends in none of .csv, "),
        (["--to", "{folder}/rows"], "say which with --format"),
        (
            ["--to", "{folder}/x.csv", "--format", "table"],
            "a file takes csv, json, jsonl, markdown, parquet or vertical",
        ),
        (["--format", "parquet"], "name one with --to"),
    ],
)
def test_a_format_that_cannot_be_is_one_sentence(out: Path, tmp_path: Path, options: list[str], words: str) -> None:
    given = [option.format(folder=tmp_path) for option in options]
    with pytest.raises(UsageError, match=words):
        CliRunner().invoke(app, ["sql", str(out), "SELECT 1 AS n", *given], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_programs_get_all_rows_and_people_the_first(out: Path) -> None:
    query = f"SELECT * FROM range({MAX_ROWS + 500}) AS r(n)"
    for form in ("csv", "jsonl"):
        assert len(ask(out, query, form).splitlines()) == MAX_ROWS + 500 + (form == "csv")  # type: ignore[arg-type]
    for form in ("markdown", "vertical", "table"):
        assert f"more than {MAX_ROWS} rows" in ask(out, query, form)  # type: ignore[arg-type]


def test_wide_rows_on_a_narrow_terminal_are_one_value_a_line(bundled: Audited) -> None:
    for query in (
        "SELECT * FROM topic_overview LIMIT 2",
        "SELECT * FROM findings LIMIT 2",
        "SELECT * FROM entries LIMIT 2",
    ):
        lines = ask(bundled.out, query, width=80).splitlines()
        assert lines[0].startswith("-[ RECORD 1 ]")
        names = [line.partition(" |")[0].strip() for line in lines if " |" in line]
        assert "topic" in names
        assert names[: len(names) // 2] == names[len(names) // 2 :]  # of both rows


def test_rows_that_fit_are_a_grid(bundled: Audited) -> None:
    query = "SELECT topic, not_whole FROM topic_overview LIMIT 2"
    assert "\u2502 persistent://lab/s3/" in ask(bundled.out, query, width=80)
    assert ask(bundled.out, query, width=30).startswith("-[ RECORD 1 ]")  # it would break the names of topics
    said = ask(bundled.out, "SELECT code, name FROM findings WHERE code = 'none'", width=80)
    assert "\u2503 code" in said  # a grid without rows


def test_a_grid_that_is_asked_for_is_whole_however_wide(bundled: Audited) -> None:
    query = "SELECT * FROM topic_overview LIMIT 1"
    row: dict[str, Any] = json.loads(ask(bundled.out, query, "jsonl"))
    for width in (80, None):
        said = ask(bundled.out, query, "table", width=width)
        for name, value in row.items():
            assert name in said
            assert str(value) in said


def test_what_is_piped_is_separated_by_tabs_however_wide(bundled: Audited) -> None:
    lines = ask(bundled.out, "SELECT * FROM topic_overview LIMIT 2").splitlines()
    assert len(lines) == 3
    assert len({line.count("\t") for line in lines}) == 1
