"""An index of a MapFile made again from its data: the pairs that Hadoop wrote, found by Hadoop's own reader."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.mapfile import index as format_
from pulsar_backlog.ledgers.mapfile.header import LONG_WRITABLE, decode_header
from pulsar_backlog.ledgers.mapfile.index import decode_index, encode_index
from pulsar_backlog.ledgers.mapfile.rebuilt_index import rebuild_index
from pulsar_backlog.ledgers.rebuilt_index import RebuiltIndex
from pulsar_backlog.ledgers.store import open_source
from tests.auditing import DATA
from tests.ledgers.encoding import MANAGED_LEDGER, metadata
from tests.ledgers.mapfile import hadoop
from tests.ledgers.mapfile.encoding import CODECS, MapFile, Style, map_file, put_map_file

SOURCE = DATA / "mapfiles" / "source"
REAL = sorted(SOURCE.glob("lab/fs/persistent/*/*/index"))
BODIES = [bytes([number % 256]) * (number % 90) for number in range(500)]
STYLES = [Style("NONE"), *(Style(how, codec) for how in ("RECORD", "BLOCK") for codec in CODECS)]


def rebuilt(folder: Path, broker: LedgerRecord | None = None) -> RebuiltIndex:
    source = open_source(str(folder))
    (pair,) = take_listing(source).pairs
    return rebuild_index(source, pair, broker)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name.split("-")[0])
def test_the_bytes_of_a_broker(path: Path, tmp_path: Path) -> None:
    """But for the marker, which Hadoop makes up, and zlib's bytes, of which there are several versions."""
    shutil.copytree(path.parent, tmp_path / path.parent.name)
    made, real = rebuilt(tmp_path).body, path.read_bytes()
    ours, theirs = decode_index(made), decode_index(real)
    assert (ours.keys.tolist(), ours.positions.tolist()) == (theirs.keys.tolist(), theirs.positions.tolist())
    header = decode_header(real, LONG_WRITABLE)
    assert replace(decode_header(made, LONG_WRITABLE), sync=header.sync) == header
    assert encode_index(list(zip(theirs.keys.tolist(), theirs.positions.tolist(), strict=True)), header.sync) == real


def in_style(style: Style) -> MapFile:
    return map_file(BODIES, replace(style, block_bytes=3000, sync_interval=2000))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.compression}-{style.codec}")
def test_every_style(style: Style, tmp_path: Path) -> None:
    stored = in_style(style)
    put_map_file(tmp_path, stored)
    made = rebuilt(tmp_path)
    assert (made.entries, made.entry_bytes) == (500, sum(map(len, BODIES)))
    ours, theirs = decode_index(made.body), decode_index(stored.index)
    assert ours.keys.tolist() == theirs.keys.tolist()
    assert len(ours.keys) > 3
    if style.compression == "BLOCK":
        assert ours.positions.tolist() == theirs.positions.tolist()
    else:  # Hadoop's writer stands before a sync escape that ours has stepped over
        assert set((ours.positions - theirs.positions).tolist()) <= {0, 20}


def test_hadoop_finds_every_entry_by_it(tmp_path: Path) -> None:
    folders = []
    for number, style in enumerate(one for one in STYLES if one.codec not in ("ZStandardCodec",)):
        place = tmp_path / f"{number}"
        folder = put_map_file(place, in_style(style), checksums=False)
        (folder / "index").unlink()
        (folder / "index").write_bytes(rebuilt(place).body)
        folders.append(folder)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    head = metadata(sum(map(len, BODIES)), 499, MANAGED_LEDGER)
    for found in hadoop.read(folders, scratch, by_key=True):
        assert found == [(-1, head), *enumerate(BODIES)]


def test_several_blocks_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_, "PAIRS_OF_BLOCK", 100)
    pairs = [(number * 128 - 1, 7 + number * 1000) for number in range(250)]
    found = decode_index(encode_index(pairs, bytes(range(16))))
    assert list(zip(found.keys.tolist(), found.positions.tolist(), strict=True)) == pairs


def test_damaged_data_get_none(tmp_path: Path) -> None:
    stored = in_style(Style())
    broken = bytearray(stored.data)
    broken[stored.places[200] + 40] ^= 1
    for name, data, said in (
        ("flipped", bytes(broken), "section"),
        ("cut", stored.data[:-1], "S10|record_overruns_file"),
        ("short", stored.data[: stored.places[-1]], "promise|block_entry_count"),
        ("empty", b"", "S12"),
    ):
        put_map_file(tmp_path / name, stored.with_data(data), checksums=False)
        with pytest.raises(SourceError, match=said):
            rebuilt(tmp_path / name)


def test_what_the_broker_recorded_must_be_there(tmp_path: Path) -> None:
    put_map_file(tmp_path, in_style(Style()))
    broker = LedgerRecord(7, "persistent://tenant/space/topic", None, True, 501, None, None)
    with pytest.raises(SourceError, match="the broker records 501 entries"):
        rebuilt(tmp_path, broker)
    assert rebuilt(tmp_path, replace(broker, entries=500)).entries == 500
