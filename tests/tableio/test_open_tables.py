"""Tables that stay open: a table is read again as soon as its log is another, and only then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable

from pulsar_backlog.errors import UsageError
from pulsar_backlog.tableio import open_tables
from pulsar_backlog.tableio.delta_rs import open_folder
from pulsar_backlog.tableio.places import LOG_FOLDER
from tests.small_tables import write_tables

NEEDS_SPARK = False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of two commits."""
    for ledger_id in (1, 2):
        write(tmp_path, ledger_id)
    return tmp_path / "tables" / "scans"


def write(out: Path, ledger_id: int) -> None:
    write_tables(out, scans=[{"cluster": "c", "ledger_id": ledger_id}])


def opened(folder: Path) -> DeltaTable:
    table = open_folder(folder)
    assert table is not None
    return table


def ledgers(table: DeltaTable) -> list[int]:
    return sorted(table.to_pyarrow_table()["ledger_id"].to_pylist())


def test_a_table_whose_log_stays_is_opened_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = opened(folder)
    (folder / "a-file-of-rows-that-no-commit-names").write_bytes(b"")
    monkeypatch.setattr(open_tables, "DeltaTable", None)
    assert opened(folder) is first
    monkeypatch.chdir(folder.parent)
    assert opened(Path("scans")) is first, "the same folder by another name"


def test_a_commit_of_anyone_is_seen(folder: Path) -> None:
    before = opened(folder)
    write(folder.parents[1], 3)
    assert ledgers(opened(folder)) == [1, 2, 3]
    assert ledgers(before) == [1, 2], "who holds the table of before keeps it"


def test_a_commit_within_one_tick_of_the_clock_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of folders do not move for a while."""
    still = (folder / LOG_FOLDER).stat()
    stat = SimpleNamespace(stat=lambda path: still if path == folder / LOG_FOLDER else os.stat(path), path=os.path)  # noqa: PTH116
    monkeypatch.setattr(open_tables, "os", stat)
    assert opened(folder).version() == 1
    write(folder.parents[1], 3)
    assert opened(folder).version() == 2


def another_table(folder: Path) -> None:
    shutil.rmtree(folder)
    for ledger_id in (8, 9):
        write(folder.parents[1], ledger_id)


def copy_of_another(folder: Path) -> None:
    """With the times of the original, as `cp -a` leaves it."""
    other = folder.parents[1] / "elsewhere"
    for ledger_id in (8, 9):
        write(other, ledger_id)
    log, state = other / "tables" / "scans" / LOG_FOLDER, (folder / LOG_FOLDER).stat()
    shutil.rmtree(folder)
    os.utime(log, ns=(state.st_atime_ns, state.st_mtime_ns))
    shutil.copytree(other / "tables" / "scans", folder)


@pytest.mark.parametrize("change", [another_table, copy_of_another])
def test_another_table_of_the_same_version_is_seen(folder: Path, change: Callable[[Path], None]) -> None:
    assert ledgers(opened(folder)) == [1, 2]
    change(folder)
    assert ledgers(opened(folder)) == [8, 9]


def test_a_table_that_is_gone_is_gone(folder: Path) -> None:
    opened(folder)
    shutil.rmtree(folder)
    assert open_folder(folder) is None


def test_damage_of_the_newest_commit_is_found(folder: Path) -> None:
    opened(folder)
    (folder / LOG_FOLDER / f"{1:020}.json").write_text("{")
    with pytest.raises(UsageError, match="delta-rs cannot read this table"):
        open_folder(folder)


def test_a_checkpoint_in_between_changes_nothing(folder: Path) -> None:
    opened(folder)
    DeltaTable(folder).create_checkpoint()
    write(folder.parents[1], 3)
    assert ledgers(opened(folder)) == [1, 2, 3]


def test_no_more_tables_stay_open_than_the_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_tables, "_opened", type(open_tables._opened)())
    monkeypatch.setattr(open_tables, "MAX_TABLES", 2)
    copies = [shutil.copytree(folder, folder.parent / f"copy-{number}") for number in range(3)]
    for copy in copies:
        opened(copy)
    assert [Path(one) for one in open_tables._opened] == copies[1:]
