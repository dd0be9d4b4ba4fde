"""Entry logs in every layout, and damage in them: what can be read is given, what cannot is told with its place."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.bookies import crc, kernel
from pulsar_backlog.ledgers.bookies.digests import digest_of, verified
from pulsar_backlog.ledgers.bookies.header import mapped_ledgers, read_header
from pulsar_backlog.ledgers.bookies.names import role_of
from pulsar_backlog.ledgers.bookies.records import new_state, walk_records
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.survey import survey
from tests.ledgers.bookies.encoding import DIGESTS, direct_log, entry_log, put_log, record
from tests.ledgers.sources import Seen, see
from tests.wire.encode import entry

BODIES = [entry(payload=bytes([n]) * (n * 30)) for n in range(40)]
WHOLE = list(enumerate(BODIES))


def records(ledger: int = 7, ids: range = range(40), **style: object) -> list[bytes]:
    return [record(ledger, i, BODIES[i], **style) for i in ids]  # type: ignore[arg-type]


def seen_of(tmp_path: Path, data: bytes, name: str = "0.log") -> Seen:
    put_log(tmp_path, data, name)
    return see(tmp_path)


def codes(seen: Seen) -> set[str]:
    return set(seen.codes()) - {"S18"}


@pytest.mark.parametrize("digest", DIGESTS)
def test_each_digest(digest: str, tmp_path: Path) -> None:
    seen = seen_of(tmp_path, entry_log(records(digest=digest)))
    assert seen.entries == {7: WHOLE}
    assert (seen.faults[7], codes(seen)) == ([], set())


def walked(buffer: np.ndarray) -> np.ndarray:
    """The records of a buffer that holds nothing else."""
    return walk_records(buffer, 0, buffer.size, False, new_state(), np.empty((0, 2), dtype=np.int64))


def proofs(buffer: np.ndarray, digest: str) -> list[bool]:
    found = walked(buffer)
    return verified(buffer, found[kernel.PLACE], found[kernel.SIZE], found[kernel.PROOF], digest).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("digest", ["CRC32C", "CRC32", "HMAC"])
def test_a_flipped_bit_anywhere_in_what_a_digest_covers(digest: str) -> None:
    stored = np.frombuffer(record(7, 3, BODIES[3], digest=digest), dtype=np.uint8)
    assert proofs(stored, digest) == [True]
    for bit in range(32, stored.size * 8):  # from the ledger id on
        broken = stored.copy()
        broken[bit // 8] ^= 1 << bit % 8
        assert True not in proofs(broken, digest), bit


@pytest.mark.parametrize("digest", ["CRC32C", "CRC32"])
def test_sums_of_a_window_give_the_checksums_of_its_records(digest: str) -> None:
    buffer = np.frombuffer(b"".join(records(digest=digest)), dtype=np.uint8).copy()
    sums = np.empty((2, buffer.size // crc.SUM_BYTES + 1), dtype=np.int64)
    crc.fill_sums(buffer, sums)
    number = {"CRC32C": kernel.CRC32C, "CRC32": kernel.CRC32}[digest]
    places = np.cumsum([0, *(len(one) for one in records(digest=digest)[:-1])]).tolist()
    for at, one in zip(places, records(digest=digest), strict=True):
        assert crc.summed_proof(buffer, at, len(one) - 4, sums) == number
        assert (crc.quick_proof(buffer, at, len(one) - 4) == number) == (digest == "CRC32C")
        assert crc.summed_proof(buffer, at, len(one) - 5, sums) == kernel.UNPROVED


def test_a_ledger_with_a_password_is_read_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = seen_of(tmp_path, entry_log(records(digest="HMAC", password=b"secret")))
    assert seen.entries == {7: WHOLE}
    (fault,) = seen.faults[7]
    assert (fault.code, fault.path) == ("digest_unverified", "current/0.log")
    monkeypatch.setenv("PULSAR_BACKLOG_LEDGER_PASSWORD", "secret")
    assert see(tmp_path).faults[7] == []
    monkeypatch.setenv("PULSAR_BACKLOG_LEDGER_PASSWORD", "secret2")
    assert see(tmp_path).fault_codes() == ["digest_unverified"]


def test_the_password_of_a_ledger(tmp_path: Path) -> None:
    data = np.frombuffer(b"".join(records(digest="HMAC", password=b"secret")), dtype=np.uint8)
    sizes = np.array([len(one) - 4 for one in records(digest="HMAC")])
    places = np.concatenate(([0], np.cumsum(sizes + 4)[:-1]))
    assert digest_of(data, places, sizes, np.zeros(40), b"secret") == ("HMAC", True)
    assert digest_of(data, places, sizes, np.zeros(40), b"other") == ("HMAC", False)


def test_ledgers_that_alternate(tmp_path: Path) -> None:
    mixed = [one for pair in zip(records(7), records(8), strict=True) for one in pair]
    assert seen_of(tmp_path, entry_log(mixed)).entries == {7: WHOLE, 8: WHOLE}


def test_direct_io(tmp_path: Path) -> None:
    flushes = [b"".join(records(ids=ids)) for ids in (range(7), range(7, 30), range(30, 40))]
    seen = seen_of(tmp_path, direct_log(flushes, tail=100_000))
    assert seen.entries == {7: WHOLE}
    assert (seen.faults[7], codes(seen)) == ([], set())


def test_a_map_says_which_files_hold_a_ledger(tmp_path: Path) -> None:
    put_log(tmp_path, entry_log(records(7), [(7, 1)]))
    path = put_log(tmp_path, entry_log(records(8), [(8, 1), (9, 1)]), "1.log")
    source = open_source(str(tmp_path))
    header = read_header("entry log", path.read_bytes()[:20])
    assert mapped_ledgers(source, "current/1.log", path.stat().st_size, header) == {8: 1, 9: 1}
    assert see(tmp_path).entries == {7: WHOLE, 8: WHOLE}


def test_a_file_whose_map_does_not_name_the_ledger_is_left_out(tmp_path: Path) -> None:
    put_log(tmp_path, entry_log(records(7), [(7, 1)]))
    broken = bytearray(entry_log(records(8), [(8, 1)]))
    broken[1024:1100] = b"\xaa" * 76  # told where the file is read
    put_log(tmp_path, bytes(broken), "1.log")
    source = open_source(str(tmp_path))
    listing = take_listing(source)
    assert {finding.code for finding in survey(source, listing, {7}).findings} == set()
    assert "S25" in {finding.code for finding in survey(source, listing, {8}).findings}


def test_compacting_and_compacted_files_are_copies(tmp_path: Path) -> None:
    put_log(tmp_path, entry_log(records()))
    put_log(tmp_path, entry_log(records(ids=range(10, 20))), "1.log.compacting")
    put_log(tmp_path, entry_log(records(ids=range(20, 40))), "2.log.1.compacted")
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE}
    assert seen.faults[7] == []


@pytest.mark.parametrize("size", [0x7FFFFFFF, -1, -(2**31), 0, 15, 16, 31, 300_000_000], ids=hex)
def test_a_size_that_cannot_be(size: int, tmp_path: Path) -> None:
    parts = records()
    data = bytearray(entry_log(parts))
    at = 1024 + len(b"".join(parts[:20]))
    data[at : at + 4] = struct.pack(">i", size)
    seen = seen_of(tmp_path, bytes(data))
    assert seen.entries == {7: [one for one in WHOLE if one[0] != 20]}
    (fault,) = seen.faults[7]
    assert (fault.code, fault.entry_id) == ("entries_absent", 20)
    (finding,) = (finding for finding in seen.inventory.findings if finding.code == "S25")
    assert finding.evidence[0].startswith(f"current/0.log+{at} to {at + len(parts[20])}:")


def test_a_size_that_is_wrong_by_one(tmp_path: Path) -> None:
    parts = records()
    for by in (-1, 1):
        data = bytearray(entry_log(parts))
        at = 1024 + len(b"".join(parts[:20]))
        data[at : at + 4] = struct.pack(">i", len(parts[20]) - 4 + by)
        seen = seen_of(tmp_path, bytes(data))
        assert seen.entries[7] == [one for one in WHOLE if one[0] != 20]  # its digest fails, so its size says nothing
        assert [(fault.code, fault.expected) for fault in seen.faults[7]] == [("entries_absent", "entry 20")]
        assert "S25" in codes(seen)


def test_every_cut(tmp_path: Path) -> None:
    parts = records(ids=range(3))
    data = entry_log(parts)
    ends = [1024 + len(b"".join(parts[:n])) for n in range(4)]
    for size in range(len(data) + 1):
        seen = seen_of(tmp_path, data[:size])
        whole = sum(size >= end for end in ends[1:])
        assert seen.entries.get(7, []) == WHOLE[:whole]
        is_told = "S25" in seen.codes()
        padding = size >= 1024 and not data[max(end for end in ends if end <= size) : size].strip(b"\0")
        assert is_told == (0 < size < 20 or (size >= 1024 and size not in ends and not padding)), size


@pytest.mark.parametrize("head", [b"", b"BKLX", b"BKLO" + struct.pack(">i", 2), b"BKLO" + struct.pack(">i", -1)])
def test_headers_that_are_none(head: bytes, tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="log_bad_header"):
        read_header("entry log", head.ljust(8, b"\0") + bytes(12))
    seen = seen_of(tmp_path, head + entry_log(records())[len(head) or 4 :])
    assert codes(seen) == {"S25"}
    assert any(finding.incomplete for finding in seen.inventory.findings)


def test_a_damaged_entry_is_given_and_told(tmp_path: Path) -> None:
    data = bytearray(entry_log(records()))
    at = 1024 + len(b"".join(records()[:20]))
    data[at + 60] ^= 1
    seen = seen_of(tmp_path, bytes(data))
    assert [i for i, _ in seen.entries[7]] == list(range(40))
    (fault,) = seen.faults[7]
    assert (fault.code, fault.entry_offset, fault.entry_id, fault.path) == ("digest_mismatch", at, 20, "current/0.log")


def test_files_that_are_no_bookies(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "1.log").write_text("10:00 started\n")
    put_log(tmp_path, entry_log(records()))
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE}
    assert codes(seen) == {"S03"}


@pytest.mark.parametrize(
    ("folder", "name", "role"),
    [
        ("a/current", "0.log", "entry log"),
        ("", "1f.log", "entry log"),
        ("current", "1f.log.compacting", "entry log"),
        ("current", "2.log.1f.compacted", "entry log"),
        ("current", "1a1fd97a234.txn", "journal"),
        ("current/locations", "000004.log", "index"),  # RocksDB's
        ("a/current/ledgers", "CURRENT", "index"),
        ("current/locations", "LOG", "other"),  # what RocksDB says of itself
        ("current/other", "000004.log", "other"),
        ("current/0/1f", "1f.idx", "index"),
        ("current/0/1f", "1f.idx.rloc", "other"),
        ("", "000004.log", None),
        ("current", "lastMark", "other"),
        ("a/b", "1F.log", None),
    ],
)
def test_names(folder: str, name: str, role: str | None) -> None:
    assert role_of(folder, name) == role
