"""Ids, uuids, indexes and times on small tables: the view `seek_positions`, and the two clocks; without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.locating import Positions, Row
from tests.frames.rows import NOON_MS, entry
from tests.small_tables import write_tables

KEY = {"cluster": "c", "topic": "t", "chunk_uuid": "u", "publish_time_ms": NOON_MS}


def message(first: int, last: int, **given: Any) -> dict[str, Any]:
    """A publication of three chunks in ledger 1."""
    place = {"first_ledger_id": 1, "first_entry_id": first, "last_ledger_id": 1, "last_entry_id": last}
    return {**KEY, "state": "whole", "num_chunks": 3, **place, **given}


def chunk(entry_id: int, chunk_id: int, **given: Any) -> dict[str, Any]:
    """A row of `chunks`."""
    return {**KEY, "ledger_id": 1, "entry_id": entry_id, "chunk_id": chunk_id, "role": "used", **given}


OFTEN = [
    (0, "duplicate"), (0, "used"), (1, "used"), (2, "used"), (0, "residue"), (0, "duplicate"), (1, "duplicate"),
    (1, "residue"), (2, "duplicate"), (0, "duplicate"), (1, "duplicate"), (2, "duplicate"), (2, "conflicting"),
]  # fmt: skip
"""Chunk ids and roles along ledger 3."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A message, a batch of three, three chunks, two under the same uuid with another publish time, a marker.

    In ledger 3 a message of three chunks with everything that resends leave: what was repeated before it was complete,
    a residue without an end, and two further whole copies.
    """
    again = {"publish_time_ms": NOON_MS + 9}
    entries = [
        entry("t", 1, 0),
        entry("t", 1, 1, index=3, num_messages_in_batch=3),
        *(entry("t", 1, 2 + n, index=4 + n, uuid="u", chunk_id=n, num_chunks_from_msg=3) for n in range(3)),
        *(entry("t", 1, 5 + n, index=7 + n, uuid="u", chunk_id=n, num_chunks_from_msg=3) for n in range(2)),
        entry("t", 1, 7, index=9, marker_type=21),
        entry("other", 2, 0, n=0),
        *(
            entry("often", 3, at, index=100 + at, uuid="v", chunk_id=n, num_chunks_from_msg=3)
            for at, (n, _) in enumerate(OFTEN)
        ),
    ]
    often = {"topic": "often", "chunk_uuid": "v", "ledger_id": 3}
    chunks = [*(chunk(2 + n, n) for n in range(3)), *(chunk(5 + n, n, **again) for n in range(2))]
    chunks += [chunk(at, n, **often | {"role": role}) for at, (n, role) in enumerate(OFTEN)]
    # One publication has chunks 0 and 1, another under its uuid 2: clients join them.
    mixed = {"topic": "mixed", "chunk_uuid": "w", "flags": ["mixed_with_another_publication"]}
    for at, time in enumerate((NOON_MS, NOON_MS, NOON_MS + 9)):
        entries.append(entry("mixed", 4, at, index=200 + at, uuid="w", chunk_id=at, num_chunks_from_msg=3))
        chunks.append(chunk(at, at, topic="mixed", chunk_uuid="w", ledger_id=4, publish_time_ms=time))
    messages = [message(2, 4), message(5, 6, state="orphan_prefix", **again)]
    messages.append(message(1, 3, topic="often", chunk_uuid="v", first_ledger_id=3, last_ledger_id=3))
    in_four = {"first_ledger_id": 4, "last_ledger_id": 4}
    messages.append(message(0, 1, state="orphan_prefix", **mixed | in_four))
    messages.append(message(2, 2, state="headless", publish_time_ms=NOON_MS + 9, **mixed | in_four))
    folder = tmp_path_factory.mktemp("positions")
    for ledger_id in range(1, 5):  # a file each, so that files can be skipped
        write_tables(folder, entries=[row for row in entries if row["ledger_id"] == ledger_id])
    return write_tables(folder, chunks=chunks, chunked_messages=messages)


@pytest.fixture
def positions(out: Path) -> Positions:
    """All topics."""
    return Positions(str(out))


def seeks(rows: list[Row]) -> list[tuple[str, int, int]]:
    return [(row["topic"], row["entry_id"], row["seek_entry_id"]) for row in rows]


@pytest.mark.parametrize(
    ("entry_id", "seek"),
    [
        (0, 0),  # a message is where it is
        (1, 1),  # so is a batch
        (2, 2),  # the first chunk
        (4, 2),  # the last chunk, as clients before 2.10 saved it
        (6, 5),  # of the second publication, not of the first one with its uuid
        (7, 7),  # a marker
    ],
)
def test_where_to_seek_for_an_entry(positions: Positions, entry_id: int, seek: int) -> None:
    assert seeks(positions.at([(1, entry_id)])) == [("t", entry_id, seek)]


@pytest.mark.parametrize(
    ("entry_id", "seek", "last"),
    [
        (0, 1, 3),  # repeated before the message was complete: no copy of its own
        (3, 1, 3),
        (4, 1, 3),  # a residue belongs to the message, wherever it lies
        (5, 5, 8),
        (7, 1, 3),
        (8, 5, 8),  # the last chunk of the second whole copy, not of the first one
        (11, 9, 11),  # of the third
        (12, 1, 3),  # no copy's: too early loses nothing
    ],
)
def test_an_id_names_the_very_copy_that_it_ends(positions: Positions, entry_id: int, seek: int, last: int) -> None:
    (row,) = positions.at([(3, entry_id)])
    assert (row["seek_ledger_id"], row["seek_entry_id"], row["message_entry_id"]) == (3, seek, last)
    assert row["is_further_copy"] == (seek > 1)


def test_a_mixture_begins_where_its_first_part_does(positions: Positions) -> None:
    for entry_id in range(3):
        (row,) = positions.at([(4, entry_id)])
        assert (row["seek_entry_id"], row["message_entry_id"], row["is_mixed"]) == (0, 2, True)


def test_an_entry_that_is_not_stored(positions: Positions) -> None:
    assert seeks(positions.at([(1, 8)])) == []


def test_a_reused_uuid_means_both_messages(positions: Positions) -> None:
    assert seeks(positions.of_uuid("u")) == [("t", 2, 2), ("t", 5, 5)]


def test_a_uuid_that_is_stored_whole_three_times_means_each(positions: Positions) -> None:
    assert seeks(positions.of_uuid("v")) == [("often", 1, 1), ("often", 5, 5), ("often", 9, 9)]


@pytest.mark.parametrize(
    ("index", "found"),
    [
        (0, [("other", 0, 0), ("t", 0, 0)]),  # each topic counts for itself
        (1, [("t", 1, 1)]),  # first message of the batch
        (3, [("t", 1, 1)]),  # its last
        (6, [("t", 4, 2)]),
        (10, []),
    ],
)
def test_index(positions: Positions, index: int, found: list[tuple[str, int, int]]) -> None:
    assert seeks(positions.at_index(index)) == found


def test_several_positions_at_once(positions: Positions) -> None:
    assert seeks(positions.at({(1, 4), (2, 0)})) == [("other", 0, 0), ("t", 4, 2)]


@pytest.mark.parametrize(
    ("glob", "topics"),
    [
        (None, {"t", "other", "often", "mixed"}),
        ("o*", {"other", "often"}),
        ("[!o]", {"t"}),
        ("T", set()),
        ("t\n", set()),
        ("' OR '1'='1", set()),
    ],
)
def test_topics_by_glob(out: Path, glob: str | None, topics: set[str]) -> None:
    everywhere = {(1, 0), (2, 0), (3, 0), (4, 0)}
    assert {row["topic"] for row in Positions(str(out), topic=glob).at(everywhere)} == topics
    assert {row["topic"] for row in Positions(str(out), topic=glob).around(0)} == topics


def test_of_another_cluster(out: Path) -> None:
    assert Positions(str(out), cluster="d").at({(1, 0)}) == []
    assert len(Positions(str(out), cluster="c").at({(1, 0)})) == 1


@pytest.mark.parametrize("uuid", ["", "' OR '1'='1", "no such"])
def test_a_uuid_that_is_not_stored(positions: Positions, uuid: str) -> None:
    assert positions.of_uuid(uuid) == []


def test_files_of_other_ledgers_are_not_opened(out: Path, tmp_path: Path) -> None:
    here = tmp_path / "copy"
    shutil.copytree(out, here)
    files = {ledger_in(path): path for path in (here / "tables" / "entries").glob("*.parquet")}
    for ledger_id in (2, 3, 4):
        files[ledger_id].unlink()
    assert seeks(Positions(str(here)).at({(1, 4)})) == [("t", 4, 2)]
    with pytest.raises(UsageError, match=f"{here}/tables, a file of a table, is damaged or gone: .*{files[2].name}"):
        Positions(str(here)).at({(2, 0)})


def ledger_in(path: Path) -> int:
    (ledger_id,) = set(parquet.read_table(path, columns=["ledger_id"])["ledger_id"].to_pylist())
    return int(ledger_id)


def test_an_index_whose_batch_reaches_below_every_number(tmp_path: Path) -> None:
    """The wire gives any 64 bits: nothing overflows."""
    low = entry("t", 1, 0, index=-(2**63) + 1, num_messages_in_batch=2**31 - 1)
    high = entry("t", 1, 1, index=2**63 - 1, num_messages_in_batch=-(2**31))
    write_tables(tmp_path, entries=[low, high, entry("t", 1, 2, index=5)])
    assert [row["entry_id"] for row in Positions(str(tmp_path)).at_index(5)] == [2]
    assert [row["first_index"] for row in Positions(str(tmp_path)).at({(1, 0), (1, 1)})] == [None, None]


CLOCKED = [
    entry("rising", 1, 0, sent_ms=0, at_ms=10),
    entry("rising", 1, 1, sent_ms=10, at_ms=20),
    entry("rising", 1, 2, sent_ms=20, at_ms=30),
    # The second producer's message lay in a queue: its publish time is older than that of the one before it.
    entry("falling", 2, 0, sent_ms=0, at_ms=10),
    entry("falling", 2, 1, sent_ms=30, at_ms=35),
    entry("falling", 2, 2, sent_ms=5, at_ms=40),
    entry("falling", 2, 3, sent_ms=40, at_ms=45),
    entry("falling", 2, 4, sent_ms=-5000, at_ms=50, marker_type=21),  # the broker's own, which no seek looks at
    entry("without broker times", 3, 0, sent_ms=0, at_ms=None),
]


@pytest.fixture(scope="module")
def clocked(tmp_path_factory: pytest.TempPathFactory) -> Positions:
    return Positions(str(write_tables(tmp_path_factory.mktemp("clocked"), entries=CLOCKED)))


@pytest.mark.parametrize(
    ("topic", "clock", "ms", "expected"),
    [
        ("rising", "publish", 10, (1, 0)),  # at the time is after it
        ("rising", "publish", 11, (2, 1)),
        ("rising", "broker", 11, (1, 0)),  # the other clock, another entry
        ("rising", "publish", -9, (0, None)),
        ("rising", "publish", 21, (None, 2)),
        ("falling", "publish", 20, (1, 2)),  # ambiguous from 1 to 2
        ("falling", "broker", 36, (2, 1)),  # not by the broker's clock
        ("without broker times", "broker", 0, (None, None)),
    ],
)
def test_time(clocked: Positions, topic: str, clock: str, ms: int, expected: tuple[Any, Any]) -> None:
    rows = {(row["topic"], row["clock"]): row for row in clocked.around(NOON_MS + ms)}
    after, before = rows[topic, clock]["after"], rows[topic, clock]["before"]
    assert (after and after["entry_id"], before and before["entry_id"]) == expected


def test_how_many_entries_have_a_time(clocked: Positions) -> None:
    rows = {(row["topic"], row["clock"]): row["with_clock"] for row in clocked.around(NOON_MS)}
    assert rows["falling", "publish"] == 4  # without the broker's own
    assert rows["without broker times", "broker"] == 0
