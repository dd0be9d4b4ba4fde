"""What was found of a copy holds only while everything is listed as it was; and it is what looking would find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.copies import Examined, Pair, Problem
from pulsar_backlog.ledgers.known_copies import COARSEST_CLOCK_MS, KnownCopies
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS, Kind
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.survey import survey
from tests.auditing import DATA, copy_ledgers

LONG_AFTER_MS = 2**45
SOURCES = sorted(path for path in DATA.rglob("*") if path.is_dir() and list(path.glob("*-ledger-*-index")))
MAPFILES = sorted({path.parents[1] for path in DATA.rglob("*/index") if path.with_name("data").is_file()})


@pytest.mark.parametrize("folder", [*SOURCES, *MAPFILES], ids=lambda path: str(path.relative_to(DATA)))
def test_what_is_taken_over_is_what_looking_finds(folder: Path) -> None:
    source = open_source(str(folder))
    listing = take_listing(source)
    first = KnownCopies(LONG_AFTER_MS)
    looked_at = survey(source, listing, earlier=first).attempts
    second = KnownCopies(LONG_AFTER_MS, first.after)
    assert survey(source, listing, earlier=second).attempts == looked_at
    sound = {(one.pair.ledger_id, one.pair.copy) for one in looked_at if not one.problems and not one.faults}
    assert sound
    assert first.after.keys() == sound
    assert second.after == first.after


def test_the_data_of_tests_have_both_kinds() -> None:
    assert SOURCES
    assert MAPFILES


@pytest.fixture
def sound(tmp_path: Path) -> Iterator[tuple[Examined, KnownCopies]]:
    source = open_source(str(copy_ledgers(tmp_path / "one", [22])))
    known = KnownCopies(LONG_AFTER_MS)
    (one,) = survey(source, take_listing(source), earlier=known).attempts
    assert known.after
    yield one, known


def test_any_other_listing_is_looked_at(sound: tuple[Examined, KnownCopies]) -> None:
    one, known = sound
    pair = one.pair
    assert pair.data and pair.index
    assert KnownCopies(LONG_AFTER_MS, known.after).examined(pair) == one
    for other in (
        replace(pair, index=None),
        replace(pair, index=replace(pair.index, etag="another")),
        replace(pair, index=replace(pair.index, size=pair.index.size + 1)),
        replace(pair, index=replace(pair.index, modified_ms=0)),
        replace(pair, index=replace(pair.index, path="moved")),
        replace(pair, data=replace(pair.data, etag="another")),
        replace(pair, data=replace(pair.data, size=pair.data.size + 1)),
        replace(pair, data=replace(pair.data, path="moved")),
        replace(pair, checksums=pair.data),
        replace(pair, copy="another"),
        replace(pair, ledger_id=23),
    ):
        later = KnownCopies(LONG_AFTER_MS, known.after)
        assert later.examined(other) is None, other
        assert not later.after


@pytest.mark.parametrize(
    "change",
    [
        {"problems": (Problem("S02", "the store failed", "x", incomplete=True),)},
        {"problems": (Problem("S24", "the checksum file cannot be used", "x"),)},
    ],
    ids=["unreadable", "damaged"],
)
def test_what_anything_is_wrong_with_is_looked_at(
    sound: tuple[Examined, KnownCopies], change: dict[str, tuple[Problem, ...]]
) -> None:
    known = KnownCopies(LONG_AFTER_MS)
    known.add(replace(sound[0], **change))
    assert not known.after
    known.add(sound[0])
    assert known.after


def test_data_without_anything_beside_it_is_looked_at(sound: tuple[Examined, KnownCopies]) -> None:
    known = KnownCopies(LONG_AFTER_MS)
    known.add(replace(sound[0], pair=replace(sound[0].pair, data=None)))
    assert not known.after


@pytest.mark.parametrize("kind", STORAGE_KINDS)
def test_kinds_of_which_the_listing_tells(sound: tuple[Examined, KnownCopies], kind: Kind) -> None:
    known = KnownCopies(LONG_AFTER_MS)
    known.add(replace(sound[0], pair=replace(sound[0].pair, kind=kind)))
    assert bool(known.after) == (kind in ("jcloud", "filesystem"))


@pytest.mark.parametrize(
    ("etag", "modified_ms", "is_kept"),
    [
        ("mtime-1", 1_000_000 - COARSEST_CLOCK_MS, False),  # it may be written again within the same tick
        ("mtime-1", 1_000_000 - COARSEST_CLOCK_MS - 1, True),
        ("a digest of its bytes", 1_000_000, True),
        (None, 0, True),
        (None, None, False),  # nothing would tell
    ],
)
def test_what_only_time_tells_apart_must_be_older(
    sound: tuple[Examined, KnownCopies], etag: str | None, modified_ms: int | None, is_kept: bool
) -> None:
    for part in ("data", "index"):
        settled = StoredObject("x", 1, "tag", 0)
        pair = Pair(22, "copy", settled, settled)
        stored = StoredObject("x", 1, etag, modified_ms)
        known = KnownCopies(1_000_000)
        pair = replace(pair, data=stored) if part == "data" else replace(pair, index=stored)
        known.add(replace(sound[0], pair=pair))
        assert bool(known.after) == is_kept, part


def test_what_nobody_of_ours_wrote_is_looked_at(sound: tuple[Examined, KnownCopies]) -> None:
    one, _ = sound
    for text in ("", "{}", '{"copy": 1}', "nonsense"):
        assert KnownCopies(LONG_AFTER_MS, {(22, one.pair.copy): text}).examined(one.pair) is None
