"""A data file held against its checksum file, chunk by chunk, each once."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.mapfile.checksums import Checksums, crc_file_bytes
from pulsar_backlog.ledgers.store import open_source
from tests.ledgers.mapfile.encoding import COMPRESSIONS, Style, crc_file, map_file, put_map_file
from tests.ledgers.sources import see

random.seed(5)
BODIES = [random.randbytes(200) for _ in range(300)]
STORED = {how: map_file(BODIES, Style(how, block_bytes=6000, sync_interval=3000)) for how in COMPRESSIONS}


@pytest.mark.parametrize("how", COMPRESSIONS)
@pytest.mark.parametrize("chunk", [1, 512, 700, 100_000])
@pytest.mark.parametrize("window_bytes", [900, 1 << 20])
def test_a_sum_that_does_not_agree(how: str, chunk: int, window_bytes: int, tmp_path: Path) -> None:
    place = put_map_file(tmp_path, STORED[how])
    sums = bytearray(crc_file(STORED[how].data, chunk))
    numbers = sorted({0, 3 % ((len(sums) - 8) // 4), (len(sums) - 8) // 4 - 1})
    for number in numbers:
        sums[8 + 4 * number] ^= 1
    (place / ".data.crc").write_bytes(sums)
    seen = see(tmp_path, window_bytes)
    assert seen.entries[7] == list(enumerate(BODIES))
    assert [(fault.code, fault.offset) for fault in seen.faults[7]] == [("crc_mismatch", n * chunk) for n in numbers]


def test_each_chunk_is_compared_once_whatever_the_parts(tmp_path: Path) -> None:
    data = random.randbytes(10_000)
    (tmp_path / "data").write_bytes(data)
    sums = bytearray(crc_file(data))
    for number in range(20):
        sums[8 + 4 * number] ^= 1
    (tmp_path / ".data.crc").write_bytes(sums)
    source = open_source(str(tmp_path))
    for cuts in ([0, 10_000], [0, 138, 5000, 5120, 5121, 9999, 10_000], [0, 1, 2, 3, 10_000]):
        found = []
        for start, end in itertools.pairwise(cuts):
            checksums = Checksums(source, ".data.crc", start, end)
            for at in range(start, end, 700):
                base, stop = checksums.widened(at, min(at + 700, end))
                buffer = source.read("data", base, stop)
                found += checksums.faults(buffer, base, is_end=base + buffer.size < stop)
        assert [fault.offset for fault in found] == [512 * number for number in range(20)], cuts


@pytest.mark.parametrize(
    ("sums", "code"),
    [
        (None, "crc_file_bad"),
        (b"crc\0\0\0\0\0", "crc_file_bad"),
        (b"crc\0\x7f\0\0\0", "crc_file_bad"),
        (b"c", "crc_file_bad"),
    ],
)
def test_a_checksum_file_that_is_none(sums: bytes | None, code: str, tmp_path: Path) -> None:
    source = open_source(str(tmp_path))
    (tmp_path / "data").write_bytes(bytes(3000))
    if sums is not None:
        (tmp_path / "sums").write_bytes(sums)
    checksums = Checksums(source, "sums", 0, 3000)
    base, stop = checksums.widened(0, 3000)
    faults = list(checksums.faults(source.read("data", base, stop), base, is_end=True))
    assert [fault.code for fault in faults] == ["crc_file_bad"]
    assert list(checksums.faults(source.read("data", 0, 3000), 0, is_end=True)) == []  # told of once


def test_sums_that_end_early(tmp_path: Path) -> None:
    source = open_source(str(tmp_path))
    (tmp_path / "data").write_bytes(bytes(3000))
    (tmp_path / "sums").write_bytes(crc_file(bytes(3000))[:-6])
    checksums = Checksums(source, "sums", 0, 3000)
    base, stop = checksums.widened(0, 3000)
    (fault,) = checksums.faults(source.read("data", base, stop), base, is_end=True)
    assert (fault.code, fault.offset, fault.found) == ("crc_file_short", 8 + 4 * 4, "none from its byte 2048 on")


@pytest.mark.parametrize(("size", "expected"), [(0, 8), (1, 12), (512, 12), (513, 16)])
def test_length_of_a_checksum_file(size: int, expected: int) -> None:
    assert crc_file_bytes(size) == expected == len(crc_file(bytes(size)))
