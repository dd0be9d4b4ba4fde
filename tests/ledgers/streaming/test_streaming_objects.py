"""Ledgers in objects of streaming offload: several in one object, one in several, whole and damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers import spread_units
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.reconciliation.compare import reconciled
from tests.examples import examples
from tests.ledgers import encoding as jcloud
from tests.ledgers.encoding import OTHER_UUID, UUID
from tests.ledgers.sources import put, see
from tests.ledgers.streaming.encoding import Stretch, closed, header, index, put_segment, segment
from tests.scanning.scans import scanned
from tests.wire.encode import entry

FIVE = [entry(payload=bytes([n % 256]) * (n % 7 * 30)) for n in range(90)]
SIX = [entry(payload=bytes([n % 256]) * 50) for n in range(40)]
THIRD_UUID = "11111111-7425-40de-944b-e07fc1f90ae7"
WHOLE = {5: list(enumerate(FIVE)), 6: list(enumerate(SIX))}
FIRST = segment([closed(5, FIVE, 0, 60)], 2000)
SECOND = segment([closed(5, FIVE, 60), closed(6, SIX)], 2000)


def damaged(path: Path, at: int, change: bytes) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:at] + change + data[at + len(change) :])


def test_one_object_has_several_ledgers_and_several_have_one(tmp_path: Path) -> None:
    put_segment(tmp_path, FIRST)
    put_segment(tmp_path / "elsewhere", SECOND, OTHER_UUID)
    seen = see(tmp_path, window_bytes=600, unit_bytes=5000)
    assert seen.entries == WHOLE
    assert seen.faults == {5: [], 6: []}
    assert seen.codes() == {"S18": ["5", "6"]}  # no object names a topic
    five = seen.copy(5)
    assert (five.kind, five.copy, five.status, five.ledger_state) == ("streaming", "streaming", "ok", "CLOSED")
    assert (five.expected_entries, five.expected_bytes) == (len(FIVE), sum(map(len, FIVE)))
    assert {block.uri for block in five.blocks} == {UUID, f"elsewhere/{OTHER_UUID}"}
    assert len(five.blocks) == 5
    rows, rejects, account = scanned(open_source(str(tmp_path)))
    assert (rejects, account.frames) == ([], len(FIVE) + len(SIX))
    for ledger_id, bodies in ((5, FIVE), (6, SIX)):
        for row in rows[ledger_id]:
            stored = (tmp_path / row["uri"]).read_bytes()[row["offset"] : row["offset"] + row["length"]]
            assert stored == bodies[row["entry_id"]]


def test_a_row_of_the_inventory_is_the_plan_of_the_scan(tmp_path: Path) -> None:
    put_segment(tmp_path, FIRST)
    put_segment(tmp_path, segment([closed(5, FIVE, 50), closed(6, SIX)], 3000), OTHER_UUID)
    source = open_source(str(tmp_path))
    for copy in take_inventory(source).copies:
        plan = PlannedCopy.from_row(copy.row("lab"))
        batches = [batch for unit in units_of(plan, 4000) for batch in walk_unit(source, unit)]
        assert [i for batch in batches for i in batch.entry_id.tolist()] == [i for i, _ in WHOLE[copy.ledger_id]]


def test_an_open_ledger_promises_nothing(tmp_path: Path) -> None:
    put_segment(tmp_path, segment([Stretch(5, 0, FIVE[:60], None)], 2000))
    seen = see(tmp_path)
    assert (seen.entries[5], seen.faults[5]) == (WHOLE[5][:60], [])
    assert (seen.copy(5).expected_entries, seen.copy(5).expected_bytes, seen.copy(5).ledger_state) == (
        None,
        None,
        "OPEN",
    )


def test_what_no_object_has_is_told(tmp_path: Path) -> None:
    put_segment(tmp_path, segment([closed(5, FIVE, 20, 60)], 2000))
    put_segment(tmp_path, segment([closed(5, FIVE, 70, 80)], 2000), OTHER_UUID)
    seen = see(tmp_path)
    assert seen.entries[5] == WHOLE[5][20:60] + WHOLE[5][70:80]
    told = [(fault.code, fault.expected, fault.entry_id) for fault in seen.faults[5]]
    absent = [("entries 0 to 19", 0), ("entries 60 to 69", 60), ("entries 80 to 89", 80)]
    assert sorted(told, key=lambda one: one[2] or 0) == [("entries_absent", *one) for one in absent]


@examples(60)
@given(
    cuts=st.lists(st.tuples(st.integers(0, 89), st.integers(1, 90), st.integers(200, 3000)), min_size=1, max_size=5),
    unit_bytes=st.integers(500, 30_000),
    window_bytes=st.integers(100, 5000),
)
def test_any_segments_give_each_entry_once(
    cuts: list[tuple[int, int, int]], unit_bytes: int, window_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Segments that overlap, leave something out, begin or end anywhere, in blocks of any size."""
    folder = tmp_path_factory.mktemp("cuts")
    held = set()
    for number, (first, count, block_bytes) in enumerate(cuts):
        stretch = closed(5, FIVE, first, first + count)
        put_segment(folder, segment([stretch, closed(6, SIX)], block_bytes), f"{UUID[:-1]}{number}")
        held |= set(range(first, first + len(stretch.bodies)))
    seen = see(folder, window_bytes, unit_bytes)
    assert seen.entries == {5: [WHOLE[5][i] for i in sorted(held)], 6: WHOLE[6]}
    absent = set(range(len(FIVE))) - held
    assert {fault.code for fault in seen.faults[5]} == ({"entries_absent"} if absent else set())
    assert sum(_count(fault.expected) for fault in seen.faults[5]) == len(absent)
    assert seen.faults[6] == []


def _count(ids: str) -> int:
    first, _, last = ids.partition(" ")[2].partition(" to ")
    return int(last or first) - int(first) + 1


def test_copies_that_differ_are_told_and_the_sound_one_is_given(tmp_path: Path) -> None:
    data, _ = put_segment(tmp_path, FIRST)
    other, _ = put_segment(tmp_path, segment([closed(5, FIVE, 5)], 3000), OTHER_UUID)
    at = data.read_bytes().index(FIVE[20]) + len(FIVE[20]) - 1
    damaged(data, at, b"\xee")
    there = other.read_bytes().index(FIVE[30]) + len(FIVE[30]) - 1
    damaged(other, there, b"\xee")
    seen = see(tmp_path)
    assert seen.entries[5] == WHOLE[5]
    faults = seen.faults[5]
    assert [(fault.code, fault.entry_id) for fault in faults] == [("copies_differ", 20), ("copies_differ", 30)]
    assert [(fault.path, fault.offset) for fault in faults] == [(UUID, at), (OTHER_UUID, there)]


def test_a_fault_of_a_block_that_units_share_is_told_once(tmp_path: Path) -> None:
    put_segment(tmp_path, segment([closed(5, FIVE)], 1000))
    data, _ = put_segment(tmp_path, segment([closed(5, FIVE)], 8000), OTHER_UUID)
    damaged(data, 90, b"\7")
    source = open_source(str(tmp_path))
    (copy,) = take_inventory(source).copies
    assert len(list(units_of(copy, 3000))) > 1
    seen = see(tmp_path, unit_bytes=3000)
    assert seen.entries[5] == WHOLE[5]
    assert [(fault.code, fault.path) for fault in seen.faults[5]] == [("block_header_not_zero", OTHER_UUID)]


def test_more_overlap_than_is_held_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_segment(tmp_path, FIRST)
    put_segment(tmp_path, FIRST, OTHER_UUID)
    monkeypatch.setattr(spread_units, "MAX_HELD_BYTES", 3000)
    source = open_source(str(tmp_path))
    (copy,) = take_inventory(source).copies
    with pytest.raises(SourceError, match="are held at once"):
        [batch for unit in units_of(copy) for batch in walk_unit(source, unit)]


@pytest.mark.parametrize("with_index", [True, False])
def test_blocks_that_go_on_behind_their_end_as_the_offloader_writes_them(with_index: bool, tmp_path: Path) -> None:
    equal = [entry(payload=bytes([n]) * 200) for n in range(60)]
    stored = segment([closed(5, equal), closed(6, SIX)], 2000, leave_out_first=True)
    index_object = put_segment(tmp_path, stored)[1]
    if not with_index:
        index_object.unlink()
    seen = see(tmp_path, window_bytes=700)
    assert seen.entries == {5: list(enumerate(equal)), 6: WHOLE[6]}
    assert {fault.code for fault in seen.faults[5]} == {"block_bad_length"}
    said = {"S05", "S12", "S18"} if not with_index else {"S09", "S11", "S18"}
    assert set(seen.codes()) == said


def test_an_entry_that_the_offloader_dropped_is_missed(tmp_path: Path) -> None:
    """A large first entry is left out of the length, so that small ones behind it find no room."""
    bodies = [entry(payload=b"x" * 900), *SIX]
    put_segment(tmp_path, segment([closed(5, bodies)], 500, leave_out_first=True))
    seen = see(tmp_path)
    got = {entry_id for entry_id, _ in seen.entries[5]}
    assert len(got) < len(bodies)
    assert [bodies[i] for i in sorted(got)] == [body for _, body in seen.entries[5]]
    assert {"block_entry_count", "block_bad_length"} <= set(seen.fault_codes(5))


def test_without_its_index_the_headers_tell(tmp_path: Path) -> None:
    put_segment(tmp_path, FIRST)[1].unlink()
    put_segment(tmp_path, SECOND, OTHER_UUID)[1].write_bytes(SECOND.index[:-1])
    seen = see(tmp_path)
    assert seen.entries == WHOLE
    assert seen.codes() == {"S05": ["5"], "S08": ["5", "6"], "S18": ["5", "6"]}
    assert [fault.path for fault in seen.copy(6).structure_faults] == [f"{OTHER_UUID}-index"]


def test_index_without_data(tmp_path: Path) -> None:
    put_segment(tmp_path, SECOND)[0].unlink()
    seen = see(tmp_path)
    assert (seen.codes(), seen.entries) == ({"S04": ["5", "6"], "S18": ["5", "6"]}, {})
    assert (seen.copy(6).status, seen.copy(6).expected_entries) == ("unreadable", len(SIX))


@pytest.mark.parametrize("with_index", [True, False])
def test_every_cut_of_the_data_keeps_what_is_readable(with_index: bool, tmp_path: Path) -> None:
    data, index_object = put_segment(tmp_path, SECOND)
    if not with_index:
        index_object.unlink()
    for end in range(0, len(SECOND.data), 97):
        data.write_bytes(SECOND.data[:end])
        seen = see(tmp_path)
        held = [body for entries in seen.entries.values() for _, body in entries]
        stored = sum(SECOND.data[:end].count(body) for body in dict.fromkeys([*FIVE[60:], *SIX]))
        assert len(held) >= stored - 2  # equal bodies may lie in another entry
        for ledger_id, entries in seen.entries.items():
            assert all(WHOLE[ledger_id][entry_id] == (entry_id, body) for entry_id, body in entries)
        codes = set(seen.codes())
        assert codes & ({"S10", "S04"} if with_index and end else {"S01", "S03", "S05", "S12", "S10"}), (end, codes)


@pytest.mark.parametrize(
    ("at", "change", "code"),
    [
        (0, b"\0", "block_bad_magic"),
        (4, b"\1", "block_bad_header_length"),
        (12, struct.pack(">q", 200), "block_bad_length"),
        (12, struct.pack(">q", 2**62), "block_bad_length"),
        (12, struct.pack(">q", -5), "block_bad_length"),
        (20, struct.pack(">q", 3), "block_bad_first_entry"),
        (20, struct.pack(">q", -1), "block_bad_first_entry"),
        (28, struct.pack(">q", 2**62), "block_bad_ledger"),
        (28, struct.pack(">q", -1), "block_bad_ledger"),
        (90, b"\7", "block_header_not_zero"),
    ],
)
@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_damaged_header_loses_nothing_while_there_is_an_index(
    at: int, change: bytes, code: str, number: int, tmp_path: Path
) -> None:
    data, _ = put_segment(tmp_path, SECOND)
    damaged(data, SECOND.offsets[number] + at, change)
    put_segment(tmp_path, FIRST, OTHER_UUID)
    seen = see(tmp_path)
    assert seen.entries == WHOLE
    ledger_id = 6 if number == -1 else 5
    assert seen.fault_codes(ledger_id) == [code]
    assert seen.faults[ledger_id][0].path == UUID
    assert seen.fault_codes(11 - ledger_id) == []


@pytest.mark.parametrize(("at", "change"), [(0, b"\0"), (4, b"\1"), (12, struct.pack(">q", 2**62)), (90, b"\7")])
def test_nor_without_one_while_two_marks_of_three_hold(at: int, change: bytes, tmp_path: Path) -> None:
    data, index_object = put_segment(tmp_path, SECOND)
    damaged(data, SECOND.offsets[1] + at, change)
    index_object.unlink()
    put_segment(tmp_path, FIRST, OTHER_UUID)
    assert see(tmp_path).entries == WHOLE


def test_a_header_that_is_gone_costs_its_block(tmp_path: Path) -> None:
    data, index_object = put_segment(tmp_path, FIRST)
    damaged(data, FIRST.offsets[1], bytes(128))
    index_object.unlink()
    seen = see(tmp_path)
    firsts = [block.first_entry_id for block in seen.copy(5).blocks]
    assert len(firsts) == len(FIRST.offsets) - 1
    second = [i for i in range(60) if i not in {entry_id for entry_id, _ in seen.entries[5]}]
    assert second == list(range(second[0], second[-1] + 1))
    assert len(second) < 30
    assert {"padding_bad", "block_entry_count"} & set(seen.fault_codes(5))


def test_an_index_that_lies_is_told_and_the_data_believed(tmp_path: Path) -> None:
    lying = segment([closed(6, FIVE[60:]), closed(5, SIX)], 2000).index  # the ledgers changed places
    put_segment(tmp_path, SECOND)[1].write_bytes(lying)
    put_segment(tmp_path, FIRST, OTHER_UUID)
    seen = see(tmp_path)
    assert seen.codes()["S09"] == ["5", "6"]
    assert seen.entries[6] == WHOLE[6][:30]  # it also says that ledger 6 ends there
    assert "entry_after_end" in seen.fault_codes(6)


def test_bytes_behind_the_last_block(tmp_path: Path) -> None:
    data, _ = put_segment(tmp_path, SECOND)
    data.write_bytes(SECOND.data + b"surplus")
    seen = see(tmp_path)
    assert seen.entries[6] == WHOLE[6]
    assert seen.codes()["S11"] == ["5", "6"]
    (fault,) = seen.copy(6).structure_faults
    assert (fault.code, fault.offset, fault.path) == ("bytes_after_last_block", len(SECOND.data), UUID)


def test_entries_behind_the_end_of_the_ledger_are_none(tmp_path: Path) -> None:
    put_segment(tmp_path, segment([Stretch(5, 0, FIVE, (80, 10_000))], 2000))
    seen = see(tmp_path)
    assert seen.entries[5] == WHOLE[5][:80]
    assert seen.fault_codes(5)[0] == "entry_after_end"


def test_a_header_in_a_message_begins_no_block(tmp_path: Path) -> None:
    """What a producer sends is not looked at for headers, also where the true one is damaged."""
    forged = header(500, 9, 666) + bytes(400)
    bodies = [*SIX[:5], entry(payload=forged), *SIX[5:]]
    data, index_object = put_segment(tmp_path, segment([closed(5, bodies), closed(6, SIX)], 10_000))
    index_object.unlink()
    damaged(data, 12, struct.pack(">q", 2**62))  # the first block is padded: what follows it is searched
    assert see(tmp_path).entries == {5: list(enumerate(bodies)), 6: WHOLE[6]}


@examples(150)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(SECOND.data) - 1), st.binary(min_size=1, max_size=12)), min_size=1, max_size=4
    ),
    with_index=st.booleans(),
)
def test_any_damage_is_no_error(
    changes: list[tuple[int, bytes]], with_index: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    data, index_object = put_segment(folder, SECOND)
    for at, change in changes:
        damaged(data, at, change)
    data.write_bytes(data.read_bytes()[: len(SECOND.data)])
    if not with_index:
        index_object.unlink()
    seen = see(folder, window_bytes=900, unit_bytes=3000)
    for entries in seen.entries.values():
        ids = [entry_id for entry_id, _ in entries]
        assert ids == sorted(set(ids))


@examples(80)
@given(changes=st.lists(st.tuples(st.integers(0, len(SECOND.index) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_damaged_index_loses_no_entry(
    changes: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("index")
    _, index_object = put_segment(folder, SECOND)
    for at, value in changes:
        damaged(index_object, at, bytes([value]))
    seen = see(folder)
    promised = {copy.ledger_id: copy.expected_entries for copy in seen.inventory.copies}
    for ledger_id, first in ((5, 60), (6, 0)):
        whole = WHOLE[ledger_id][first : promised.get(ledger_id)]
        assert seen.entries.get(ledger_id, [])[: len(whole)] == whole


def test_a_ledger_that_is_stored_both_ways(tmp_path: Path) -> None:
    put(tmp_path, jcloud.offload(SIX), 6)
    put_segment(tmp_path, SECOND, OTHER_UUID)
    seen = see(tmp_path)
    assert seen.codes()["S06"] == ["6"]
    assert [copy.kind for copy in seen.inventory.copies if copy.ledger_id == 6 and copy.selected] == ["jcloud"]
    assert seen.entries[6] == WHOLE[6]


def test_objects_are_counted_by_ledger(tmp_path: Path) -> None:
    put_segment(tmp_path, FIRST)
    put_segment(tmp_path, SECOND, OTHER_UUID)
    (tmp_path / THIRD_UUID).write_bytes(b"something else")
    source = open_source(str(tmp_path))
    found = survey(source, take_listing(source))
    assert {(one.code, one.subject) for one in found.findings} == {("S03", "foreign")}
    rows = reconciled([], [], None, found.streamed)
    assert [(row.ledger_id, row.kind, row.copy, row.judged.verdict, row.leaks) for row in rows] == [
        (5, "streaming", f"{UUID} from 0", "undecided", False),
        (5, "streaming", f"{OTHER_UUID} from 60", "undecided", False),
        (6, "streaming", f"{OTHER_UUID} from 0", "undecided", False),
    ]
    stored = (FIRST.data, FIRST.index, SECOND.data, SECOND.index)
    assert sum(row.row("lab")["bytes"] for row in rows) == sum(map(len, stored))


def test_what_cannot_be_looked_into_is_not_called_foreign(tmp_path: Path) -> None:
    put_segment(tmp_path, SECOND, OTHER_UUID)
    source = open_source(str(tmp_path))
    listing = take_listing(source)
    listing.streams.append(StoredObject("gone", 9, None))  # deleted since it was listed
    found = survey(source, listing)
    assert "S03" not in {one.code for one in found.findings}
    assert [one.incomplete for one in found.findings if one.subject.endswith("gone")] == [True]


def test_only_the_asked_ledger_is_looked_at(tmp_path: Path) -> None:
    put_segment(tmp_path, FIRST)
    put_segment(tmp_path, SECOND, OTHER_UUID)
    source = open_source(str(tmp_path))
    (found,) = survey(source, take_listing(source), {6}).attempts
    assert (found.pair.ledger_id, len(found.blocks)) == (6, 2)


def test_hostile_numbers_allocate_nothing(tmp_path: Path) -> None:
    (tmp_path / UUID).write_bytes(header(2**62, 2**62, 2**62) + struct.pack(">iq", 2**31 - 1, 2**62) + bytes(60))
    ledger = struct.pack(">qii", 2**62, 1, 4) + b"\x10\xff\xff\x7f" + struct.pack(">qiq", 2**62, 1, 0)
    (tmp_path / f"{UUID}-index").write_bytes(index([ledger], 2**62))
    seen = see(tmp_path)
    assert seen.entries == {2**62: []}
    assert seen.codes()["S10"] == [str(2**62)]
