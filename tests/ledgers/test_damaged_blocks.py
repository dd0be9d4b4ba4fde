"""Damage in a data object: its exact fault, and every other entry is still read."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from pulsar_backlog.ledgers import walk
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from tests.examples import examples
from tests.ledgers.encoding import Offloaded, block_entry, header, offload, padding
from tests.ledgers.sources import put, see, whole

BODIES = tuple(bytes([65 + n]) * size for n, size in enumerate((40, 0, 300, 7, 111, 260, 1, 90, 200, 33)))
STORED = offload(BODIES, block_bytes=700)
FIRST_OF_1 = STORED.first_ids[1]
AT_1 = STORED.offsets[1]


def entry_at(stored: Offloaded, entry_id: int) -> int:
    """Where an entry's header lies."""
    block = max(n for n, first in enumerate(stored.first_ids) if first <= entry_id)
    before = range(stored.first_ids[block], entry_id)
    return stored.offsets[block] + 128 + sum(12 + len(stored.entries[n]) for n in before)


def damaged(stored: Offloaded, at: int, new: bytes) -> Offloaded:
    data = bytearray(stored.data)
    data[at : at + len(new)] = new
    return Offloaded(bytes(data), stored.index, stored.offsets, stored.first_ids, stored.entries)


def without(stored: Offloaded, missing: range) -> list[tuple[int, bytes]]:
    return [entry for entry in whole(stored) if entry[0] not in missing]


def walked(
    folder: Path, data: bytes, *blocks: Block, window: int = 1 << 20, first: int | None = None
) -> tuple[list[tuple[int, bytes]], list[Fault]]:
    """Walk blocks of an object as they are given, without an inventory."""
    folder.mkdir(exist_ok=True)
    (folder / "object").write_bytes(data)
    unit = ScanUnit(7, "copy", None, "object", 0, blocks)
    entries, faults = [], []
    for batch in walk.walk_unit(open_source(str(folder)), unit, window, first):
        for i, at, size in zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True):
            entries.append((i, batch.buffer[at : at + size].tobytes()))
        faults += batch.faults
    return entries, faults


def test_the_example_has_what_the_tests_need() -> None:
    assert len(STORED.offsets) >= 3
    assert b"\xfe\xdc\xde\xad" in STORED.data


@pytest.mark.parametrize("window", [1, 64, 200, 701, 1 << 20])
def test_sound_blocks(tmp_path: Path, window: int) -> None:
    put(tmp_path, STORED)
    seen = see(tmp_path, window)
    assert seen.entries[7] == whole(STORED)
    assert seen.faults[7] == []
    assert seen.codes() == {}


@pytest.mark.parametrize("first", [1, 64, 200, 701])
def test_a_small_first_window_changes_nothing(tmp_path: Path, first: int) -> None:
    ends = (*STORED.offsets[1:], len(STORED.data))
    places = zip(STORED.offsets, ends, STORED.first_ids, strict=True)
    blocks = [Block(at, end - at, first_id, None, is_last=end == len(STORED.data)) for at, end, first_id in places]
    assert walked(tmp_path, STORED.data, *blocks, first=first) == (whole(STORED), [])


@pytest.mark.parametrize(
    ("at", "new", "code"),
    [
        (0, b"\x00", "block_bad_magic"),
        (4, struct.pack(">q", 129), "block_bad_header_length"),
        (12, struct.pack(">q", 701), "block_bad_length"),
        (12, struct.pack(">q", -1), "block_bad_length"),
        (20, struct.pack(">q", 2**62), "block_bad_first_entry"),
        (28, b"\x01", "block_header_not_zero"),
        (127, b"\x01", "block_header_not_zero"),
    ],
)
def test_block_header(tmp_path: Path, at: int, new: bytes, code: str) -> None:
    put(tmp_path, damaged(STORED, AT_1 + at, new))
    seen = see(tmp_path)
    assert [(fault.code, fault.entry_offset, fault.offset) for fault in seen.faults[7]] == [(code, AT_1, AT_1 + at)]
    assert seen.entries[7] == whole(STORED)  # a broker never looks at headers either


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, 601])
@pytest.mark.parametrize("window", [100, 1 << 20])
def test_hostile_entry_length(tmp_path: Path, length: int, window: int) -> None:
    victim = FIRST_OF_1 + 1
    at = entry_at(STORED, victim)
    put(tmp_path, damaged(STORED, at, struct.pack(">i", length)))
    seen = see(tmp_path, window)
    overrun, count = seen.faults[7]
    assert (overrun.code, overrun.offset, overrun.entry_id) == ("entry_overruns_block", at, victim)
    assert overrun.found == str(length)
    assert (count.code, count.found) == ("block_entry_count", f"{victim - FIRST_OF_1} entries")
    assert seen.entries[7] == without(STORED, range(victim, STORED.first_ids[2]))


def test_one_damaged_id(tmp_path: Path) -> None:
    victim = FIRST_OF_1
    put(tmp_path, damaged(STORED, entry_at(STORED, victim) + 4, struct.pack(">q", 2**40)))
    seen = see(tmp_path)
    [fault] = seen.faults[7]
    assert (fault.code, fault.entry_id) == ("entry_id_out_of_order", victim)
    assert (fault.expected, fault.found) == (str(victim), str(2**40))
    assert seen.entries[7] == whole(STORED)  # ids by place


def test_missing_entry_inside_a_block(tmp_path: Path) -> None:
    ids = [0, 1, 2, 4, 5, 6]
    body = b"".join(block_entry(n, b"x" * n) for n in ids)
    data = header(128 + len(body), 0) + body
    entries, faults = walked(tmp_path, data, Block(0, len(data), 0, 7, is_last=True))
    assert entries == [(n, b"x" * n) for n in ids]
    assert [fault.code for fault in faults] == ["entry_id_out_of_order", "block_entry_count"]
    assert (faults[0].expected, faults[0].found) == ("3", "4")


def test_missing_entry_just_before_the_last(tmp_path: Path) -> None:
    data = header(128 + 3 * 13 + 2, 0) + block_entry(0, b"a") + block_entry(1, b"b") + block_entry(3, b"d") + padding(2)
    entries, faults = walked(tmp_path, data, Block(0, len(data), 0, 4, is_last=True))
    assert [entry_id for entry_id, _ in entries] == [0, 1, 3]
    assert [fault.code for fault in faults] == ["entry_id_out_of_order", "block_entry_count"]


def test_zeros_are_not_entries(tmp_path: Path) -> None:
    # What a sparse copy leaves: twelve zero bytes would be an empty entry with id 0.
    at = entry_at(STORED, FIRST_OF_1 + 1)
    put(tmp_path, damaged(STORED, at, bytes(STORED.offsets[2] - at)))
    seen = see(tmp_path)
    assert seen.fault_codes() == ["entry_id_out_of_order", "block_entry_count"]
    assert seen.entries[7] == without(STORED, range(FIRST_OF_1 + 1, STORED.first_ids[2]))


def test_more_entries_than_fit_before_the_next_block(tmp_path: Path) -> None:
    body = b"".join(block_entry(n, b"x") for n in range(5))
    data = header(128 + len(body), 0) + body
    entries, faults = walked(tmp_path, data, Block(0, len(data), 0, 3), Block(len(data), 141, 3, 1, is_last=True))
    assert [entry_id for entry_id, _ in entries] == [0, 1, 2]  # 3 belongs to the next block
    assert [fault.code for fault in faults] == ["block_entry_count", "block_beyond_end"]
    entries, faults = walked(tmp_path, data, Block(0, len(data), 0, 3, is_last=True))
    assert [entry_id for entry_id, _ in entries] == [0, 1, 2, 3, 4]
    assert [fault.code for fault in faults] == ["block_entry_count"]


@pytest.mark.parametrize("place", ["first", "second", "last"])
@pytest.mark.parametrize("window", [37, 1 << 20])
def test_bad_padding(tmp_path: Path, place: str, window: int) -> None:
    start = entry_at(STORED, FIRST_OF_1 - 1) + 12 + len(BODIES[FIRST_OF_1 - 1])
    assert STORED.data[start : start + 4] == b"\xfe\xdc\xde\xad"
    at = {"first": start + 4, "second": start + 5, "last": AT_1 - 1}[place]
    put(tmp_path, damaged(STORED, at, b"\x00"))
    seen = see(tmp_path, window)
    assert [(fault.code, fault.offset, fault.found) for fault in seen.faults[7]] == [("padding_bad", at, "other bytes")]
    assert seen.entries[7] == whole(STORED)


@pytest.mark.parametrize("length", range(12))
def test_short_padding_is_checked(tmp_path: Path, length: int) -> None:
    data = header(141 + length, 0) + block_entry(0, b"a") + padding(length)
    block = Block(0, len(data), 0, 1, is_last=True)
    assert walked(tmp_path, data, block) == ([(0, b"a")], [])
    if length:
        entries, faults = walked(tmp_path, data[:-1] + b"\x07", block)
        assert entries == [(0, b"a")]
        assert [fault.code for fault in faults] == ["padding_bad"]


def test_padding_shifted_by_one_is_no_padding(tmp_path: Path) -> None:
    data = header(141 + 9, 0) + block_entry(0, b"a") + (b"\xdc\xde\xad\xfe" * 3)[:9]
    _, faults = walked(tmp_path, data, Block(0, len(data), 0, 1, is_last=True))
    assert [fault.code for fault in faults] == ["padding_bad"]


def test_long_padding_over_many_windows(tmp_path: Path) -> None:
    data = header(20_000, 0) + block_entry(0, b"a") + padding(20_000 - 141)
    block = Block(0, len(data), 0, 1, is_last=True)
    assert walked(tmp_path, data, block, window=777) == ([(0, b"a")], [])
    _, faults = walked(tmp_path, data[:15_001] + b"\x00" + data[15_002:], block, window=777)
    assert [(fault.code, fault.offset) for fault in faults] == [("padding_bad", 15_001)]


@pytest.mark.parametrize("window", [50, 1 << 20])
def test_every_truncation(tmp_path: Path, window: int) -> None:
    """However short the object: the entries before the cut, faults for the rest, and nothing else."""
    data_path, _ = put(tmp_path, STORED)
    ends = {entry_id: entry_at(STORED, entry_id) + 12 + len(body) for entry_id, body in whole(STORED)}
    for size in range(0, len(STORED.data), 7 if window == 50 else 1):
        data_path.write_bytes(STORED.data[:size])
        seen = see(tmp_path, window)
        assert seen.entries[7] == [(i, body) for i, body in whole(STORED) if ends[i] <= size], size
        assert "block_beyond_end" in seen.fault_codes(), size
        assert seen.codes() == {"S10": ["7"]}, size
        cut = [fault for fault in seen.faults[7] if fault.code == "entry_overruns_block"]
        inside = [i for i in ends if entry_at(STORED, i) < size < ends[i]]
        assert [fault.entry_id for fault in cut] == inside, size


def test_lengthened(tmp_path: Path) -> None:
    data_path, _ = put(tmp_path, STORED)
    data_path.write_bytes(STORED.data + b"surplus")
    seen = see(tmp_path)
    assert seen.codes() == {"S11": ["7"]}
    assert seen.entries[7] == whole(STORED)
    [fault] = seen.copy().structure_faults
    assert (fault.code, fault.offset, fault.first_bytes) == ("bytes_after_last_block", len(STORED.data), b"surplus")
    assert seen.copy().uri_of(fault) == data_path.name


def test_rejects_have_keys_of_their_own(tmp_path: Path) -> None:
    data_path, index_path = put(tmp_path, STORED)
    for size in (0, 60, 300, 701):
        data_path.write_bytes(STORED.data[:size])
        seen = see(tmp_path, unit_bytes=1)
        keys = [(fault.entry_id, fault.offset, fault.code) for fault in seen.faults[7]]
        assert len(set(keys)) == len(keys)
    data_path.write_bytes(STORED.data[: AT_1 + 3] + b"\0" + STORED.data[AT_1 + 4 :] + b"surplus")
    index_path.unlink()
    seen = see(tmp_path)
    found = [*seen.faults[7], *seen.copy().structure_faults]
    assert [fault.code for fault in found] == ["block_bad_magic", "bytes_after_last_block"]
    assert found[1].first_bytes == b"surplus"


def test_entry_larger_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_ENTRY_BYTES", 250)
    put(tmp_path, STORED)
    seen = see(tmp_path, window_bytes=100)
    large = [i for i, body in whole(STORED) if 12 + len(body) > 250]
    assert [(fault.code, fault.entry_id) for fault in seen.faults[7]] == [("entry_overruns_block", i) for i in large]
    assert seen.entries[7] == [(i, body) for i, body in whole(STORED) if i not in large]


def test_faults_of_a_unit_are_bounded(tmp_path: Path) -> None:
    # Every second id is wrong: each is told of by itself, until there are too many.
    body = b"".join(block_entry(n if n % 2 else 2**50 + n * 3, b"") for n in range(4000))
    data = header(128 + len(body), 0) + body
    entries, faults = walked(tmp_path, data, Block(0, len(data), 0, 4000, is_last=True))
    assert [entry_id for entry_id, _ in entries] == list(range(4000))
    assert len(faults) == walk.MAX_FAULTS + 1
    assert faults[-1].found == "1000 more"
    assert (faults[-1].code, faults[-1].field) == ("entry_id_out_of_order", "unit")


def test_batches_are_bounded_and_share_no_python_objects(tmp_path: Path) -> None:
    stored = offload([b"x" * 1000] * 500)
    put(tmp_path, stored)
    source = open_source(str(tmp_path))
    [copy] = see(tmp_path).inventory.copies
    unit = ScanUnit(7, copy.copy, None, str(copy.data_uri), 0, copy.blocks)
    batches = list(walk.walk_unit(source, unit, 50_000))
    assert max(len(batch.buffer) for batch in batches) <= 50_000
    assert sum(len(batch.entry_id) for batch in batches) == 500
    for batch in batches:
        assert batch.entry_id.dtype == batch.offset.dtype == batch.length.dtype == np.int64
        assert stored.data[batch.base : batch.base + len(batch.buffer)] == batch.buffer.tobytes()


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, len(STORED.data) - 1),
    junk=st.binary(min_size=1, max_size=200),
    window=st.sampled_from([64, 1 << 20]),
)
def test_any_damage_is_confined(tmp_path: Path, at: int, junk: bytes, window: int) -> None:
    """Whatever is overwritten: no exception, no id twice, no bytes from outside, other blocks unharmed."""
    stored = damaged(STORED, at, junk[: len(STORED.data) - at])
    put(tmp_path, stored)
    seen = see(tmp_path, window)
    ids = [entry_id for entry_id, _ in seen.entries[7]]
    assert ids == sorted(set(ids))
    bounds = [*STORED.first_ids, len(BODIES)]
    for number, offset in enumerate(STORED.offsets):
        end = [*STORED.offsets, len(STORED.data)][number + 1]
        if end <= at or at + len(junk) <= offset:
            untouched = range(bounds[number], bounds[number + 1])
            assert [e for e in seen.entries[7] if e[0] in untouched] == whole(STORED)[untouched.start : untouched.stop]
