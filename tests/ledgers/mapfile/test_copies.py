"""What is said of a MapFile without reading all of it: which copy is scanned, and the finding of each thing wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from tests.ledgers import encoding as jcloud
from tests.ledgers.encoding import OTHER_UUID, UUID
from tests.ledgers.mapfile.encoding import (
    COMPRESSIONS,
    Style,
    crc_file,
    index_of,
    map_file,
    put_map_file,
)
from tests.ledgers.sources import Seen, put, see

BODIES = [bytes([n % 251]) * (30 + n % 7) for n in range(1000)]
WHOLE = list(enumerate(BODIES))
SMALL = {"block_bytes": 4000, "sync_interval": 3000}
STORED = {how: map_file(BODIES, Style(how, **SMALL)) for how in COMPRESSIONS}
BLOCK = STORED["BLOCK"]
KEYS = [-1, *range(len(BODIES))]


def index_to(stored_as: str, last: int) -> bytes:
    """The index as it was when the first `last` records were written."""
    return index_of(KEYS[:last], STORED[stored_as].places[:last], Style())


def test_sound_copies(tmp_path: Path) -> None:
    for number, stored in enumerate(STORED.values(), 1):
        put_map_file(tmp_path, stored, ledger_id=number)
    seen = see(tmp_path)
    assert seen.codes() == {}
    for number, stored in enumerate(STORED.values(), 1):
        copy = seen.copy(number)
        assert (copy.kind, copy.status, copy.selected) == ("filesystem", "ok", True)
        assert (copy.data_bytes, copy.index_bytes) == (len(stored.data), len(stored.index))
        assert (copy.expected_entries, copy.expected_bytes) == (1000, sum(map(len, BODIES)))
        assert (copy.expected_data_bytes, copy.created_time_ms) == (None, 1_700_000_000_000)
        assert copy.topic == "persistent://tenant/space/topic"


@pytest.mark.parametrize("how", COMPRESSIONS)
def test_without_an_index(how: str, tmp_path: Path) -> None:
    (put_map_file(tmp_path, STORED[how]) / "index").unlink()
    seen = see(tmp_path)
    assert seen.codes() == {"S05": ["7"]}
    assert (seen.copy().status, seen.entries[7]) == ("damaged", WHOLE)


def test_without_data(tmp_path: Path) -> None:
    (put_map_file(tmp_path, BLOCK) / "data").unlink()
    seen = see(tmp_path)
    assert seen.codes() == {"S04": ["7"]}
    assert (seen.copy().status, seen.copy().selected) == ("unreadable", False)
    assert seen.copy().topic == "persistent://tenant/space/topic"


def test_checksums_alone_are_no_ledger(tmp_path: Path) -> None:
    place = put_map_file(tmp_path, BLOCK)
    (place / "data").unlink()
    (place / "index").unlink()
    assert see(tmp_path).codes() == {"S01": [str(tmp_path)], "S03": ["foreign"]}


@pytest.mark.parametrize("how", COMPRESSIONS)
@pytest.mark.parametrize("last", [0, 1, 300, 700])
def test_a_short_index(how: str, last: int, tmp_path: Path) -> None:
    """As an offload leaves it that ended before the index was closed."""
    seen = _with_index(tmp_path, how, index_to(how, last))
    assert seen.codes() == {"S23": ["7"]}
    assert (seen.copy().status, seen.entries[7]) == ("ok", WHOLE)


def test_an_index_that_ends_inside_its_block(tmp_path: Path) -> None:
    for cut in (len(BLOCK.index) - 1, len(BLOCK.index) - 30, len(BLOCK.index) - 40):
        assert _with_index(tmp_path, "BLOCK", BLOCK.index[:cut]).codes() == {"S23": ["7"]}


@pytest.mark.parametrize("how", COMPRESSIONS)
def test_an_index_of_another_file(how: str, tmp_path: Path) -> None:
    other = map_file([body * 2 for body in BODIES], Style(how, **SMALL))
    seen = _with_index(tmp_path, how, other.index)
    assert seen.codes() == {"S09": ["7"]}
    assert (seen.copy().status, seen.entries[7]) == ("damaged", WHOLE)


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        ([-1, 200, 100], [0, 1, 2]),  # keys fall
        ([-1, 200, 400], [0, 2, 1]),  # places fall
        ([0, 200], [0, 1]),  # the first is not the metadata's
        ([-1, 200], [0, 1 << 40]),  # beyond the end
        ([-1, 200], [0, 1]),  # no block begins there
    ],
)
def test_an_index_that_cannot_be(keys: list[int], places: list[int], tmp_path: Path) -> None:
    made = index_of(keys, [BLOCK.header + place for place in places], Style(index_interval=1))
    if places == [0, 2, 1]:  # the writer would leave it out
        made = index_of(keys, [BLOCK.header, BLOCK.header + 2, BLOCK.header + 3], Style(index_interval=1))
    assert _with_index(tmp_path, "BLOCK", made).codes() == {"S09": ["7"]}


@pytest.mark.parametrize("at", [0, 5, 40])
def test_an_index_that_is_none(at: int, tmp_path: Path) -> None:
    seen = _with_index(tmp_path, "BLOCK", BLOCK.index[:at] + b"\xee" + BLOCK.index[at + 1 :])
    assert seen.codes() == {"S08": ["7"]}
    assert seen.entries[7] == WHOLE


@pytest.mark.parametrize("interval", [1, 32, 128, 400])
@pytest.mark.parametrize("how", COMPRESSIONS)
def test_other_intervals_are_no_fault(how: str, interval: int, tmp_path: Path) -> None:
    stored = map_file(BODIES, Style(how, **SMALL, index_interval=interval))
    put_map_file(tmp_path, stored)
    assert see(tmp_path).codes() == {}


def _with_index(folder: Path, how: str, index: bytes) -> Seen:
    put_map_file(folder, STORED[how].with_index(index))
    return see(folder)


def test_ledger_metadata_that_are_not_there(tmp_path: Path) -> None:
    stored = map_file(BODIES, Style("NONE"))
    first = stored.places[1] - stored.places[0]
    data = stored.data[: stored.header] + stored.data[stored.header + first :]
    put_map_file(tmp_path, stored.with_data(data), checksums=False)
    seen = see(tmp_path)
    assert set(seen.codes()) == {"S12", "S09"}  # no record of key -1; and the index names other places
    assert seen.entries[7] == WHOLE
    assert seen.copy().topic == "persistent://tenant/space/topic"


def test_ledger_metadata_that_do_not_decode(tmp_path: Path) -> None:
    stored = map_file(BODIES, Style("NONE"))
    at = stored.places[0] + 20
    data = stored.data[:at] + b"\xff" * 30 + stored.data[at + 30 :]
    put_map_file(tmp_path, stored.with_data(data), checksums=False)
    seen = see(tmp_path)
    assert (set(seen.codes()), seen.entries[7]) == ({"S09"}, WHOLE)
    assert seen.copy().expected_entries is None


def test_a_folder_that_names_another_topic(tmp_path: Path) -> None:
    put_map_file(tmp_path, BLOCK, managed_ledger="tenant/space/persistent/other")
    seen = see(tmp_path)
    assert seen.codes() == {"S09": ["7"]}
    assert seen.copy().topic == "persistent://tenant/space/topic"


def test_a_folder_that_names_no_topic(tmp_path: Path) -> None:
    put_map_file(tmp_path, BLOCK, managed_ledger="backup")
    assert see(tmp_path).codes() == {}
    put_map_file(tmp_path / "x", map_file(BODIES, managed_ledger=None), ledger_id=8, managed_ledger="backup")
    seen = see(tmp_path / "x")
    assert (seen.codes(), seen.copy(8).topic) == ({"S18": ["8"]}, None)


def test_a_topic_named_by_its_folder_alone(tmp_path: Path) -> None:
    put_map_file(tmp_path, map_file(BODIES, managed_ledger=None), managed_ledger="a/b/persistent/c%2Bd-partition-3")
    seen = see(tmp_path)
    assert (seen.codes(), seen.copy().topic) == ({}, "persistent://a/b/c+d-partition-3")


@pytest.mark.parametrize(
    ("sums", "code"),
    [
        (crc_file(BLOCK.data + bytes(5000)), "S10"),  # the data were longer
        (crc_file(BLOCK.data[:-5000]), "S24"),
        (b"crc\0\0\0\2\0", "S24"),
        (b"", "S24"),
        (b"other bytes", "S24"),
    ],
)
def test_checksum_files_of_another_length(sums: bytes, code: str, tmp_path: Path) -> None:
    (put_map_file(tmp_path, BLOCK) / ".data.crc").write_bytes(sums)
    seen = see(tmp_path)
    assert seen.codes() == {code: ["7"]}
    assert seen.entries[7] == WHOLE


def test_checksums_of_other_chunks_are_no_fault(tmp_path: Path) -> None:
    (put_map_file(tmp_path, BLOCK) / ".data.crc").write_bytes(crc_file(BLOCK.data, 4096))
    seen = see(tmp_path)
    assert (seen.codes(), seen.faults[7]) == ({}, [])


def test_a_codec_that_is_not_read(tmp_path: Path) -> None:
    put_map_file(tmp_path, BLOCK.with_data(BLOCK.data.replace(b"DefaultCodec", b"LzoWhatCodec")), checksums=False)
    seen = see(tmp_path)
    assert seen.codes()["S21"] == ["7"]
    assert seen.copy().status == "unreadable"
    assert "LzoWhatCodec" in next(f.message for f in seen.inventory.findings if f.code == "S21")


def test_which_of_several_copies_is_scanned(tmp_path: Path) -> None:
    put_map_file(tmp_path, STORED["NONE"], uuid=OTHER_UUID)
    data, _ = put(tmp_path, jcloud.offload(BODIES))
    assert data.stat().st_size < len(STORED["NONE"].data)  # lengths of two kinds say nothing
    assert _chosen(tmp_path) == "jcloud"  # both are sound
    assert _chosen(tmp_path, OTHER_UUID) == "filesystem"  # the broker knows that one
    put(tmp_path, jcloud.offload(BODIES))[1].unlink()
    assert _chosen(tmp_path) == "filesystem"  # the other one lacks its index
    seen = see(tmp_path)
    assert seen.codes() == {"S06": ["7"]}
    assert seen.entries[7] == WHOLE


def _chosen(folder: Path, uuid: str | None = None) -> str:
    broker = {7: LedgerRecord(7, "persistent://tenant/space/topic", uuid, True, None, None, None)} if uuid else {}
    copies = take_inventory(open_source(str(folder)), broker_copies=broker).copies
    assert sorted(copy.copy for copy in copies) == sorted([UUID, OTHER_UUID])
    (chosen,) = (copy.kind for copy in copies if copy.selected)
    return chosen


def test_files_nearly_named_so(tmp_path: Path) -> None:
    place = put_map_file(tmp_path, BLOCK)
    (place / "data.bak").write_bytes(b"?")
    (place.parent / f"07-{UUID}").mkdir()
    (place.parent / f"07-{UUID}" / "data").write_bytes(b"?")
    (place.parent / f"9999999999999999999-{UUID}").mkdir()
    (place.parent / f"9999999999999999999-{UUID}" / "data").write_bytes(b"?")
    seen = see(tmp_path)
    assert seen.codes() == {"S03": ["foreign"]}
    assert [finding.count for finding in seen.inventory.findings] == [3]
