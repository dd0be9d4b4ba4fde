"""An inventory that goes by what an earlier one examined says what a first one of the same source says."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.ledgers import spill
from pulsar_backlog.steps import known_results
from scripts.compare_audits import texts_of
from tests.auditing import ADMIN, DATA, Audited, copy_ledgers, data_object, index_object, rows_of, run_one, version_of

NEEDS_SPARK = True
pytestmark = pytest.mark.usefixtures("spark")

JOB = "inventory_ledgers"
LEDGERS = [22, 24, 267, 292]
OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
OF_NIGHTS = ("S17", "S43", "S44")
"""Codes of findings that tell of what was there before."""
NOTED = 1_600_000_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return aged(copy_ledgers(tmp_path / "objects", LEDGERS))


@pytest.fixture
def admin(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ADMIN, tmp_path / "admin"))


def aged(folder: Path) -> Path:
    """Written long ago, as all is that a night finds but the news."""
    for path in folder.rglob("*"):
        os.utime(path, (NOTED, NOTED))
    return folder


def taken(source: Path | str, out: Path, **options: Any) -> Audited:
    done = run_one(JOB, source, out, **options)
    assert done.exit_code in (0, 1, 4), done.stderr
    return done


def write_again(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def flipped(path: Path) -> None:
    """Other bytes, as many as before: a letter of the topic in an index, anything in data."""
    content = bytearray(path.read_bytes())
    at = content.find(b"persistent/") + len(b"persistent/") if b"persistent/" in content else len(content) - 1
    content[at] ^= 1
    path.write_bytes(content)


def another_attempt(source: Path, ledger_id: int, cut: int | None = None) -> None:
    for path in (data_object(source, ledger_id), index_object(source, ledger_id)):
        name = path.name.partition("-ledger-")[2]
        is_data = not name.endswith("-index")
        (source / f"{OTHER}-ledger-{name}").write_bytes(path.read_bytes()[: cut if is_data else None])


def ids_again(source: Path) -> None:
    """Another cluster's ledger has the id."""
    data, index = data_object(source, 24).read_bytes(), index_object(source, 24).read_bytes()
    for path in (data_object(source, 22), index_object(source, 22)):
        path.unlink()
    (source / f"{OTHER}-ledger-22").write_bytes(data)
    (source / f"{OTHER}-ledger-22-index").write_bytes(index)


def moved(source: Path) -> None:
    (source / "below").mkdir()
    for path in (data_object(source, 22), index_object(source, 22)):
        path.rename(source / "below" / path.name)


HAPPENS: dict[str, Callable[[Path], object]] = {
    "nothing but an object that is no ledger's": lambda source: (source / "notes").write_text("x"),
    "an index of the same size, other bytes": lambda source: flipped(index_object(source, 22)),
    "an index that is damaged": lambda source: index_object(source, 22).write_bytes(b"x" * 100),
    "data of the same size, other bytes": lambda source: flipped(data_object(source, 22)),
    "data that is shorter": lambda source: os.truncate(data_object(source, 22), 1000),
    "data that is longer": lambda source: data_object(source, 22).write_bytes(
        data_object(source, 22).read_bytes() + b"x" * 9
    ),
    "an index less": lambda source: index_object(source, 22).unlink(),
    "data less": lambda source: data_object(source, 22).unlink(),
    "a ledger less": lambda source: [path.unlink() for path in (data_object(source, 22), index_object(source, 22))],
    "a ledger more": lambda source: copy_ledgers(source, [269]),
    "another whole attempt": lambda source: another_attempt(source, 22),
    "another attempt that was cut": lambda source: another_attempt(source, 22, 500),
    "the id of a ledger again": ids_again,
    "a copy in another folder": moved,
}


@pytest.mark.parametrize("happens", HAPPENS)
def test_a_night_is_a_first_audit(source: Path, admin: Path, tmp_path: Path, happens: str) -> None:
    taken(source, tmp_path / "out", admin=admin)
    HAPPENS[happens](source)
    taken(source, tmp_path / "out", admin=admin)
    assert_same(tmp_path / "out", taken(source, tmp_path / "first", admin=admin).out)


def test_an_index_comes_back(source: Path, admin: Path, tmp_path: Path) -> None:
    index = index_object(source, 22)
    content = index.read_bytes()
    index.unlink()
    taken(source, tmp_path / "out", admin=admin)
    index.write_bytes(content)
    taken(source, tmp_path / "out", admin=admin)
    assert_same(tmp_path / "out", taken(source, tmp_path / "first", admin=admin).out)
    assert "S05" not in {row["code"] for row in rows_of(tmp_path / "out", "findings", "code")}


def test_what_the_broker_says_counts_anew(source: Path, admin: Path, tmp_path: Path) -> None:
    another_attempt(source, 22)
    aged(source)
    taken(source, tmp_path / "out", admin=admin)
    verdicts = {row["copy"]: row["verdict"] for row in rows_of(tmp_path / "out", "inventory") if row["ledger_id"] == 22}
    ours = next(copy for copy in verdicts if copy != OTHER)
    (info,) = (path for path in admin.iterdir() if "info" in path.name and ours in path.read_text())
    info.write_text(info.read_text().replace(ours, OTHER))
    taken(source, tmp_path / "out", admin=admin)
    selected = {
        row["copy"] for row in rows_of(tmp_path / "out", "ledgers") if row["ledger_id"] == 22 and row["selected"]
    }
    assert selected == {OTHER}
    assert_same(tmp_path / "out", taken(source, tmp_path / "first", admin=admin).out)


def test_saved_files_count_by_their_bytes(source: Path, admin: Path, tmp_path: Path) -> None:
    """One has other bytes of the same length and the same time, one is gone, one says nothing any more, one is new."""
    taken(source, tmp_path / "out", admin=admin)
    documents = sorted(admin.glob("*internalStats.json"))
    status = documents[0].stat()
    text = documents[0].read_text()
    documents[0].write_text(text.replace("LedgerOpened", "ClosedLedger", 1))
    assert len(documents[0].read_text()) == len(text)
    os.utime(documents[0], ns=(status.st_atime_ns, status.st_mtime_ns))
    documents[1].unlink()
    documents[2].write_text("{ not JSON")
    documents[3].rename(documents[3].with_name(documents[3].name.replace("lab__s3__", "lab__s3__of-another-name-")))
    taken(source, tmp_path / "out", admin=admin)
    first = taken(source, tmp_path / "first", admin=admin)
    assert_same(tmp_path / "out", first.out)
    assert any("not whole JSON" in row["message"] for row in rows_of(tmp_path / "out", "findings"))
    states = [
        {row["topic"]: row["state"] for row in rows_of(out, "saved_states")} for out in (tmp_path / "out", first.out)
    ]
    assert states[0].items() >= states[1].items()
    assert any("ClosedLedger" in state for state in states[0].values())


def test_after_a_night_that_was_asked_for_less(source: Path, admin: Path, tmp_path: Path) -> None:
    taken(source, tmp_path / "out", admin=admin)
    flipped(index_object(source, 24))
    copy_ledgers(source, [269])
    taken(source, tmp_path / "out", admin=admin, ledger=["22"])
    os.truncate(data_object(source, 267), 900)
    taken(source, tmp_path / "out", admin=admin)
    assert_same(tmp_path / "out", taken(source, tmp_path / "first", admin=admin).out)


def test_a_night_without_news_of_copies_writes_nothing_of_them(source: Path, admin: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    taken(source, out, admin=admin)
    names = ("examined_copies", "saved_documents")
    before = {name: version_of(out, name) for name in names}
    assert len(rows_of(out, "examined_copies")) == len(LEDGERS)
    (source / "notes").write_text("x")
    taken(source, out, admin=admin)
    assert {name: version_of(out, name) for name in names} == before


def test_results_elsewhere_have_the_documents_too(source: Path, admin: Path, tmp_path: Path) -> None:
    """Of a folder that this process has parsed, for whom it may be."""
    for name in ("one", "two"):
        taken(source, tmp_path / name, admin=admin)
    one, two = (rows_of(tmp_path / name, "saved_documents") for name in ("one", "two"))
    assert one
    assert one == two
    read_cluster_state(admin, {})
    (admin / "more.json").write_text("{}")
    read_cluster_state(admin, {})  # by who keeps nothing
    for name in ("one", "three"):
        taken(source, tmp_path / name, admin=admin)
        assert rows_of(tmp_path / name, "saved_documents") == one


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Paths of the objects that are read, as the source reads them."""
    from pulsar_backlog.ledgers.folder import Folder

    paths: list[str] = []
    open_file = Folder.open_file

    def noted(self: Folder, path: str) -> Any:
        paths.append(path)
        return open_file(self, path)

    monkeypatch.setattr(Folder, "open_file", noted)
    yield paths


def test_only_news_are_opened(source: Path, tmp_path: Path, opened: list[str]) -> None:
    taken(source, tmp_path / "out")
    assert len(set(opened)) >= len(LEDGERS)
    opened.clear()
    copy_ledgers(source, [269])
    taken(source, tmp_path / "out")
    assert {int(path.split("-ledger-")[1].removesuffix("-index")) for path in opened} == {269}


def test_another_release_opens_all_again(
    source: Path, tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken(source, tmp_path / "out")
    before = set(opened)
    opened.clear()
    (source / "notes").write_text("x")
    monkeypatch.setattr(known_results, "EXAMINER", "9.9.9/1")
    taken(source, tmp_path / "out")
    assert set(opened) == before
    assert {row["examiner"] for row in rows_of(tmp_path / "out", "examined_copies")} == {"9.9.9/1"}


def test_another_address_is_opened_again(tmp_path: Path) -> None:
    """Folders above a MapFile name its topic, and they are no part of what is listed."""
    stored = next(path for path in DATA.rglob("data") if path.with_name("index").is_file()).parents[1]
    taken(stored, tmp_path / "named")
    name = next(row["managed_ledger"] for row in rows_of(tmp_path / "named", "ledgers"))
    right, wrong = tmp_path / "right" / name, tmp_path / "wrong" / "tenant" / "space" / "persistent" / "other"
    for folder in (right, wrong):
        shutil.copytree(stored, folder)
        aged(folder)
    taken(right, tmp_path / "out")
    assert rows_of(tmp_path / "out", "examined_copies")
    taken(wrong, tmp_path / "out")
    assert_same(tmp_path / "out", taken(wrong, tmp_path / "first").out)


def test_a_long_listing_after_a_short_one(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(source, tmp_path / "out")
    flipped(index_object(source, 22))
    with monkeypatch.context() as spilled:
        spilled.setattr(spill, "MAX_HELD_OBJECTS", 4)
        spilled.setattr(spill, "FILE_ROWS", 3)
        taken(source, tmp_path / "out")
    assert_same(tmp_path / "out", taken(source, tmp_path / "first").out)
    flipped(index_object(source, 24))
    taken(source, tmp_path / "out")
    assert_same(tmp_path / "out", taken(source, tmp_path / "second").out)


def assert_same(one: Path, first: Path) -> None:
    """Whether tables say the same, but for what tells of nights."""
    from deltalake import DeltaTable

    for name in ("ledgers", "inventory", "internal_copies", "findings"):
        texts = [texts_of(DeltaTable(out / "tables" / name).to_pyarrow_table()) for out in (one, first)]
        if name == "findings":
            texts = [
                type(of_out)(
                    {text: count for text, count in of_out.items() if json.loads(text)["code"] not in OF_NIGHTS}
                )
                for of_out in texts
            ]
        assert (texts[0] - texts[1], texts[1] - texts[0]) == ({}, {}), name
