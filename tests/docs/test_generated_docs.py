"""The generated pages: fresh here, and the check notices when they are not."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.tables import TABLES
from pulsar_backlog.wire.rejects import REJECT_CODES

ROOT = Path(__file__).parents[2]
PAGES = ("tables.md", "findings.md", "jobs.md")
MAN = "pulsar-backlog.1"
SCHEMAS = ("result.schema.json", "lines.schema.json")


def places(folder: Path) -> list[str]:
    return ["--docs", str(folder), "--schemas", str(folder), "--man", str(folder)]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "scripts" / "generate_docs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    for name in PAGES:
        shutil.copy(ROOT / "docs" / name, tmp_path)
    for name in SCHEMAS:
        shutil.copy(ROOT / "conf" / "schemas" / name, tmp_path)
    shutil.copy(ROOT / "docs" / "man" / MAN, tmp_path)
    return tmp_path


def test_the_committed_pages_are_fresh(generator: ModuleType, pages: Path) -> None:
    assert generator.main(["--check", *places(pages)]) == 0


@pytest.mark.parametrize("page", [*PAGES, *SCHEMAS, MAN])
def test_a_stale_page_is_named(
    generator: ModuleType, pages: Path, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    (pages / page).write_text((pages / page).read_text() + "more")
    assert generator.main(["--check", *places(pages)]) == 1
    assert capsys.readouterr().err == f"{pages / page} is stale; run make docs\n"


def test_a_missing_page_is_stale(generator: ModuleType, pages: Path) -> None:
    (pages / "tables.md").unlink()
    assert generator.main(["--check", *places(pages)]) == 1


def test_writing_again_makes_it_fresh(generator: ModuleType, pages: Path) -> None:
    (pages / "findings.md").write_text("old")
    assert generator.main(places(pages)) == 0
    assert generator.main(["--check", *places(pages)]) == 0


def test_twins_of_queries_are_looked_at(
    generator: ModuleType, pages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "conf"
    shutil.copytree(ROOT / "conf" / "log", conf / "log")
    shutil.copytree(ROOT / "conf" / "duckdb" / "log", conf / "duckdb" / "log")
    arguments = [*places(pages), "--conf", str(conf)]
    assert generator.main(["--check", *arguments]) == 1
    assert capsys.readouterr().err == f"{conf / 'duckdb' / 'alike.txt'} is stale; run make docs\n"  # of one room only
    assert generator.main(arguments) == 0
    assert generator.main(["--check", *arguments]) == 0
    (conf / "log" / "edges.sql").rename(conf / "log" / "ends.sql")
    assert generator.main(["--check", *arguments]) == 1
    said = capsys.readouterr().err
    assert f"{conf / 'duckdb' / 'log' / 'edges.sql'} is a twin of no query" in said
    assert f"{conf / 'duckdb' / 'log' / 'ends.sql'} is stale; run make docs" in said
    assert generator.main(arguments) == 0
    assert generator.main(["--check", *arguments]) == 0
    (conf / "log" / "ends.sql").write_text("-- One.\nSELECT no_such_function(1)\n")
    assert generator.main(["--check", *arguments]) == 1
    assert "ends.sql: no function of DuckDB is known to mean the same as no_such_function" in capsys.readouterr().err


def test_the_pages_hold_every_column_code_and_view(pages: Path) -> None:
    tables, findings = (pages / "tables.md").read_text(), (pages / "findings.md").read_text()
    for table in TABLES.values():
        section = tables.split(f"## `{table.name}`\n", 1)[1].split("\n## ", 1)[0]
        assert [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")] == table.column_names()
    assert all(f"\n### {code} " in findings for code in CATALOGUE)
    assert all(f"\n| `{code}` |" in findings for code in REJECT_CODES)
    assert all(f"\n| `{path.stem}` |" in tables for path in (ROOT / "conf" / "sql").glob("*.sql"))


def test_markdown_tables_keep_their_cells(generator: ModuleType) -> None:
    """A bar inside a cell would begin another one."""
    assert generator.grid(("a", "b"), [("x|y", "z")]) == ["| a | b |", "| --- | --- |", "| x\\|y | z |"]
