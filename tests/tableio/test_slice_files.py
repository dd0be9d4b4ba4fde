"""Slices of tables of several files are replaced without a session as with one: what lies outside them stays."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.tableio import slice_files, staged_files, table_cache
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.slice_files import Part, parts_of_files
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.staged_files import stage
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.tableio.test_table_cache import finding

NEEDS_SPARK = True

FINDINGS = TABLES["findings"]
LONG = "t" * 300  # the bounds of such a text are others


def no_session() -> NoReturn:
    raise AssertionError("no session is needed")


@pytest.fixture(autouse=True)
def large_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No table is small, and no session runs."""
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    monkeypatch.setattr(staged_files, "runs_session", lambda: False)
    table_cache.clear()
    yield
    table_cache.clear()


def row(cluster: str, topic: str | None, ledger_id: int | None, entry_id: int) -> dict[str, Any]:
    return finding("C01", ledger_id) | {"cluster": cluster, "topic": topic, "entry_id": entry_id}


def random_rows(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows, some files of which have one value of a column alone."""
    clusters = rng.choice([["demo"], ["demo", "other"], ["other"]])
    topics = rng.choice([["t"], ["t", None], ["t", "u", LONG, LONG + "u"], [None], [LONG]])
    ledgers = rng.choice([[1], [1, 2, 3], [7, None], [None]])
    return [
        row(rng.choice(clusters), rng.choice(topics), rng.choice(ledgers), rng.randrange(2**40)) for _ in range(count)
    ]


def random_slice(rng: random.Random) -> Slice:
    part = Slice.of(cluster=rng.choice(["demo", "other", "none"])) if rng.random() < 0.9 else Slice()
    if rng.random() < 0.5:
        part = part.where(ledger_id=rng.sample([1, 2, 3, 7, 9], rng.randrange(4)))
    if rng.random() < 0.3:
        part = part.where(topic=rng.sample(["t", "u", LONG, "v"], rng.randrange(3)))
    return part.without(ledger_id=rng.sample([1, 2, 3, 7], rng.randrange(3))) if rng.random() < 0.3 else part


def add_file(folder: Path, rows: list[dict[str, Any]]) -> None:
    with stage(LocalLog(folder), FINDINGS) as staged:
        staged.commit(staged.write(pa.Table.from_pylist(rows, schema=arrow_schema(FINDINGS))))


def all_rows(folder: Path) -> list[str]:
    log = LocalLog(folder)
    rows = [one for path, *_ in log.files() for one in log.read(path).to_pylist()]
    return sorted(json.dumps(one, default=str, sort_keys=True) for one in rows)


@pytest.mark.parametrize("seed", range(40))
def test_exactly_the_slice_is_replaced(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for number in range(10):
        check_one(rng, tmp_path / str(number))


def check_one(rng: random.Random, out: Path) -> None:
    store, folder = TableStore(str(out), no_session), out / "tables" / "findings"
    rows: list[dict[str, Any]] = []
    for _ in range(rng.randrange(1, 5)):
        more = random_rows(rng, rng.randrange(1, 8))
        add_file(folder, more)
        rows += more
    part = random_slice(rng)
    new = [one for one in random_rows(rng, 6) if part.holds(one)]
    assert store.replace(FINDINGS, new, part) == len(new)
    expected = pa.Table.from_pylist([one for one in rows if not part.holds(one)] + new, arrow_schema(FINDINGS))
    assert all_rows(folder) == sorted(json.dumps(one, default=str, sort_keys=True) for one in expected.to_pylist())


def test_bounds_tell_without_a_look_into_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cluster, topic, ledger_id in (("demo", "t", 1), ("other", "t", 1), ("demo", LONG, 1)):
        add_file(tmp_path, [row(cluster, topic, ledger_id, 0)])
    (tmp_path / "unread").mkdir()
    log = LocalLog(tmp_path)
    monkeypatch.setattr(slice_files, "rows_of_file", lambda *_: no_session())
    parts = parts_of_files(log, FINDINGS, Slice.of(cluster="demo"))
    assert parts is not None
    assert sorted(part.value for part in parts.values()) == ["all", "all", "none"]


def test_much_to_look_at_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_file(tmp_path, [row("demo", "t", 1, 0), row("other", "t", 2, 0)])
    part = Slice.of(cluster="demo")
    assert parts_of_files(LocalLog(tmp_path), FINDINGS, part) == {LocalLog(tmp_path).files()[0][0]: Part.SOME}
    for bound in ("MAX_BYTES", "MAX_FILE_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(slice_files, bound, 100)
            assert parts_of_files(LocalLog(tmp_path), FINDINGS, part) is None


def test_a_session_that_is_asked_gives_the_same_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path / "spark", tmp_path / "here"):
        add_file(folder / "tables" / "findings", [row("demo", "t", 1, 0), row("other", "t", 2, 0)])
        add_file(folder / "tables" / "findings", [row("other", "t", 3, 0)])
    part, new = Slice.of(cluster="demo"), [row("demo", "t", 9, 9)]
    TableStore(str(tmp_path / "here"), no_session).replace(FINDINGS, new, part)
    monkeypatch.setattr(staged_files, "runs_session", lambda: True)
    TableStore(str(tmp_path / "spark"), lambda: spark).replace(FINDINGS, new, part)
    here, there = (tmp_path / name / "tables" / "findings" for name in ("here", "spark"))
    assert all_rows(here) == all_rows(there)
    assert len(LocalLog(here).files()) == len(LocalLog(there).files()) == 3


def test_a_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    add_file(tmp_path, [row("demo", "t", 1, 0), row("other", "t", 2, 0)])
    (name,) = [path for path, *_ in LocalLog(tmp_path).files()]
    (tmp_path / name).write_bytes(b"no parquet")
    with pytest.raises(UsageError, match=name):
        parts_of_files(LocalLog(tmp_path), FINDINGS, Slice.of(cluster="demo"))
