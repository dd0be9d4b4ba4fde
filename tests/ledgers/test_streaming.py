"""Indexes of streaming offload, written here by the offloader's own rules; no broker of a release writes any."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.streaming import decode_streaming_index
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.reconciliation.compare import reconciled
from tests.ledgers.encoding import OTHER_UUID, UUID, field

DATA_BYTES = 900


def ledger(ledger_id: int, entries: int, blocks: list[tuple[int, int, int]]) -> bytes:
    info = field(1, ledger_id) + field(2, entries) + field(3, 77)
    head = struct.pack(">qii", ledger_id, len(blocks), len(info)) + info
    return head + b"".join(struct.pack(">qiq", *block) for block in blocks)


def index(*ledgers: bytes, data_bytes: int = DATA_BYTES, header: int = 128, magic: int = 0x3D1FB0BC) -> bytes:
    body = b"".join(ledgers)
    return struct.pack(">Iiqq", magic, 24 + len(body), data_bytes, header) + body


TWO = index(ledger(5, 9, [(4, 1, 0), (7, 3, 500)]), ledger(6, 2, [(0, 2, 300)]))


def test_two_ledgers_share_an_object() -> None:
    found = decode_streaming_index(TWO)
    five, six = found.ledgers
    assert (five.ledger_id, five.entries, five.size_bytes, five.first_entry_id, five.offsets) == (5, 9, 77, 4, (0, 500))
    assert (six.ledger_id, six.first_entry_id) == (6, 0)
    assert found.bytes_of() == {5: 300 + 400, 6: 200}


def test_every_cut_is_refused() -> None:
    for end in range(len(TWO)):
        with pytest.raises(DecodeError) as caught:
            decode_streaming_index(TWO[:end])
        assert caught.value.code in ("index_too_short", "index_bad_length")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (index(magic=0xDE47DE47), "index_bad_magic"),
        (index(header=64), "index_bad_length"),
        (index(data_bytes=-1), "index_bad_length"),
        (index(ledger(-1, 1, [])), "index_bad_length"),
        (index(ledger(5, 9, [(0, 1, DATA_BYTES)])), "index_bad_length"),
        (index(struct.pack(">qii", 5, 2**31 - 1, 0)), "index_bad_length"),
        (index(struct.pack(">qii", 5, -1, 20) + bytes(20)), "index_bad_length"),
        (index(struct.pack(">qii", 5, 0, 2) + b"\x08\xff"), "ledger_metadata_undecodable"),
    ],
)
def test_what_lies(data: bytes, code: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_streaming_index(data)
    assert caught.value.code == code


def test_they_are_named_and_counted(tmp_path: Path) -> None:
    (tmp_path / UUID).write_bytes(bytes.fromhex("26A66D32") + bytes(DATA_BYTES - 4))
    (tmp_path / f"{UUID}-index").write_bytes(TWO)
    (tmp_path / f"{OTHER_UUID}-index").write_bytes(TWO[:-1])
    source = open_source(str(tmp_path))
    found = survey(source, take_listing(source))
    codes = {finding.code: finding.message for finding in found.findings}
    assert sorted(codes) == ["S01", "S08", "S21"]
    assert "index_bad_length at byte 4" in codes["S08"]
    rows = reconciled([], [], None, found.streamed)
    assert [(row.ledger_id, row.kind, row.judged.verdict, row.leaks) for row in rows] == [
        (5, "streaming", "undecided", False),
        (6, "streaming", "undecided", False),
    ]
    assert sum(row.row("lab")["bytes"] for row in rows) == DATA_BYTES + len(TWO)
