"""Lengths, counts and names that no writer would write: a fault each, soon, in little memory."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.mapfile import blocks, codecs
from tests.ledgers.mapfile.encoding import (
    LONG,
    PACKAGE,
    SYNC,
    MapFile,
    Style,
    compressed,
    header,
    map_file,
    put_map_file,
    text,
    value,
    vint,
)
from tests.ledgers.sources import Seen, see

BODIES = [bytes([n]) * 30 for n in range(20)]
STORED = map_file(BODIES, Style(block_bytes=200))
ESCAPE = b"\xff" * 4 + SYNC
MIB = 1024 * 1024
SOME = 16 * MIB
"""More than anything here needs, far less than what the bytes claim."""


def scanned(folder: Path, data: bytes, index: bytes = STORED.index) -> tuple[Seen, int]:
    """What is seen, and the most memory that it took."""
    put_map_file(folder, MapFile(data, index, (), (), 0), checksums=False)
    see(folder)  # compiles
    tracemalloc.start()
    try:
        return see(folder), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def a_block(*parts: bytes, count: bytes = b"\x02") -> bytes:
    return ESCAPE + count + b"".join(parts)


def section(data: bytes) -> bytes:
    packed = zlib.compress(data)
    return vint(len(packed)) + packed


HEAD = STORED.data[: STORED.header]
FIRST = STORED.data[STORED.header : STORED.data.find(ESCAPE, STORED.header + 1)]
TWO_KEYS = (section(b"\x08\x08"), section(struct.pack(">qq", 900, 901)))


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (a_block(count=vint(0)), "block_bad_count"),
        (a_block(count=vint(-1)), "block_bad_count"),
        (a_block(count=vint(2**31 - 1)), "block_bad_count"),
        (a_block(count=vint(2**63 - 1)), "block_bad_count"),
        (a_block(count=b"\x88" + b"\xff" * 8), "block_bad_count"),  # the longest vint
        (a_block(vint(2**31 - 1)), "block_bad_length"),
        (a_block(vint(-5)), "block_bad_length"),
        (a_block(vint(200 * MIB)), "sequence_too_short"),
        (a_block(*TWO_KEYS, vint(-(2**63))), "block_bad_length"),
        (a_block(*TWO_KEYS, section(vint(2**62) * 2), section(b"")), "section_damaged"),
        (a_block(*TWO_KEYS, section(vint(-7) * 2), section(b"")), "block_bad_length"),
        (a_block(*TWO_KEYS, section(vint(200 * MIB) * 2), section(b"")), "block_bad_length"),
        (a_block(*TWO_KEYS, section(b"\x05"), section(value(b"a") * 2)), "section_damaged"),
        (a_block(section(b"\x08"), *TWO_KEYS[1:], section(b"\x05\x05"), section(value(b"a") * 2)), "section_damaged"),
        (a_block(section(b"\x07\x08"), *TWO_KEYS[1:], section(b"\x05\x05"), section(value(b"a") * 2)), "block_bad_key"),
        (a_block(count=vint(4_000_000)), "block_bad_length"),  # what follows is no length
        (a_block(*TWO_KEYS, section(b"\x05\x05"), section(value(b"a") * 2)), "entry_id_out_of_order"),  # keys far away
    ],
)
def test_numbers_of_a_block(block: bytes, code: str, tmp_path: Path) -> None:
    last = ESCAPE + STORED.data.rsplit(ESCAPE, 1)[1]
    seen, memory = scanned(tmp_path, HEAD + FIRST + block + last)
    assert code in seen.fault_codes()
    assert {i for i, _ in seen.entries[7]} >= {0, 1, 2, 18, 19}  # what stands before and after it
    assert memory < SOME


def test_a_block_that_inflates_without_end(tmp_path: Path) -> None:
    """A thousand times its size is what zlib can do; here more than the sections say they hold."""
    bomb = zlib.compress(bytes(64 * MIB), 9)
    sections = (vint(len(bomb)) + bomb, vint(len(bomb)) + bomb, section(b"\x05\x05"), vint(len(bomb)) + bomb)
    seen, memory = scanned(tmp_path, HEAD + FIRST + a_block(*sections))
    assert "section_damaged" in seen.fault_codes()
    assert memory < SOME


def test_a_value_that_inflates_to_more_than_an_entry_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pulsar_backlog.ledgers.mapfile.records.MAX_BLOCK_BYTES", 4 * MIB)
    style = Style("RECORD")
    bomb = zlib.compress(struct.pack(">i", 64 * MIB) + bytes(64 * MIB), 9)
    record = struct.pack(">iiq", 8 + len(bomb), 8, 1) + bomb
    stored = map_file(BODIES[:1], style)
    seen, memory = scanned(tmp_path, stored.data + record, stored.index)
    assert [i for i, _ in seen.entries[7]] == [0]
    assert seen.fault_codes() == ["record_damaged", "block_entry_count"] or seen.fault_codes() == ["record_damaged"]
    assert memory < SOME


@pytest.mark.parametrize("codec", ["SnappyCodec", "Lz4Codec"])
@pytest.mark.parametrize(
    "stream",
    [
        struct.pack(">ii", 2**31 - 1, 2**31 - 1),
        struct.pack(">ii", 2**31 - 1, 5) + b"\xff\xff\xff\xff\x7f",
        struct.pack(">ii", -1, 4) + b"abcd",
        struct.pack(">ii", 10, -1),
        struct.pack(">ii", 10, 0),
        struct.pack(">i", 10),
        b"\0\0",
        b"\0\0\0\0" * 1000,
    ],
)
def test_pieces(codec: str, stream: bytes) -> None:
    tracemalloc.start()
    try:
        found = codecs.inflate(PACKAGE + codec, memoryview(stream), 1000)
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.data.size == 0
    assert found.fault or not stream.strip(b"\0")
    assert memory < SOME


@pytest.mark.parametrize(
    "codec", ["DefaultCodec", "GzipCodec", "BZip2Codec", "ZStandardCodec", "SnappyCodec", "Lz4Codec"]
)
def test_no_codec_gives_more_than_is_wanted(codec: str) -> None:
    data = compressed(bytes(100_000), Style(codec=codec))
    for limit in (0, 1, 99_999, 100_000, 200_000):
        found = codecs.inflate(PACKAGE + codec, memoryview(data), limit)
        assert found.data.size == min(limit, 100_000)
        assert bool(found.fault) is (limit < 100_000)


@pytest.mark.parametrize(
    "change",
    [
        lambda head: b"SEQ\x07" + head[4:],
        lambda head: b"SEQ\x03" + head[4:],
        lambda head: head.replace(b"DefaultCodec", b"LzoopCodec__"),
        lambda head: head.replace(
            b"org.apache.hadoop.io.compress.DefaultCodec", b"\x1b]0;rm -rf ~\x07" + b"<script>" * 3 + b"   "
        ),
        lambda head: head.replace(b"LongWritable", b"BoolWritable"),
        lambda head: head.replace(b"BytesWritable", b"FloatWritable"),
        lambda head: b"SEQ\x06" + vint(2**31 - 1) + head[5:],
        lambda head: b"SEQ\x06" + vint(-3) + head[5:],
        lambda head: head[:-20] + struct.pack(">i", 2**31 - 1) + head[-16:],
        lambda head: head[:-20] + struct.pack(">i", -1) + head[-16:],
        lambda head: head[:-20] + struct.pack(">i", 30_000) + head[-16:],
        lambda head: head[:-20] + struct.pack(">i", 1) + vint(60_000) + head[-16:],
        lambda head: head.replace(b"\1\1\x2a", b"\0\1\x2a"),
        lambda head: head.replace(b"\1\1\x2a", b"\2\1\x2a"),
        lambda head: b"",
        lambda head: b"S",
        lambda head: b"PAR1" * 20,
    ],
)
def test_headers(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    seen, memory = scanned(tmp_path, change(HEAD) + STORED.data[len(HEAD) :])
    copy = seen.copy()
    assert (copy.status, copy.selected, seen.entries[7]) == ("unreadable", True, [])
    assert {"S12", "S21"} & set(copy.faults)
    assert all(
        text.isprintable() for finding in seen.inventory.findings for text in (finding.message, *finding.evidence)
    )
    assert copy.topic == "persistent://tenant/space/topic"  # its path names it
    assert memory < SOME


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"SEQ",
        header(Style(), LONG) + ESCAPE + vint(2**31 - 1),
        header(Style(), LONG) + ESCAPE + vint(1000) + vint(2**31 - 1),
        header(Style(), LONG)
        + a_block(section(b"\x08\x08"), section(b"\xff" * 16), section(b"\x08\x08"), section(b"\x7f" * 16)),
        header(Style(), LONG) + a_block(*TWO_KEYS, section(b"\x08\x08"), section(b"")),
        header(Style(codec="NoCodec"), LONG),
        header(Style("NONE"), LONG),
        header(Style()) + ESCAPE,
    ],
)
def test_indexes(index: bytes, tmp_path: Path) -> None:
    seen, memory = scanned(tmp_path, STORED.data, index)
    assert {"S08", "S09", "S23"} & set(seen.codes())
    assert seen.entries[7] == list(enumerate(BODIES))
    assert memory < SOME


def test_the_bounds_that_are_stated() -> None:
    assert blocks.MAX_BLOCK_BYTES == 256 * MIB
    assert blocks.MAX_RECORDS * 40 <= 200 * MIB
    assert len(text("x" * 300)) == 303
