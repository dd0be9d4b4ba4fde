"""Every way to write a MapFile, read in windows and parts of any size."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.mapfile.copies import examine
from pulsar_backlog.ledgers.mapfile.header import decode_header, read_vint
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import UNIT_BYTES, LedgerCopy
from tests.examples import examples
from tests.ledgers.mapfile.encoding import (
    BYTES,
    CODECS,
    COMPRESSIONS,
    LONG,
    MapFile,
    Style,
    header,
    map_file,
    put_map_file,
    vint,
)
from tests.ledgers.sources import see

random.seed(7)
BODIES = tuple(random.randbytes(random.choice((0, 1, 40, 300, 5000))) + b"a" * (n % 50) for n in range(400))
STYLES = [Style("NONE"), *(Style(how, codec) for how in ("RECORD", "BLOCK") for codec in CODECS)]
SMALL = {"block_bytes": 20_000, "sync_interval": 2000, "piece_bytes": 7000}


def styled(style: Style, **other: object) -> MapFile:
    return map_file(BODIES, replace(style, **{**SMALL, **other}))  # type: ignore[arg-type]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.compression}-{style.codec}")
@pytest.mark.parametrize("window_bytes", [UNIT_BYTES, 50_000])
def test_every_codec(style: Style, window_bytes: int, tmp_path: Path) -> None:
    put_map_file(tmp_path, styled(style))
    seen = see(tmp_path, window_bytes)
    assert seen.entries[7] == list(enumerate(BODIES))
    assert (seen.faults[7], seen.codes(), seen.copy().status) == ([], {}, "ok")


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("version", [4, 5])
def test_older_headers(compression: str, version: int, tmp_path: Path) -> None:
    put_map_file(tmp_path, styled(Style(compression, version=version)))
    assert see(tmp_path).entries[7] == list(enumerate(BODIES))


def test_pairs_in_the_header(tmp_path: Path) -> None:
    pairs = tuple((f"key {n}", "v" * 100) for n in range(100))  # more than is read at first
    put_map_file(tmp_path, styled(Style(), pairs=pairs))
    seen = see(tmp_path)
    assert (seen.entries[7], seen.faults[7]) == (list(enumerate(BODIES)), [])


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_large_file_is_cut_at_escapes(compression: str, tmp_path: Path) -> None:
    stored = styled(Style(compression))
    put_map_file(tmp_path, stored)
    source = open_source(str(tmp_path))
    (pair,) = take_listing(source).pairs
    parts = examine(source, pair, unit_bytes=30_000).blocks
    assert len(parts) > 5
    assert parts[0].offset == 0
    assert all(stored.data[part.offset : part.offset + 20] == b"\xff" * 4 + Style().sync for part in parts[1:])
    assert sum(part.length for part in parts) == len(stored.data)
    assert sum(part.entry_count or 0 for part in parts) == len(BODIES)
    assert [part.is_last for part in parts] == [False] * (len(parts) - 1) + [True]
    (copy,) = take_inventory(source).copies
    found = []
    for unit in units_of(replace(copy, blocks=parts), unit_bytes=1):
        for batch in walk_unit(source, unit, 4000):
            assert batch.faults == ()
            found += _entries(batch)
    assert found == list(enumerate(BODIES))


def _entries(batch: object) -> list[tuple[int, bytes]]:
    places = zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True)  # type: ignore[attr-defined]
    return [(i, batch.buffer[at : at + size].tobytes()) for i, at, size in places]  # type: ignore[attr-defined]


def test_an_escape_in_an_entry_is_no_cut(tmp_path: Path) -> None:
    """What looks like a part but begins with no entry of the ledger is none."""
    trap = b"\xff" * 4 + Style().sync
    records = [trap + struct.pack(">iiqi", 16, 8, key, 4) + b"fake" for key in (0, 5000)]
    bodies = [(trap * 5 + b"".join(records)) * 10 + bytes([n]) for n in range(60)]
    put_map_file(tmp_path, map_file(bodies, Style("NONE", sync_interval=5000)))
    source = open_source(str(tmp_path))
    (pair,) = take_listing(source).pairs
    parts = examine(source, pair, unit_bytes=7000).blocks
    (copy,) = take_inventory(source).copies
    assert sum(part.entry_count or 0 for part in parts) == len(bodies)
    found = []
    for unit in units_of(replace(copy, blocks=parts), unit_bytes=1):
        for batch in walk_unit(source, unit):
            assert batch.faults == ()
            found += _entries(batch)
    assert found == list(enumerate(bodies))


def test_where_entries_lie(tmp_path: Path) -> None:
    for number, compression in enumerate(COMPRESSIONS, 1):
        stored = styled(Style(compression))
        put_map_file(tmp_path, stored, ledger_id=number)
    copies: list[LedgerCopy] = take_inventory(open_source(str(tmp_path))).copies
    for copy, compression in zip(copies, COMPRESSIONS, strict=True):
        stored = styled(Style(compression))
        for unit in units_of(copy):
            for batch in walk_unit(open_source(str(tmp_path)), unit):
                for at in range(len(batch.entry_id)):
                    place = batch.place("data", at)
                    begins = stored.places[int(batch.entry_id[at]) + 1]
                    assert place.length == len(BODIES[int(batch.entry_id[at])])
                    if compression == "NONE":
                        assert (place.inner_offset, place.block_length) == (None, None)
                        assert stored.data[place.offset : place.end] == BODIES[int(batch.entry_id[at])]
                    elif compression == "BLOCK":
                        assert place.offset == begins
                    else:
                        assert stored.data[place.offset :][:4] != b"\xff" * 4
                        assert place.inner_offset == 4


@given(st.integers(-(2**63), 2**63 - 1))
def test_vints(number: int) -> None:
    assert read_vint(vint(number) + b"x", 0, "") == (number, len(vint(number)))


@pytest.mark.parametrize(
    ("number", "stored"),
    [(0, "00"), (127, "7f"), (-112, "90"), (128, "8f80"), (-113, "8770"), (2**31, "8c80000000"), (-1, "ff")],
)
def test_known_vints(number: int, stored: str) -> None:
    assert (vint(number).hex(), read_vint(bytes.fromhex(stored), 0, "")[0]) == (stored, number)


@pytest.mark.parametrize("value_class", [BYTES, LONG])
@examples(30)
@given(st.sampled_from(STYLES), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=4))
def test_headers(value_class: str, style: Style, pairs: list[tuple[str, str]]) -> None:
    data = header(replace(style, pairs=tuple(pairs)), value_class)
    found = decode_header(data + b"more", value_class)
    assert (found.length, found.sync, found.compression) == (len(data), style.sync, style.compression)
    assert found.pairs == len(pairs)
