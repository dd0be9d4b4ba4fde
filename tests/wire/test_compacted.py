"""Entries of compacted ledgers: real ones, each cut short, and each with a length that lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.dumps import read_dump
from pulsar_backlog.wire.compacted import decode_compacted

DUMP = Path(__file__).parents[1] / "data" / "compacted" / "ledger-481.entries"
RECORDS = [dumped.entry or b"" for dumped in read_dump(DUMP)]


def test_positions_of_the_log() -> None:
    found = [decode_compacted(record) for record in RECORDS]
    assert [(one.ledger_id, one.entry_id) for one in found] == [(268, 38), (268, 42), (268, 46), (268, 50), (268, 51)]
    assert all(one.entry == record[one.entry_offset :] for one, record in zip(found, RECORDS, strict=True))
    assert all(one.entry.startswith(b"\x0e\x02") for one in found)


def test_every_cut_is_refused() -> None:
    for end in range(len(RECORDS[0])):
        with pytest.raises(DecodeError) as caught:
            decode_compacted(RECORDS[0][:end])
        assert caught.value.code in ("compacted_bad_length", "compacted_bad_id")


@pytest.mark.parametrize(
    ("at", "new", "code"),
    [
        (0, b"\xff", "compacted_bad_length"),
        (3, b"\xff\xff", "compacted_bad_id"),
        (4, b"\xff", "compacted_bad_id"),
        (20, b"\x7f", "compacted_bad_length"),
    ],
)
def test_lengths_that_lie(at: int, new: bytes, code: str) -> None:
    data = bytearray(RECORDS[0])
    data[at : at + len(new)] = new
    with pytest.raises(DecodeError) as caught:
        decode_compacted(bytes(data))
    assert caught.value.code == code


def test_a_dump_that_is_cut_off(tmp_path: Path) -> None:
    whole = DUMP.read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-1])
    found = list(read_dump(tmp_path / "cut"))
    assert [one.entry is None for one in found] == [False] * 4 + [True]
    assert found[-1].offset == len(whole) - 12 - len(RECORDS[-1])
    (tmp_path / "lies").write_bytes(b"\x7f" + whole[1:])
    assert [one.entry for one in read_dump(tmp_path / "lies")] == [None]
    (tmp_path / "short").write_bytes(whole[:5])
    assert [one.entry for one in read_dump(tmp_path / "short")] == [None]
