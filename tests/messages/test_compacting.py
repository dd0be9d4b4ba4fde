"""Compacted ledgers of a real broker against the log, and against what a real reader of compacted topics got."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.dumps import read_dump
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.messages.compacting import Compared, Latest, compare
from pulsar_backlog.wire.compacted import decode_compacted
from tests.auditing import DATA, OBJECTS

COMPACTED = DATA / "compacted"
TOPICS = {
    "plain": (478, 267, OBJECTS),
    "batch-none": (480, 269, OBJECTS),
    "chunk": (481, 268, DATA / "export" / "objects"),
}


def log_of(ledger_id: int, folder: Path) -> Iterator[tuple[tuple[int, int], bytes]]:
    source = open_source(str(folder))
    [copy] = [one for one in take_inventory(source).copies if one.ledger_id == ledger_id]
    for batch in (batch for unit in units_of(copy) for batch in walk_unit(source, unit)):
        for entry_id, at, size in zip(batch.entry_id, batch.offset, batch.length, strict=True):
            yield (ledger_id, int(entry_id)), batch.buffer[at : at + size].tobytes()


def view_of(ledger_id: int) -> Latest:
    view = Latest(with_keys=True)
    for dumped in read_dump(COMPACTED / f"ledger-{ledger_id}.entries"):
        one = decode_compacted(dumped.entry or b"")
        view.follow((one.ledger_id, one.entry_id), one.entry)
    return view


def compared(name: str, leave_out: tuple[int, ...] = ()) -> tuple[list[Compared], Latest, Latest]:
    compacted, ledger_id, folder = TOPICS[name]
    log, view = Latest(with_keys=True), view_of(compacted)
    for position, data in log_of(ledger_id, folder):
        if position[1] not in leave_out:
            log.follow(position, data)
    return list(compare(log, view, (ledger_id, 0))), log, view


@pytest.mark.parametrize("name", sorted(TOPICS))
def test_what_a_reader_gets_is_what_agrees(name: str) -> None:
    found, log, view = compared(name)
    assert (log.unreadable, view.unreadable, log.damaged, view.damaged) == ([], [], [], [])
    assert view.without_key == 0  # members that compaction took out have none, and are none
    read = json.loads((COMPACTED / f"{name}.java-reader-compacted.json").read_text())
    agrees = [one.in_view for one in found if one.kind == "agrees" and one.in_view]
    assert sorted([*spot.position, spot.batch_index, spot.key] for spot in agrees) == sorted(
        [ledger, entry, batch, key] for ledger, entry, batch, key in read
    )
    kinds = Counter(one.kind for one in found)
    assert kinds.keys() <= {"agrees", "cut"}
    assert kinds["cut"] == (3 if name == "chunk" else 0)


def test_a_chunked_message_is_cut_to_its_last_chunk() -> None:
    found, log, _ = compared("chunk")
    cut = [one.in_log for one in found if one.kind == "cut" and one.in_log]
    assert {spot.num_chunks for spot in cut} == {4}
    assert log.entries == 52


def test_what_the_compacted_ledger_lacks_or_has_too_old() -> None:
    _, log, view = compared("plain")
    keys = sorted(view.spots, key=lambda digest: view.spots[digest].position)
    newest = view.spots.pop(keys[-1])
    old = Latest(with_keys=True)
    for position, data in log_of(267, OBJECTS):
        if position < log.spots[keys[0]].position:
            old.follow(position, data)
    view.spots[keys[0]] = old.spots[keys[0]]
    kinds = {one.kind: one for one in compare(log, view, (267, 0)) if one.kind != "agrees"}
    assert sorted(kinds) == ["lost", "stale"]
    lost, stale = kinds["lost"], kinds["stale"]
    assert lost.in_log == newest
    assert stale.in_view == old.spots[keys[0]]


def test_a_log_that_is_only_here_in_part() -> None:
    _, log, view = compared("plain")
    digest, spot = next(iter(view.spots.items()))
    del log.spots[digest]
    [before] = [one for one in compare(log, view, (spot.position[0] + 1, 0)) if one.in_log is None]
    [within] = [one for one in compare(log, view, (spot.position[0], 0)) if one.in_log is None]
    log.removed[digest] = (spot.position[0], spot.position[1] + 1)
    [deleted] = [one for one in compare(log, view, (spot.position[0], 0)) if one.in_log is None]
    assert (before.kind, within.kind, deleted.kind) == ("beyond_log", "unknown_to_log", "kept_deleted")


def test_damage_is_told_and_the_rest_goes_on() -> None:
    latest = Latest()
    (position, data), (after, good) = list(log_of(267, OBJECTS))[:2]
    latest.follow(position, data[:9])
    broken = bytearray(good)
    broken[-1] ^= 1
    latest.follow(after, bytes(broken))
    assert (latest.unreadable, latest.damaged, latest.entries) == ([position], [after], 2)


def test_keys_are_kept_only_when_asked_for() -> None:
    latest = Latest()
    for position, data in log_of(267, OBJECTS):
        latest.follow(position, data)
    assert {spot.key for spot in latest.spots.values()} == {None}
