"""One flipped bit in an entry log: no other record is lost, nothing stands under a wrong id, what is lost is named."""

from __future__ import annotations

import random
import re
import shutil
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.ledgers.bookies import survey
from pulsar_backlog.ledgers.bookies.records import POSITION, new_state, walk_records
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.survey import survey as survey_source
from pulsar_backlog.ledgers.units import units_of
from tests.ledgers.bookies.encoding import DIGESTS, entry_log, journal, put_log, record
from tests.ledgers.bookies.test_real_bookie import SOURCE
from tests.ledgers.sources import Seen, see
from tests.memory import with_peak_bytes
from tests.wire.encode import entry

LOG = (SOURCE / "current" / "0.log").read_bytes()
SIZE_THAT_HID_ELEVEN_LEDGERS = (58_643, 3)
BODIES = [entry(payload=bytes([n % 251]) * (n * 30)) for n in range(40)]
WHOLE = list(enumerate(BODIES))


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def records(ledger: int = 7, ids: range = range(40), **style: object) -> list[bytes]:
    return [record(ledger, i, BODIES[i], **style) for i in ids]  # type: ignore[arg-type]


def named(seen: Seen) -> set[tuple[int, int]]:
    """Entries that a fault names, and the first behind those of a ledger of which a finding names damaged records."""
    found = set()
    for ledger, faults in seen.faults.items():
        for fault in faults:
            ids = [int(number) for number in re.findall("[0-9]+", fault.expected)]
            if fault.code == "entries_absent":
                found |= {(ledger, i) for i in range(ids[0], ids[-1] + 1)}
    for finding in seen.inventory.findings:
        if finding.code == "S25" and (ends := re.search("proved end at entry ([0-9]+)", finding.message)):
            found.add((finding.ledger_id or -1, int(ends[1]) + 1))
    return found


def is_place_named(seen: Seen, at: int) -> bool:
    """Whether a finding names a damaged record or stretch that begins at most a head before a byte, or holds it."""
    words = " ".join(text for one in seen.inventory.findings if one.code == "S25" for text in one.evidence)
    starts = [int(number) for number in re.findall("0.log[+]([0-9]+)", words)]
    return any(start <= at < start + 40 for start in starts)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("whole")
    put_log(folder, LOG)
    return see(folder)


def started() -> np.ndarray:
    state = new_state()
    state[POSITION] = 1024
    return state


def places() -> list[tuple[int, int]]:
    seeded = random.Random(31)
    heads = [
        at for at in range(1024, len(LOG) - 40) if LOG[at : at + 2] == b"\0\0" and LOG[at + 4 : at + 10] == bytes(6)
    ]
    anywhere = [(seeded.randrange(1024, len(LOG)), seeded.randrange(8)) for _ in range(30)]
    in_heads = [(seeded.choice(heads) + seeded.randrange(40), seeded.randrange(8)) for _ in range(50)]
    return [SIZE_THAT_HID_ELEVEN_LEDGERS, *anywhere, *in_heads]


@pytest.mark.parametrize(("at", "bit"), places())
def test_a_flipped_bit_costs_the_record_that_it_is_in(at: int, bit: int, whole: Seen, tmp_path: Path) -> None:
    put_log(tmp_path, flipped(LOG, at, bit))
    seen = see(tmp_path)
    stored = {(ledger, i): body for ledger, entries in whole.entries.items() for i, body in entries}
    given = {(ledger, i): body for ledger, entries in seen.entries.items() for i, body in entries}
    lost = stored.keys() - given.keys()
    assert given.keys() <= stored.keys()
    assert len(lost) <= 1
    changed = {place for place in given if given[place] != stored[place]}
    assert len(changed) + len(lost) <= 1
    for ledger, i in changed:  # the record itself, at its place between its neighbours
        assert len(given[ledger, i]) == len(stored[ledger, i])
        assert "digest_mismatch" in seen.fault_codes(ledger)
    # Of a ledger's last entry whose ledger id is damaged nothing says whose it was: its place is named.
    assert lost <= named(seen) or (
        is_place_named(seen, at) and all((ledger, i + 1) not in stored for ledger, i in lost)
    )
    assert (len(given) == len(stored) and not changed) or "S25" in seen.codes()


def test_what_a_damaged_log_lost_is_found_in_the_journal(whole: Seen, tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "bookie")
    (tmp_path / "bookie" / "current" / "0.log").write_bytes(flipped(LOG, *SIZE_THAT_HID_ELEVEN_LEDGERS))
    assert see(tmp_path).entries == whole.entries


@pytest.mark.parametrize("digest", DIGESTS)
@pytest.mark.parametrize("bit", range(24))
def test_any_bit_of_a_size(digest: str, bit: int, tmp_path: Path) -> None:
    # Whatever the digest is; of a ledger without one only ledgers that have one are safe from its damaged sizes.
    parts = [one for pair in zip(records(7, digest=digest), records(8), strict=True) for one in pair]
    at = 1024 + len(b"".join(parts[:40]))
    put_log(tmp_path, flipped(entry_log(parts), at + 3 - bit // 8, bit % 8))
    seen = see(tmp_path)
    assert seen.entries[8] == WHOLE
    assert seen.entries[7] == [one for one in WHOLE if one[0] != 20]
    assert [(fault.code, fault.expected) for fault in seen.faults[7]] == [("entries_absent", "entry 20")]


@pytest.mark.parametrize("window", [500, 3000, 20_000])
def test_damage_at_the_edge_of_a_window(window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "WINDOW_BYTES", window)
    parts = records()
    for damaged in range(0, 40, 3):
        at = 1024 + len(b"".join(parts[:damaged]))
        put_log(tmp_path, flipped(entry_log(parts), at + 1, 1))
        assert see(tmp_path).entries == {7: [one for one in WHOLE if one[0] != damaged]}


def test_a_last_entry_that_is_damaged_is_named(tmp_path: Path) -> None:
    data = entry_log([*records(7), *records(8)])
    put_log(tmp_path, flipped(data, 1024 + len(b"".join(records(7))) - 1, 0))
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE[:39], 8: WHOLE}
    assert [(fault.code, fault.entry_offset) for fault in seen.faults[7]] == [
        ("digest_mismatch", 1024 + len(b"".join(records(7)[:39])))
    ]
    (finding,) = (one for one in seen.inventory.findings if one.code == "S25" and one.ledger_id == 7)
    assert finding.message == (
        "Ledger 7: In current/0.log 1 record that no digest proves says to be of this ledger, entry 39; "
        "its entries that are proved end at entry 38."
    )


def test_damaged_records_at_both_ends_of_a_ledger_and_within_are_told_once(tmp_path: Path) -> None:
    mixed = [one for pair in zip(records(7), records(8), strict=True) for one in pair]
    data = entry_log(mixed)
    places = [1024 + len(b"".join(mixed[:number])) for number in (0, 2, 40, 78)]
    for at in places:
        data = flipped(data, at + 50, 2)
    put_log(tmp_path, data)
    seen = see(tmp_path)
    assert seen.entries[8] == WHOLE
    assert [i for i, _ in seen.entries[7]] == list(range(2, 39))  # 20 between its neighbours
    told = [fault.entry_offset for fault in seen.faults[7] if fault.code == "digest_mismatch"]
    assert sorted(told) == places


def test_a_message_whose_ledger_id_is_damaged_makes_no_messages_of_state(tmp_path: Path) -> None:
    """Seen in a journal of a real bookie: entries of a ledger of cursors were scanned."""
    state = [record(16, i, b"no entry of a topic") for i in range(2)]
    parts = [*records(24, range(6)), *state]
    at = 1024 + len(b"".join(parts[:3]))
    whole = put_log(tmp_path, entry_log(parts))
    assert see(tmp_path).entries.keys() == {24}
    whole.write_bytes(flipped(whole.read_bytes(), at + 4 + 7, 3))  # 24 becomes 16
    assert see(tmp_path).entries == {24: [one for one in WHOLE[:6] if one[0] != 3]}


@pytest.mark.parametrize("place", [(4, 0), (5, 3), (11, 1), (12, 0), (15, 4), (19, 2), (19, 7)])
def test_an_id_whose_digest_fails_is_none(place: tuple[int, int], tmp_path: Path) -> None:
    byte, bit = place
    parts = records()
    at = 1024 + len(b"".join(parts[:20]))
    put_log(tmp_path, flipped(entry_log(parts), at + byte, bit))
    seen = see(tmp_path)
    assert seen.entries == {7: [one for one in WHOLE if one[0] != 20]}
    assert ("entries_absent", "entry 20") in {(fault.code, fault.expected) for fault in seen.faults[7]}


def test_ledgers_that_the_map_of_a_log_names_and_that_are_short(tmp_path: Path) -> None:
    stored = {ledger: sum(map(len, records(ledger))) for ledger in (7, 8)}
    data = entry_log([*records(7), *records(8)[:30]], [*stored.items(), (9, 500)])
    put_log(tmp_path, data)
    seen = see(tmp_path)
    (of_log,) = (one for one in seen.inventory.findings if one.code == "S25" and one.ledger_id is None)
    there = sum(map(len, records(8)[:30]))
    assert of_log.evidence == (f"ledger 8: {there} of {stored[8]} bytes", "ledger 9: 0 of 500 bytes")
    (of_ledger,) = (one for one in seen.inventory.findings if one.code == "S25" and one.ledger_id is not None)
    assert of_ledger.ledger_id == 8


def test_ledgers_that_the_metadata_name_and_that_are_short(tmp_path: Path) -> None:
    put_log(tmp_path, entry_log([*records(7)[:30], *records(8)]))
    source = open_source(str(tmp_path))
    promised = {7: LedgerRecord(7, "persistent://a/b/c", None, False, 40, 9000, None)}
    inventory = settle(survey_source(source, take_listing(source)), ClusterRecords({}, promised))
    (copy,) = (one for one in inventory.copies if one.ledger_id == 7)
    faults = [fault for unit in units_of(copy) for batch in walk_unit(source, unit) for fault in batch.faults]
    assert [(fault.code, fault.expected) for fault in faults] == [("entries_absent", "entries 30 to 39")]


def test_a_journal_whose_padding_swallows_records(tmp_path: Path) -> None:
    data = journal(records())
    at = 512 + len(records()[0])
    assert data[at : at + 4] == struct.pack(">i", -0x100)
    put_log(tmp_path, flipped(data, at + 6, 3), "1.txn")
    assert see(tmp_path).entries == {7: WHOLE}


def hostile(count: int, size: int) -> np.ndarray:
    """Heads that follow each other, each of a record of `size` bytes that its digest does not prove."""
    head = struct.pack(">iqqqq", size, 7, 1, 0, 100)
    return np.frombuffer(head * count, dtype=np.uint8)


def test_time_and_memory_are_linear_whatever_sizes_say() -> None:
    def seconds(count: int) -> float:
        buffer = hostile(count, 36 * count // 2)
        begin = time.perf_counter()
        walk_records(buffer, 0, buffer.size, False, new_state(), np.empty((0, 2), dtype=np.int64))
        return time.perf_counter() - begin

    seconds(1000)
    small = min(seconds(20_000) for _ in range(3))
    assert seconds(200_000) < 40 * small + 0.5


def test_a_size_alone_allocates_nothing(tmp_path: Path) -> None:
    data = bytearray(entry_log(records()))
    at = 1024 + len(b"".join(records()[:20]))
    data[at : at + 4] = struct.pack(">i", 200 * 1024 * 1024)
    put_log(tmp_path, bytes(data))
    see(tmp_path)
    seen, peak = with_peak_bytes(lambda: see(tmp_path))
    assert len(seen.entries[7]) == 39
    assert peak < 32 * len(data)


def test_every_ledger_that_a_map_names_and_that_is_absent_is_named(tmp_path: Path) -> None:
    """Damaged stretches, and ledgers with findings of their own, take no room from them."""
    here = [one for ledger in range(100, 130) for one in records(ledger, range(2))]
    sizes = {ledger: 2 * len(records(ledger, range(2))[0]) + 900 for ledger in range(100, 130)}
    data = entry_log([*records(7), *here], [*sizes.items(), *((ledger, 500) for ledger in range(200, 265))])
    at = 1024
    for one in records(7)[:30:2]:
        data = flipped(data, at + 1, 1)  # a size: a gap
        at += 2 * len(one)
    put_log(tmp_path, data)
    findings = [one for one in see(tmp_path).inventory.findings if one.code == "S25"]
    named = {
        int(number)
        for one in findings
        for text in one.row("c", "j")["evidence"]  # type: ignore[attr-defined]
        for number in re.findall("ledger ([0-9]+): 0 of 500 bytes", text)
    }
    assert named == set(range(200, 265))
    assert len({one.subject for one in findings}) == len(findings)
    assert {one.ledger_id for one in findings} >= set(sizes)


def test_records_that_nothing_proves_are_named_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each claims a ledger of its own: it may be one whose digest is not known."""
    monkeypatch.setattr("pulsar_backlog.ledgers.bookies.findings.MAX_NAMED", 50)
    lone = [one for ledger in range(300, 375) for one in records(ledger, range(1), digest="DUMMY")]
    put_log(tmp_path, entry_log([*records(7), *lone]))
    seen = see(tmp_path)
    assert seen.entries.keys() == {7}
    of_log = [one for one in seen.inventory.findings if one.code == "S25"]
    named = {int(number) for one in of_log for text in one.evidence for number in re.findall("ledger ([0-9]+),", text)}
    assert named == set(range(300, 370))
    assert [one.message for one in of_log if one.subject.endswith("more ledgers")] == [
        "current/0.log names 5 ledgers more of which it lacks entries; these are only counted."
    ]
