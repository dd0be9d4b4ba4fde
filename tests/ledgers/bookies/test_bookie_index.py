"""Indexes of bookies: what they name and the logs lost is named; whatever their bytes are, the rest goes on."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rocksdict import AccessType, BlockBasedOptions, DBCompressionType, Options, Rdict

from pulsar_backlog.ledgers.bookies import index, index_files, index_program
from pulsar_backlog.ledgers.bookies.contents import Contents, read_contents
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from tests.ledgers.bookies.encoding import entry_log, journal, ledger_index, put_log, record
from tests.ledgers.bookies.test_real_bookie import DATA, SOURCE
from tests.ledgers.sources import Seen, see
from tests.wire.encode import entry

BODIES = [entry(payload=bytes([n]) * 30) for n in range(10)]
NOT_FOR_EVERYBODY = {"S18", "S26", "S27"}


def contents(folder: Path) -> Contents:
    source = open_source(str(folder))
    listing = take_listing(source)
    return read_contents(source, listing.logs, listing.indexes)


def put_index(bookie: Path) -> Path:
    """The real index, beside the logs of a folder."""
    for name in ("ledgers", "locations"):
        shutil.copytree(DATA / "index" / name, bookie / "current" / name)
    return bookie


@pytest.fixture
def bookie(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "bookie")
    return put_index(tmp_path / "bookie")


@pytest.fixture
def shortened(bookie: Path) -> Path:
    """An entry log that lost its end, and no journal to find it in."""
    (bookie / "current" / "1a1fd97a234.txn").unlink()
    log = bookie / "current" / "0.log"
    log.write_bytes(log.read_bytes()[:200_000])
    return bookie


def ranges(words: str) -> set[int]:
    """Entries that words such as `entries 3 to 9` name."""
    entries: set[int] = set()
    for low, high in re.findall("entr(?:y|ies) ([0-9]+)(?: to ([0-9]+))?", words):
        entries |= set(range(int(low), int(high or low) + 1))
    return entries


def opened(folder: Path, **style: Any) -> Rdict:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    if style.get("lz4"):  # as a bookie writes `locations`
        options.set_compression_type(DBCompressionType.lz4())
        table = BlockBasedOptions()
        table.set_format_version(5)
        table.set_bloom_filter(10, False)
        options.set_block_based_table_factory(table)
    return Rdict(str(folder), options=options, access_type=AccessType.read_write())


def compact(bookie: Path) -> None:
    """The same index in sorted files."""
    for name in ("ledgers", "locations"):
        database = opened(bookie / "current" / name, lz4=name == "locations")
        database.flush()
        database.compact_range(None, None)
        database.close()
        assert list((bookie / "current" / name).glob("*.sst"))


def s25(seen: Seen) -> dict[int | None, str]:
    return {one.ledger_id: one.message for one in seen.inventory.findings if one.code == "S25"}


def test_the_index_of_a_whole_bookie_names_what_its_logs_hold(bookie: Path) -> None:
    seen = see(bookie)
    assert seen.codes().keys() == NOT_FOR_EVERYBODY
    read = contents(bookie)
    (one,) = read.indexes
    assert (one.folder, one.notes, one.fenced, one.knows_deleted) == ("current", [], set(), True)
    named = {ledger: (first, last) for ledger, first, last, _, _ in one.rows.tolist()}
    stored = {each.examined.pair.ledger_id: (each.first_entry, each.last_entry) for each in read.ledgers}
    assert named == stored
    assert len(named) == 37


@pytest.mark.parametrize("in_sorted_files", [False, True])
def test_what_the_logs_lost_is_named_with_its_range(
    in_sorted_files: bool, shortened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_sorted_files:
        compact(shortened)
    whole = {each.examined.pair.ledger_id: each.last_entry for each in contents(SOURCE).ledgers}
    seen, read = see(shortened), contents(shortened)
    stored = {each.examined.pair.ledger_id: each.last_entry for each in read.ledgers}
    lost = {
        ledger: set(range(stored.get(ledger, -1) + 1, last + 1))
        for ledger, last in whole.items()
        if stored.get(ledger, -1) < last
    }
    assert len(lost) == 23
    named: dict[int, set[int]] = {}
    for finding in seen.inventory.findings:
        if finding.code == "S25" and finding.ledger_id is not None:
            named[finding.ledger_id] = ranges(finding.message)
        elif finding.code == "S25" and "Indexes of bookies" in finding.message:
            assert finding.count == len(finding.evidence)
            named |= {int(text.split()[1].rstrip(":")): ranges(text) for text in finding.evidence}
    of_topics = {ledger: ids for ledger, ids in lost.items() if ledger not in stored or ledger in seen.entries}
    assert named == of_topics  # of state that is here in part nothing is said: it is not scanned
    assert "S56" not in seen.codes()
    monkeypatch.setattr("pulsar_backlog.ledgers.bookies.shortfalls.MAX_NAMED", 3)
    assert [one.count for one in see(shortened).inventory.findings if "Indexes" in one.message] == [3, len(named) - 4]


def test_the_place_that_an_index_names_is_where_the_entry_was(shortened: Path) -> None:
    data = (SOURCE / "current" / "0.log").read_bytes()
    for one in contents(shortened).short:
        path, _, place = one.place.partition("+")
        assert path == "current/0.log"
        assert struct.unpack_from(">qq", data, int(place) + 4) == (one.ledger_id, one.ranges[-1][1])


def test_what_the_journal_has_is_not_lost(bookie: Path) -> None:
    log = bookie / "current" / "0.log"
    log.write_bytes(log.read_bytes()[:200_000])
    assert contents(bookie).short == []


def test_a_ledger_that_the_bookie_deleted_is_not_lost(shortened: Path) -> None:
    before = {one.ledger_id for one in contents(shortened).short}
    database = opened(shortened / "current" / "ledgers")
    del database[struct.pack(">q", 31)]
    database.close()
    assert before - {one.ledger_id for one in contents(shortened).short} == {31}
    shutil.rmtree(shortened / "current" / "ledgers")
    read = contents(shortened)
    assert {one.ledger_id for one in read.short} == before
    assert all(one.may_be_deleted for one in read.short)
    seen = see(shortened)
    assert [one.message for one in seen.inventory.findings if one.code == "S56"] == [
        "The index of the bookie in current: ledgers is not here."
    ]
    assert any("may have been deleted" in one.message for one in seen.inventory.findings)


def test_ledgers_that_an_index_says_are_fenced(bookie: Path) -> None:
    database = opened(bookie / "current" / "ledgers")
    database[struct.pack(">q", 31)] = b"\x08\x01\x10\x01\x1a\x00"
    database[struct.pack(">q", -0xEEFD)] = b"\0"  # flags of the storage, as newer bookies have them
    database.close()
    (fenced,) = (one for one in see(bookie).inventory.findings if one.code == "S28")
    assert fenced.evidence == ("ledger 31",)


@pytest.mark.parametrize("name", ["locations", "ledgers"])
@pytest.mark.parametrize("suffix", ["CURRENT", "MANIFEST", ".sst", ".log"])
def test_a_damaged_index_is_a_note_and_the_rest_goes_on(name: str, suffix: str, bookie: Path) -> None:
    if suffix == ".sst":
        compact(bookie)
    (path,) = (
        one for one in (bookie / "current" / name).iterdir()
        if one.name.startswith(suffix) or (one.name.endswith(suffix) and one.stat().st_size)
    )  # fmt: skip
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x10
    path.write_bytes(data)
    seen = see(bookie)
    (note,) = (one for one in seen.inventory.findings if one.code == "S56")
    assert note.count == 1
    assert name in note.message
    assert str(Path("/tmp")) not in note.message
    assert not note.incomplete
    assert seen.codes().keys() - NOT_FOR_EVERYBODY == {"S56"}
    assert seen.entries == see(SOURCE).entries


def test_an_index_of_any_bytes_ends_nothing(bookie: Path) -> None:
    for path in (bookie / "current" / "locations").iterdir():
        path.write_bytes(bytes(range(256)) * 20)
    assert see(bookie).codes().keys() - NOT_FOR_EVERYBODY == {"S56"}


def test_keys_of_another_length_are_a_note(bookie: Path) -> None:
    database = opened(bookie / "current" / "locations")
    database[b"\0" * 20] = b"other"
    database.close()
    (note,) = (one for one in see(bookie).inventory.findings if one.code == "S56")
    assert "locations was not read wholly: " in note.message


def test_an_index_that_is_too_large_is_a_note(bookie: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MAX_BYTES", 5000)
    (note,) = (one for one in see(bookie).inventory.findings if one.code == "S56")
    assert note.message == (
        "The index of the bookie in current: locations was not read: 3 files of 12,184 bytes, "
        "at most 20,000 of 5,000 are."
    )


def test_an_index_that_takes_too_long_is_a_note(bookie: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_SECONDS", 0.001)
    (note,) = (one for one in see(bookie).inventory.findings if one.code == "S56")
    assert "locations was not read wholly: it took longer than" in note.message


def test_the_program_has_bounds_and_no_credentials(bookie: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from pulsar_backlog.ledgers.bookies import index_program as p; import os\np._bound()\n"
        "try: bytearray(p.MEMORY_BYTES); print('none')\nexcept MemoryError: print('bounded')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "bounded\n"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    seen: list[dict[str, str]] = []
    run = subprocess.run

    def recorded(command: list[str], **style: Any) -> subprocess.CompletedProcess[bytes]:
        seen.append(style["env"])
        return run(command, **style)

    monkeypatch.setattr(subprocess, "run", recorded)
    see(bookie)
    assert len(seen) == 2
    assert not any("AWS_SECRET_ACCESS_KEY" in one for one in seen)


def test_not_more_ledgers_are_read_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    database = opened(tmp_path / "database")
    for ledger in range(30):
        for i in (2, 7, 300):
            database[struct.pack(">qq", ledger, i)] = struct.pack(">q", location(1, i))
    database.close()
    monkeypatch.setattr(index_program, "MAX_LEDGERS", 20)
    options, access = Options(raw_mode=True), AccessType.read_only(False)
    at = Rdict(str(tmp_path / "database"), options=options, access_type=access).iter()
    assert index_program._write("locations", at) == index_program.MORE
    sys.stdout.flush()
    rows = list(index_program.LOCATION.iter_unpack(capfdbinary.readouterr().out))
    assert rows == [(ledger, 2, 300, location(1, 2), location(1, 300)) for ledger in range(20)]


def location(log: int, place: int) -> int:
    return log << 32 | (place + 4)


def put_ledger_index(bookie: Path, ledger: int, data: bytes) -> None:
    folder = bookie / "current" / f"{ledger >> 8 & 0xFF:x}" / f"{ledger & 0xFF:x}"
    folder.mkdir(parents=True)
    (folder / f"{ledger:x}.idx").write_bytes(data)


@pytest.mark.parametrize("step", [16, 1024])
def test_index_files_of_ledgers(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_files, "_STEP_BYTES", step)
    rows = [record(700, i, BODIES[i]) for i in range(2, 6)]
    put_log(tmp_path, entry_log(rows), "1f.log")
    put_ledger_index(
        tmp_path, 700, ledger_index([0, *(location(0x1F, 1024 + 9 * i) for i in range(1, 9))], fenced=True)
    )
    put_ledger_index(tmp_path, 701, ledger_index([location(0x1F, 5000)]))
    put_ledger_index(tmp_path, 702, ledger_index([0, 0]))  # nothing was written to it
    put_ledger_index(tmp_path, 703, b"")  # the bookie died
    put_ledger_index(tmp_path, 704, b"BKLX" + bytes(2000))
    seen = see(tmp_path)
    assert s25(seen) == {
        700: "Ledger 700: The index of the bookie in current names entry 1 and entries 6 to 8 of this ledger, "
        "which no file has: the last at current/1f.log+1096.",
        None: "Indexes of bookies name 1 ledger with up to 1 entry of which no file here has one.",
    }
    (absent,) = (one for one in seen.inventory.findings if one.code == "S25" and one.ledger_id is None)
    assert absent.evidence == ("ledger 701: entry 0, to current/1f.log+5000",)
    assert seen.codes()["S28"] == ["fenced"]
    (note,) = (one for one in seen.inventory.findings if one.code == "S56")
    assert note.message == (
        "The index of the bookie in current: current/2/c0/2c0.idx was not read: it does not begin as an index does."
    )


LONE = record(9, 4, BODIES[4], digest="DUMMY")
PROVED = [record(7, i, BODIES[i]) for i in range(4)]
PLACE_OF_LONE = 1024 + len(b"".join(PROVED))


def lone_log(tmp_path: Path, **style: Any) -> None:
    put_log(tmp_path, entry_log([*PROVED, LONE], **style))


def test_a_lone_record_is_not_believed_by_itself(tmp_path: Path) -> None:
    lone_log(tmp_path)
    assert see(tmp_path).entries.keys() == {7}


def test_a_lone_record_is_believed_where_the_map_names_its_bytes(tmp_path: Path) -> None:
    sizes = {7: sum(map(len, PROVED)), 9: len(LONE)}
    lone_log(tmp_path, mapped=sizes.items())
    seen = see(tmp_path)
    assert seen.entries[9] == [(4, BODIES[4])]
    lone_log(tmp_path, mapped={**sizes, 9: len(LONE) + 1}.items())
    assert see(tmp_path).entries.keys() == {7}


def test_a_lone_record_is_believed_where_an_index_names_its_place(tmp_path: Path) -> None:
    lone_log(tmp_path)
    put_ledger_index(tmp_path, 9, ledger_index([0, 0, 0, 0, location(0, PLACE_OF_LONE)]))
    seen = see(tmp_path)
    assert seen.entries[9] == [(4, BODIES[4])]
    assert s25(seen) == {}
    put_log(tmp_path, journal([record(9, 5, BODIES[5])]), "1.txn")  # its digest is known: then this one is damaged
    assert see(tmp_path).entries[9] == [(5, BODIES[5])]
    (tmp_path / "current" / "1.txn").unlink()
    shutil.rmtree(tmp_path / "current" / "0")
    put_ledger_index(tmp_path, 9, ledger_index([0, 0, 0, 0, location(0, PLACE_OF_LONE + 1)]))
    assert see(tmp_path).entries.keys() == {7}


@pytest.mark.parametrize(
    ("others", "is_believed"),
    [
        ([LONE, record(8, 0, BODIES[0])], True),  # the same entry, alone there too
        ([record(9, i, BODIES[i], digest="DUMMY") for i in range(4)], True),  # several of the ledger
        ([record(9, 5, BODIES[5], digest="DUMMY"), record(8, 0, BODIES[0])], False),  # another one, as alone
        ([record(9, 5, BODIES[5])], False),  # its digest is known: then this one is damaged
        ([LONE, record(9, 5, BODIES[5])], False),
    ],
)
def test_a_lone_record_is_believed_where_another_file_has_it(
    others: list[bytes], is_believed: bool, tmp_path: Path
) -> None:
    lone_log(tmp_path)
    put_log(tmp_path, journal(others), "1.txn")
    assert ((4, BODIES[4]) in see(tmp_path).entries.get(9, [])) == is_believed
