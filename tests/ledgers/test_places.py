"""Entries read again by their places: from a file as it is, from blocks, and from what has changed since."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers import places
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.places import BlockOpener, Entries, inflated_entries
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from tests.ledgers.mapfile.encoding import Style, map_file, put_map_file

BODIES = [bytes([n]) * (20 + n) for n in range(60)]


def stored(folder: Path, how: str) -> tuple[Path, list[Place]]:
    file = put_map_file(folder, map_file(BODIES, Style(how, block_bytes=900))) / "data"
    source = open_source(str(folder))
    (copy,) = take_inventory(source).copies
    found = []
    for unit in units_of(copy):
        for batch in walk_unit(source, unit):
            found += [batch.place(unit.path, at) for at in range(len(batch.entry_id))]
    return file, found


@pytest.mark.parametrize("how", ["NONE", "RECORD", "BLOCK"])
def test_entries_in_any_order(how: str, tmp_path: Path) -> None:
    _, found = stored(tmp_path, how)
    opener = BlockOpener(open_source(str(tmp_path)))
    for number in [*range(59, -1, -7), *range(60), 3, 3]:
        assert opener.read(found[number]).tobytes() == BODIES[number]
        after = found[number].after(7)
        assert opener.read(after).tobytes() == BODIES[number][7:]


@pytest.mark.parametrize("how", ["RECORD", "BLOCK"])
def test_a_whole_window_at_once(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WINDOW_BYTES", 500)  # so that several buffers come
    file, found = stored(tmp_path, how)
    window = np.frombuffer(file.read_bytes(), dtype=np.uint8)
    columns = [(p.offset, p.block_length or 0, p.inner_offset or 0, p.length) for p in found]
    wanted = Entries(*(np.array(column) for column in zip(*columns, strict=True)))
    opener = BlockOpener(open_source(str(tmp_path)))
    got, buffers = [], 0
    for chosen, buffer, at in inflated_entries(opener, found[0].path, window, wanted):
        got += [buffer[start : start + n].tobytes() for start, n in zip(at, wanted.length[chosen], strict=True)]
        buffers += 1
    assert got == BODIES
    assert buffers > 2


def test_a_block_that_does_not_reach_that_far_any_more(tmp_path: Path) -> None:
    file, found = stored(tmp_path, "BLOCK")
    last = found[-1]
    data = file.read_bytes()
    file.write_bytes(data[: last.offset + 60])
    opener = BlockOpener(open_source(str(tmp_path)))
    assert opener.read(last).size < last.length
    assert opener.read(found[0]).tobytes() == BODIES[0]
    window = np.frombuffer(data[: last.offset + 60], dtype=np.uint8)
    wanted = Entries(*(np.array([value]) for value in (last.offset, last.block_length, last.inner_offset, last.length)))
    ((_, _, at),) = inflated_entries(opener, last.path, window, wanted)
    assert at.tolist() == [-1]


def test_a_file_that_is_another_one_now(tmp_path: Path) -> None:
    file, found = stored(tmp_path, "BLOCK")
    file.write_bytes(b"PAR1" * 5000)
    with pytest.raises(SourceError, match="it is not a MapFile that can be read: sequence_bad_magic"):
        BlockOpener(open_source(str(tmp_path))).read(found[3])


def test_blocks_are_not_kept_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "HELD_BYTES", 2000)
    _, found = stored(tmp_path, "BLOCK")
    opener = BlockOpener(open_source(str(tmp_path)))
    for place in found:
        opener.read(place)
        assert sum(block.size for block in opener._held.values()) <= 2000 or len(opener._held) == 1
