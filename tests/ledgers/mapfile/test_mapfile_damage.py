"""Damage in a MapFile's data: its exact fault, and every other entry is still read."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.entry import decode_entry
from tests.examples import examples
from tests.ledgers.mapfile.encoding import (
    CODECS,
    COMPRESSIONS,
    MapFile,
    Style,
    map_file,
    put_map_file,
    vint,
)
from tests.ledgers.sources import Seen, see
from tests.wire.encode import entry

random.seed(11)
BODIES = tuple(entry(payload=random.randbytes(size)) for size in (20, 0, 280, 7, 90, 240, 1, 70, 180, 13, 100, 60))
WHOLE = list(enumerate(BODIES))
SMALL = {"block_bytes": 400, "sync_interval": 450, "piece_bytes": 100}
STYLES = [Style("NONE", **SMALL), *(Style(how, codec, **SMALL) for how in ("RECORD", "BLOCK") for codec in CODECS)]
NONE, RECORD, BLOCK = (map_file(BODIES, Style(how, **SMALL)) for how in COMPRESSIONS)
ESCAPE = b"\xff" * 4 + Style().sync


def seen(folder: Path, stored: MapFile, data: bytes | None = None) -> Seen:
    put_map_file(folder, stored if data is None else stored.with_data(data), checksums=False)
    return see(folder)


def changed(stored: MapFile, at: int, new: bytes) -> bytes:
    return stored.data[:at] + new + stored.data[at + len(new) :]


def is_whole(body: bytes) -> bool:
    """Whether an entry passes its own checksum."""
    try:
        return decode_entry(body).checksum_state == "valid"
    except DecodeError:
        return False


def lost(found: Seen) -> list[int]:
    """Ids that are not there; those that are have the right bytes."""
    there = dict(found.entries[7])
    assert all(BODIES[i] == body for i, body in there.items())
    return [i for i, _ in WHOLE if i not in there]


def test_the_examples_have_what_the_tests_need() -> None:
    for stored in (NONE, RECORD, BLOCK):
        assert stored.data.count(ESCAPE) >= 2


def test_a_file_cut_off_in_its_last_block_keeps_the_entries_before_the_cut(tmp_path: Path) -> None:
    bodies = [entry(payload=random.randbytes(5000)) for _ in range(20)]
    stored = map_file(bodies)  # one block
    put_map_file(tmp_path, stored.with_data(stored.data[:60_000]), checksums=False)
    found = see(tmp_path)
    ids = [i for i, _ in found.entries[7]]
    assert ids == list(range(len(ids)))
    assert 8 <= len(ids) <= 12
    assert [body for _, body in found.entries[7]] == bodies[: len(ids)]
    assert found.fault_codes() == ["record_overruns_file", "section_damaged", "block_records_lost", "block_entry_count"]


@pytest.mark.parametrize("stored", [NONE, RECORD], ids=["NONE", "RECORD"])
def test_a_bad_length_costs_what_lies_before_the_next_escape(stored: MapFile, tmp_path: Path) -> None:
    escape = stored.data.find(ESCAPE)  # the place of the record behind it is where it stands
    before = [number for number, place in enumerate(stored.places) if place < escape]
    at = stored.places[before[-2]]
    found = seen(tmp_path, stored, changed(stored, at, struct.pack(">i", -5)))
    assert lost(found) == [before[-2] - 1, before[-1] - 1]
    assert found.fault_codes()[0] == "record_bad_length"
    assert found.faults[7][0].offset == at
    assert "entry_id_out_of_order" not in found.fault_codes()  # the gap is told of once


@pytest.mark.parametrize(
    ("at", "new", "code"),
    [(4, struct.pack(">i", 9), "record_bad_key"), (0, struct.pack(">i", 1 << 30), "record_bad_length")],
)
def test_a_record_whose_head_cannot_be(at: int, new: bytes, code: str, tmp_path: Path) -> None:
    found = seen(tmp_path, NONE, changed(NONE, NONE.places[3] + at, new))
    assert (found.fault_codes()[0], found.faults[7][0].offset) == (code, NONE.places[3])
    assert 2 in lost(found)


@pytest.mark.parametrize("stored", [NONE, RECORD], ids=["NONE", "RECORD"])
def test_a_damaged_key_keeps_the_id_of_its_place(stored: MapFile, tmp_path: Path) -> None:
    place = stored.places[5]
    place += 20 if stored.data[place:].startswith(ESCAPE) else 0
    found = seen(tmp_path, stored, changed(stored, place + 8, struct.pack(">q", 4 + 512)))
    assert found.entries[7] == WHOLE
    assert found.fault_codes() == ["entry_id_out_of_order"]
    assert (found.faults[7][0].expected, found.faults[7][0].found) == ("4", "516")


def test_entries_that_are_not_there_leave_a_gap(tmp_path: Path) -> None:
    keys = [0, 1, 2, 5, 6, 7]
    for style in (Style("NONE"), Style("RECORD"), Style("BLOCK", block_bytes=500)):
        found = seen(tmp_path, map_file([BODIES[k] for k in keys], style, keys=keys))
        assert [i for i, _ in found.entries[7]] == keys
        assert found.fault_codes() == ["entry_id_out_of_order", "block_entry_count"]
        assert (found.faults[7][0].expected, found.faults[7][0].found) == ("3", "5")


def test_entries_that_come_again_are_given_once(tmp_path: Path) -> None:
    keys = [0, 1, 2, 3, 2, 3, 4, 5]
    found = seen(tmp_path, map_file([BODIES[k] for k in keys], Style("NONE"), keys=keys))
    assert [i for i, _ in found.entries[7]] == [0, 1, 2, 3, 4, 5]
    assert set(found.fault_codes()) == {"entry_id_out_of_order"}


def test_a_sync_marker_that_is_another(tmp_path: Path) -> None:
    for stored in (NONE, RECORD, BLOCK):
        at = stored.data.find(ESCAPE, stored.header + 1)
        found = seen(tmp_path, stored, changed(stored, at + 7, b"\0"))
        assert found.entries[7] == WHOLE  # what follows it makes sense
        assert [(fault.code, fault.offset) for fault in found.faults[7]] == [("sync_mismatch", at)]


def test_the_marker_in_the_header_that_is_another(tmp_path: Path) -> None:
    for stored in (NONE, RECORD, BLOCK):
        found = seen(tmp_path, stored, changed(stored, stored.header - 3, b"\0"))
        assert found.entries[7] == WHOLE
        assert set(found.fault_codes()) == {"sync_mismatch"}


def sections(stored: MapFile, number: int) -> list[tuple[int, int]]:
    """Place and length of the sections of a block, read by hand: all lengths are one or two bytes there."""
    places = sorted({at for at in range(len(stored.data)) if stored.data.startswith(ESCAPE, at)})
    at, found = places[number] + 21, []
    for _ in range(4):
        first = stored.data[at]
        size = first - 256 if first > 127 else first
        length, at = (size, at + 1) if size >= -112 else (
            int.from_bytes(stored.data[at + 1 : at + 1 - 112 - size], "big"), at + 1 - 112 - size
        )  # fmt: skip
        found.append((at, length))
        at += length
    return found


@pytest.mark.parametrize(("section", "loses"), [(0, False), (1, False), (2, False), (3, True)])
def test_a_damaged_section_costs_what_cannot_be_made_up_for(section: int, loses: bool, tmp_path: Path) -> None:
    at, length = sections(BLOCK, 1)[section]
    found = seen(tmp_path, BLOCK, changed(BLOCK, at + length // 2, b"\xff\xff"))
    there = dict(found.entries[7])
    assert "section_damaged" in found.fault_codes()
    first_two_blocks = set(there) >= {i for i, place in enumerate(BLOCK.places[1:]) if place != BLOCK.places[4]}
    assert first_two_blocks or loses
    if not loses:
        assert found.entries[7] == WHOLE


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.compression}-{style.codec}")
@examples(25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_prefix_and_every_flip_is_told_of(style: Style, data: st.DataObject, tmp_path: Path) -> None:
    """Never an exception, never an id twice, never a loss without a word; what is cut off is never made up."""
    stored = map_file(BODIES, style)
    at = data.draw(st.integers(0, len(stored.data) - 1), "at")
    cut = seen(tmp_path, stored, stored.data[:at])
    entries = cut.entries.get(7, [])
    assert all(BODIES[i] == body for i, body in entries)
    assert cut.faults.get(7) or cut.codes()
    flipped = changed(stored, at, bytes([stored.data[at] ^ data.draw(st.integers(1, 255), "by")]))
    found = seen(tmp_path, stored, flipped)
    ids = [i for i, _ in found.entries.get(7, [])]
    assert ids == sorted(set(ids))
    if not (found.faults.get(7) or found.codes()):
        assert ids == list(range(len(BODIES)))
        # What no codec covers is left to the entry's own checksum.
        wrong = [i for i, body in found.entries[7] if BODIES[i] != body]
        assert not any(is_whole(dict(found.entries[7])[i]) for i in wrong)
        assert not wrong or style.compression == "NONE" or style.codec in ("SnappyCodec", "Lz4Codec", "ZStandardCodec")


def test_damage_without_end_is_counted(tmp_path: Path) -> None:
    bodies = [b"x"] * 3000
    stored = map_file(bodies, Style("NONE", sync_interval=1 << 30))
    data = bytearray(stored.data)
    for place in stored.places[1:]:
        data[place + 16 : place + 20] = struct.pack(">i", 5)  # each value lies about its length
    found = seen(tmp_path, stored, bytes(data))
    assert [i for i, _ in found.entries[7]] == list(range(3000))
    assert len(found.faults[7]) == 1001
    assert found.faults[7][-1].found == "2000 more"


def test_a_count_that_is_not_that_of_the_block(tmp_path: Path) -> None:
    at = BLOCK.data.find(ESCAPE, BLOCK.header + 1) + 20
    found = seen(tmp_path, BLOCK, changed(BLOCK, at, vint(BLOCK.data[at] + 1)))
    ids = [i for i, _ in found.entries[7]]
    assert ids == sorted(set(ids))
    assert "section_damaged" in found.fault_codes()


def test_windows_do_not_matter(tmp_path: Path) -> None:
    """The same faults and entries, however little is in memory."""
    for stored in (NONE, RECORD, BLOCK):
        for at in range(stored.header, len(stored.data), 37):
            put_map_file(tmp_path, stored.with_data(changed(stored, at, b"\x7f\xff")), checksums=False)
            wide, narrow = see(tmp_path), see(tmp_path, window_bytes=600)
            assert narrow.entries == wide.entries
            assert [(f.code, f.offset) for f in narrow.faults[7]] == [(f.code, f.offset) for f in wide.faults[7]]


def test_styles_differ() -> None:
    assert len({replace(style, codec="") for style in STYLES}) == 3


@pytest.mark.parametrize("window_bytes", range(300, 420, 20))
def test_a_gap_where_a_window_ends(window_bytes: int, tmp_path: Path) -> None:
    keys = [*range(8), *range(20, 28)]
    stored = map_file([b"x" * 20 for _ in keys], Style("NONE"), keys=keys)
    put_map_file(tmp_path, stored, checksums=False)
    found = see(tmp_path, window_bytes)
    assert [i for i, _ in found.entries[7]] == keys
