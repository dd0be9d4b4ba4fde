"""A listing that is too long to be held gives the same tables as one that is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.ledgers import spill
from tests.auditing import ADMIN, Audited, copy_ledgers, run_one

NEEDS_SPARK = True

JOB = "inventory_ledgers"
TABLES = ("ledgers", "inventory", "findings")
OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Ledgers with an earlier attempt, without index, twice, cut; one of two others is not here; and what is none."""
    folder = copy_ledgers(tmp_path / "copied", [22, 24, 267, 292])
    data = {int(path.name.rpartition("-")[2]): path for path in folder.glob("*-ledger-*") if "index" not in path.name}
    earlier = folder / f"{OTHER}-ledger-22"
    earlier.write_bytes(data[22].read_bytes()[:1000])
    os.utime(earlier, (1_000_000_000, 1_000_000_000))
    data[24].with_name(f"{data[24].name}-index").unlink()
    (folder / "again").mkdir()
    shutil.copy(data[267], folder / "again")
    os.truncate(data[292], 100)
    (folder / f"5-{OTHER}").mkdir()
    (folder / f"5-{OTHER}" / ".data.crc").write_bytes(b"checksums of nothing")
    (folder / "notes.txt").write_text("nobody's")
    return folder


@pytest.fixture
def few(source: Path, spark: SparkSession, tmp_path: Path) -> Audited:
    return taken(source, tmp_path / "few")


def taken(source: Path, out: Path, **options: Any) -> Audited:
    done = run_one(JOB, source, out, admin=str(ADMIN), **options)
    assert done.exit_code == 1, done.stderr
    return done


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MAX_HELD_OBJECTS", 4)
    monkeypatch.setattr(spill, "FILE_ROWS", 3)


def test_the_tables_are_the_same(few: Audited, source: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    verdicts = {row["verdict"] for row in few.rows("inventory")}
    assert {"leftover", "current", "missing", "rescue"} & verdicts >= {"current", "missing"}
    assert few.codes()["S03"] == ["foreign"]
    request.getfixturevalue("spilled")
    many = taken(source, tmp_path / "many")
    for table in TABLES:
        assert many.rows(table) == few.rows(table)
    assert run_one(JOB, source, tmp_path / "many", admin=str(ADMIN)).exit_code == 99


def test_what_was_not_asked_for_stays(few: Audited, source: Path, request: pytest.FixtureRequest) -> None:
    before = {table: few.rows(table) for table in TABLES}
    (path,) = source.glob("*-ledger-292")
    os.truncate(path, 50)
    held = taken(source, few.out.with_name("held"))
    shutil.copytree(held.out, few.out.with_name("many"))
    os.truncate(path, 30)
    one = taken(source, held.out, ledger=["292"])
    request.getfixturevalue("spilled")
    many = taken(source, held.out.with_name("many"), ledger=["292"])
    for table in TABLES:
        assert many.rows(table) == one.rows(table)
        assert len(many.rows(table)) == len(before[table])


@pytest.mark.parametrize("options", [{}, {"ledger": ["260-299"]}, {"topic": ["*/compact-plain"]}], ids=str)
def test_what_left_the_source(
    few: Audited, source: Path, request: pytest.FixtureRequest, options: dict[str, Any]
) -> None:
    shutil.copytree(few.out, few.out.with_name("many"))
    for path in [*source.rglob("*-ledger-267*"), *source.rglob("*-ledger-22*")]:
        path.unlink()
    held = taken(source, few.out, **options)
    request.getfixturevalue("spilled")
    many = taken(source, few.out.with_name("many"), **options)
    gone = [row["ledger_id"] for row in many.rows("gone_ledgers")]
    assert gone == ([267] if options else [22, 267])
    assert [row["ledger_id"] for row in held.rows("gone_ledgers")] == gone
    for table in TABLES:
        assert many.rows(table) == held.rows(table), table
        assert table == "findings" or not {267} & {row["ledger_id"] for row in many.rows("ledgers")}
    assert many.codes()["S43"] == held.codes()["S43"]


def test_nothing_in_scope_is_told(few: Audited, source: Path, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("spilled")
    none = taken(source, few.out, ledger=["900"])
    assert "options" in none.codes()["S01"]
    assert none.rows("ledgers") == few.rows("ledgers")
