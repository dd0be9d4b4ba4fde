"""Journals in every version that bookies read, with padding and control records."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.ledgers.bookies.encoding import control, entry_log, journal, put_log, record
from tests.ledgers.sources import Seen, see
from tests.wire.encode import entry

BODIES = [entry(payload=bytes([n]) * (n * 30)) for n in range(40)]
WHOLE = list(enumerate(BODIES))
RECORDS = [record(7, i, body) for i, body in WHOLE]
MASTER_KEY, FENCE, FORCE, EXPLICIT_LAC = -0x1000, -0x2000, -0x4000, -0x8000


def codes(seen: Seen) -> set[str]:
    return set(seen.codes()) - {"S18"}


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_versions(version: int, tmp_path: Path) -> None:
    put_log(tmp_path, journal(RECORDS, version), "1a.txn")
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE}
    assert (seen.faults[7], codes(seen)) == ([], set())


def test_a_newer_version_is_not_read(tmp_path: Path) -> None:
    put_log(tmp_path, journal(RECORDS, 7), "1a.txn")
    assert codes(see(tmp_path)) == {"S25"}


def test_control_records_are_no_entries(tmp_path: Path) -> None:
    key = control(7, MASTER_KEY, struct.pack(">i", 20) + bytes(20))
    lac = control(7, EXPLICIT_LAC, struct.pack(">i", 12) + bytes(12))
    records = [key, *RECORDS[:20], control(7, FORCE), lac, *RECORDS[20:], control(7, FENCE), control(9, FENCE)]
    put_log(tmp_path, journal(records), "1a.txn")
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE}
    assert codes(seen) == {"S28"}
    (fenced,) = (finding for finding in seen.inventory.findings if finding.code == "S28")
    assert fenced.evidence == ("ledger 7", "ledger 9")


def test_only_what_entry_logs_lack_is_taken_of_a_journal(tmp_path: Path) -> None:
    put_log(tmp_path, entry_log(RECORDS[:30]))
    put_log(tmp_path, journal(RECORDS[:25]), "1.txn")
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE[:30]}
    assert {block.uri for block in seen.copy().blocks} == {"current/0.log"}
    put_log(tmp_path, journal(RECORDS[25:]), "2.txn")
    seen = see(tmp_path)
    assert (seen.entries, seen.faults[7]) == ({7: WHOLE}, [])
    assert {block.uri for block in seen.copy().blocks} == {"current/0.log", "current/2.txn"}


def test_an_entry_log_that_says_twice_what_it_has_does_not_hide_the_journal(tmp_path: Path) -> None:
    put_log(tmp_path, entry_log([*RECORDS[:10], RECORDS[9], RECORDS[9], *RECORDS[12:20]]))  # 10 and 11 are not there
    put_log(tmp_path, journal(RECORDS[10:12]), "1.txn")
    assert see(tmp_path).entries == {7: WHOLE[:20]}


def test_damage_in_a_journal_ends_at_the_next_record(tmp_path: Path) -> None:
    data = bytearray(journal(RECORDS, 4))
    at = 8 + len(b"".join(RECORDS[:20]))
    data[at : at + 4] = b"\xff\xff\xfe\x00"
    put_log(tmp_path, bytes(data), "1a.txn")
    seen = see(tmp_path)
    assert seen.entries == {7: [one for one in WHOLE if one[0] != 20]}
    assert "S25" in codes(seen)


def test_padding_that_says_more_than_there_is(tmp_path: Path) -> None:
    data = journal(RECORDS[:1], tail=0)[: 512 + len(RECORDS[0])] + struct.pack(">ii", -0x100, 0x7FFFFFFF) + bytes(600)
    put_log(tmp_path, data, "1a.txn")
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE[:1]}
    assert codes(seen) == {"S25"}
