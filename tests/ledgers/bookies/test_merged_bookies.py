"""Copies of an entry on several bookies become one; where they disagree, it is told to the byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers import spread_units
from pulsar_backlog.ledgers.bookies import survey
from pulsar_backlog.ledgers.bookies.missing import Gap, gaps_of
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from tests.ledgers.bookies.encoding import entry_log, put_log, record
from tests.ledgers.sources import see
from tests.memory import with_peak_bytes
from tests.scanning.scans import scanned
from tests.wire.encode import entry

BODIES = [entry(payload=bytes([n % 256]) * (n % 7 * 30)) for n in range(400)]
WHOLE = list(enumerate(BODIES))


def put(bookie: Path, ids: list[int], changed: dict[int, bytes] | None = None, **style: object) -> bytes:
    bodies = {i: BODIES[i] for i in ids} | (changed or {})
    data = entry_log([record(7, i, body, **style) for i, body in bodies.items()])  # type: ignore[arg-type]
    put_log(bookie, data)
    return data


def striped(member: int, ensemble: int = 3, write_quorum: int = 2) -> list[int]:
    """Ids that a member of an ensemble has."""
    return [i for i, _ in WHOLE if (member - i) % ensemble < write_quorum]


def test_members_of_an_ensemble_are_merged(tmp_path: Path) -> None:
    for member in range(3):
        put(tmp_path / f"bookie-{member}", striped(member))
    seen = see(tmp_path, unit_bytes=1000)
    assert seen.entries == {7: WHOLE}
    assert seen.faults[7] == []
    rows, rejects, account = scanned(open_source(str(tmp_path)))
    assert ([row["entry_id"] for row in rows[7]], rejects) == (list(range(400)), [])
    assert account.frames == 400
    for row in rows[7]:
        stored = (tmp_path / row["uri"]).read_bytes()[row["offset"] : row["offset"] + row["length"]]
        assert stored == BODIES[row["entry_id"]]
    assert len({row["uri"] for row in rows[7]}) > 1


def test_units_whose_extents_overlap_give_each_entry_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "WINDOW_BYTES", 3000)
    for member in range(3):
        put(tmp_path / f"bookie-{member}", striped(member))
    source = open_source(str(tmp_path))
    (copy,) = take_inventory(source).copies
    units = list(units_of(copy, 10_000))
    assert len(units) > 5
    assert sum(len(unit.blocks) for unit in units) > len(copy.blocks)  # those on borders are read by both neighbours
    batches = [batch for unit in units for batch in walk_unit(source, unit)]
    assert [i for batch in batches for i in batch.entry_id.tolist()] == list(range(400))
    assert [fault for batch in batches for fault in batch.faults] == []


def test_two_of_three_members_have_all_and_one_has_a_part(tmp_path: Path) -> None:
    put(tmp_path / "bookie-0", striped(0))
    one = see(tmp_path)
    assert [i for i, _ in one.entries[7]] == striped(0)
    (fault,) = one.faults[7]
    assert fault.code == "entries_elsewhere"
    assert fault.found == f"those whose rest by 3 is 0, 2: an ensemble's other bookies have the others ({133} ids)"
    put(tmp_path / "bookie-2", striped(2))
    two = see(tmp_path)
    assert (two.entries[7], two.faults[7]) == (WHOLE, [])


def test_a_hole_is_not_taken_for_striping(tmp_path: Path) -> None:
    put(tmp_path / "bookie-0", [i for i in striped(0) if i != 200])
    faults = see(tmp_path).faults[7]
    assert {fault.code for fault in faults} == {"entries_absent"}
    put(tmp_path / "bookie-0", [i for i, _ in WHOLE if i not in (0, 17, 18)])
    faults = see(tmp_path).faults[7]
    assert [(fault.code, fault.expected) for fault in faults] == [
        ("entries_absent", "entry 0"),
        ("entries_absent", "entries 17 to 18"),
    ]


@pytest.mark.parametrize("far", [1 << 24, (1 << 40) - 2])
def test_the_distance_of_an_id_costs_no_memory(far: int) -> None:
    # All of them even, so that patterns are looked for over the whole distance.
    ids = np.append(np.arange(0, 400, 2), far)
    gaps, peak = with_peak_bytes(lambda: list(gaps_of(0, ids, far + 10)))
    assert peak < 1_000_000
    assert gaps[-2:] == [Gap(399, far - 1, far - 399), Gap(far + 1, far + 9, 9)]


@pytest.mark.parametrize("ensemble", [2, 3, 5, 16])
def test_a_pattern_is_told_from_a_hole_wherever_it_begins(ensemble: int) -> None:
    for begin in range(2 * ensemble):
        ids = np.array([i for i in range(begin, begin + 9 * ensemble) if i % ensemble])
        (gap,) = gaps_of(int(ids[0]), ids)
        assert gap.words is not None
        assert gap.words.startswith(f"those whose rest by {ensemble} is")
        holed = np.delete(ids, 3 * ensemble)
        assert all(gap.words is None for gap in gaps_of(int(holed[0]), holed))


def test_a_damaged_copy_gives_way_to_a_good_one(tmp_path: Path) -> None:
    data = bytearray(put(tmp_path / "bookie-0", list(range(400))))
    put(tmp_path / "bookie-1", list(range(400)))
    at = 1024 + len(b"".join(record(7, i, BODIES[i]) for i in range(111)))
    data[at + 45] ^= 8
    put_log(tmp_path / "bookie-0", bytes(data))
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE}
    (fault,) = seen.faults[7]
    assert (fault.code, fault.path, fault.entry_offset, fault.entry_id) == (
        "digest_mismatch", "bookie-0/current/0.log", at, 111,
    )  # fmt: skip


def test_copies_that_disagree_are_told_to_the_byte(tmp_path: Path) -> None:
    other = bytearray(BODIES[5])
    other[30] ^= 1
    put(tmp_path / "bookie-0", list(range(400)))
    data = put(tmp_path / "bookie-1", list(range(400)), {5: bytes(other)})
    seen = see(tmp_path)
    assert seen.entries == {7: WHOLE}
    (fault,) = seen.faults[7]
    at = 1024 + len(b"".join(record(7, i, BODIES[i]) for i in range(5)))
    assert (fault.code, fault.path, fault.entry_offset) == ("copies_differ", "bookie-1/current/0.log", at)
    assert fault.offset == at + 4 + 32 + 4 + 30
    assert data[fault.offset] == other[30]
    assert fault.first_bytes[0] == other[30]
    assert fault.expected == f"entry 5 as in bookie-0/current/0.log at {at}"


def test_a_copy_of_another_length_and_another_length_of_the_ledger(tmp_path: Path) -> None:
    put(tmp_path / "bookie-0", list(range(10)))
    put(tmp_path / "bookie-1", list(range(10)), {5: BODIES[5] + b"!"})
    (fault,) = see(tmp_path).faults[7]
    assert (fault.code, fault.found) == ("copies_differ", f"another byte, {len(BODIES[5])} into the payload")
    put(tmp_path / "bookie-1", list(range(10)), length=101)
    assert {fault.found for fault in see(tmp_path).faults[7]} == {"another length of the ledger"}


def test_a_copy_that_names_another_last_confirmed_entry_is_the_same(tmp_path: Path) -> None:
    put(tmp_path / "bookie-0", list(range(10)))
    put(tmp_path / "bookie-1", list(range(10)), lac=9)  # re-replicated after the ledger was closed
    seen = see(tmp_path)
    assert (seen.entries[7], seen.faults[7]) == (WHOLE[:10], [])


def test_many_copies_do_not_take_all_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_log(tmp_path / "bookie-0", entry_log([record(7, 0, BODIES[6])] * 1000))
    monkeypatch.setattr(spread_units, "MAX_HELD_BYTES", 100_000)
    source = open_source(str(tmp_path))
    (copy,) = take_inventory(source).copies
    with pytest.raises(SourceError, match="1 stretches with the same entries of ledger 7 are 2"):
        for unit in units_of(copy):
            list(walk_unit(source, unit))


@pytest.mark.parametrize(
    ("first", "entries", "end", "gaps"),
    [
        (0, [0, 1, 2], None, []),
        (0, [0, 1, 2], 3, []),
        (0, [0, 1, 2], 5, [Gap(3, 4, 2)]),
        (0, [], 2, [Gap(0, 1, 2)]),
        (0, [], None, []),
        (2, [4, 5], None, [Gap(2, 3, 2)]),  # a unit that begins behind where the one before ended
        (0, [0, 2, 4], None, [Gap(1, 1, 1), Gap(3, 3, 1)]),  # three rounds may be chance
    ],
)
def test_gaps(first: int, entries: list[int], end: int | None, gaps: list[Gap]) -> None:
    assert list(gaps_of(first, np.array(entries, dtype=np.int64), end)) == gaps
