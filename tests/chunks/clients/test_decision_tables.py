"""Each row of the decision tables in docs/clients.md, where no recorded run shows it or a short log shows it better."""

from __future__ import annotations

from typing import Any

import pytest

from pulsar_backlog.chunks.clients.settings import Profile
from tests.chunks.clients.logs import acked, consume, delivered, log, settings

OLD: tuple[Profile, ...] = ("J-OLD", "C-OLD", "C-330", "C-300", "G-OLD", "SQL")
NEW: tuple[Profile, ...] = ("J-NEW", "C-NEW", "G-NEW")
ALL = OLD + NEW


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        # whole
        ("A0 A1 A2", [[0, 1, 2]], [[0, 1, 2]]),
        # begun again before it was whole: only new clients take the second copy
        ("A0 A1 A0 A1 A2", [], [[2, 3, 4]]),
        # resent from the first unconfirmed chunk on
        ("A0 A1 A1 A2", [], [[0, 1, 3]]),
        # a tail after the whole
        ("A0 A1 A2 A1 A2", [[0, 1, 2]], [[0, 1, 2]]),
        # whole twice: nobody remembers
        ("A0 A1 A2 A0 A1 A2", [[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]),
        # a gap, no beginning, no end, out of order
        ("A0 A2", [], []),
        ("A1 A2", [], []),
        ("A0 A1", [], []),
        ("A1 A0 A2", [], []),
        # the end of one after the beginning of another, under one uuid
        ("A0 a1 a2", [[0, 1, 2]], [[0, 1, 2]]),
        # interleaved, within every limit
        ("A0 B0 A1 B1 A2 B2", [[0, 2, 4], [1, 3, 5]], [[0, 2, 4], [1, 3, 5]]),
    ],
)
def test_patterns(text: str, old: list[list[int]], new: list[list[int]]) -> None:
    for profile in ALL:
        entries = log(text)
        assert delivered(consume(entries, settings(profile))[1]) == (old if profile in OLD else new), profile


@pytest.mark.parametrize(
    ("profile", "live", "given", "expected"),
    [
        # gap at 2, then headless 4 5: the age of the chunk decides in Java and new C++, the setting in Go
        ("J-OLD", False, {}, ".###."),
        ("J-NEW", False, {}, ".###."),
        ("J-NEW", True, {}, "....."),
        ("C-OLD", False, {}, "....."),
        ("C-NEW", False, {}, ".###."),
        ("C-NEW", True, {}, "....."),
        ("G-OLD", False, {"auto_ack": True}, "....."),
        ("G-NEW", False, {}, "....."),
        ("G-NEW", True, {"auto_ack": True}, ".###."),
        ("J-NEW", False, {"expiry_ms": 0}, "....."),
    ],
)
def test_unusable_chunks(profile: Profile, live: bool, given: dict[str, Any], expected: str) -> None:
    entries = log("A0 A2 B1 B2 C0")
    assert acked(consume(entries, settings(profile, live=live, **given))[1], entries) == expected


@pytest.mark.parametrize("profile", ["J-OLD", "J-NEW", "C-OLD", "C-330", "C-300", "C-NEW", "G-OLD", "G-NEW"])
def test_oldest_is_evicted(profile: Profile) -> None:
    entries = log("A0 B0 A1 A2 B1 B2")
    session, journal = consume(entries, settings(profile, max_pending=1, live=True))
    assert delivered(journal) == [[1, 4, 5]]
    assert session.contexts.peak_open == (2 if profile in ("J-OLD", "G-OLD", "G-NEW") else 1)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("J-NEW", "##..##"),
        ("C-OLD", "##..##"),
        ("C-330", "#....#"),
        ("C-300", ".#...#"),
        ("C-NEW", "##..##"),
        ("G-OLD", "##..##"),
    ],
)
def test_auto_ack_loses_what_is_evicted(profile: Profile, expected: str) -> None:
    """C++ 3.0 acknowledges the incoming chunk in its place."""
    entries = log("A0 B0 A1 A2 B1 B2")
    assert acked(consume(entries, settings(profile, max_pending=1, auto_ack=True, live=True))[1], entries) == expected


def test_java_counts_gaps_for_ever() -> None:
    """Twelve gaps, then two interleaved messages: the counter is past its limit, so the first of them is evicted."""
    text = " ".join(f"{letter}0 {letter}2" for letter in "ABCDEFGHIJKL") + " X0 Y0 X1 Y1 X2 Y2"
    entries = log(text)
    for profile, expected in (("J-NEW", [[25, 27, 29]]), ("C-OLD", [[24, 26, 28], [25, 27, 29]])):
        assert delivered(consume(entries, settings(profile, live=True))[1]) == expected  # type: ignore[arg-type]


def test_go_evicts_only_once() -> None:
    """The evicted uuid stays at the head of the queue."""
    entries = log("A0 B0 C0 D0 B1 B2 C1 C2 D1 D2")
    assert delivered(consume(entries, settings("G-NEW", max_pending=1))[1]) == [[1, 4, 5], [2, 6, 7], [3, 8, 9]]


def test_new_go_leaves_an_evicted_uuid_in_the_queue_when_a_headless_chunk_of_it_comes() -> None:
    """The limit is 1, and A was evicted. G-OLD takes A1 for a reason to forget A, so B is evicted when C begins."""
    entries = log("A0 B0 A1 C0 B1 B2 C1 C2")
    for profile, expected in (("G-OLD", [[3, 6, 7]]), ("G-NEW", [[1, 4, 5], [3, 6, 7]])):
        assert delivered(consume(entries, settings(profile, max_pending=1))[1]) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("profile", ["G-OLD", "G-NEW"])
def test_go_takes_a_first_chunk_before_it_evicts(profile: Profile) -> None:
    """A was evicted and stands at the head of the queue, so A begun anew is the next to go: with its chunk 0."""
    entries = log("A0 B0 A0 C0 B1 B2")
    _session, journal = consume(entries, settings(profile, max_pending=1, auto_ack=True))
    assert delivered(journal) == [[1, 4, 5]]
    assert journal.acknowledged[entries[2].position] == "evicted"


@pytest.mark.parametrize(
    ("profile", "hold_ms", "expected"),
    [
        # every timer starts with the first chunk; Java and C++ look once in E and find it not old enough the first time
        ("J-NEW", 119_000, "."),
        ("J-NEW", 121_000, "#"),
        ("C-OLD", 119_000, "."),
        ("C-OLD", 121_000, "#"),
        ("C-300", 900_000, "."),
        ("G-NEW", 59_000, "."),
        ("G-NEW", 61_000, "#"),
    ],
)
def test_expiry(profile: Profile, hold_ms: int, expected: str) -> None:
    entries = log("A0")
    assert acked(consume(entries, settings(profile, live=True), hold_ms)[1], entries) == expected


def test_java_expires_nothing_behind_a_complete_uuid() -> None:
    entries = log("A0 A1 A2 B0")
    assert acked(consume(entries, settings("J-NEW"), 10**9)[1], entries) == "###."
    assert acked(consume(entries, settings("C-OLD"), 10**9)[1], entries) == "####"


def test_cpp_counts_from_the_newest_chunk_and_java_from_the_first() -> None:
    entries = [e._replace(stored_ms=e.stored_ms + 70_000 * e.chunk_id) for e in log("A0 A1") if e.chunk_id is not None]
    assert acked(consume(entries, settings("J-NEW", live=True), 51_000)[1], entries) == "##"
    assert acked(consume(entries, settings("C-OLD", live=True), 51_000)[1], entries) == ".."


def test_go_timer_of_a_finished_message_kills_a_later_one() -> None:
    entries = log("A0 A1 A2 A0 A1")
    late = [e._replace(stored_ms=e.stored_ms + (50_000 if e.position[1] > 2 else 0)) for e in entries]
    assert acked(consume(late, settings("G-NEW", live=True), 11_000)[1], entries) == "#####"
    assert acked(consume(late, settings("G-NEW", live=True), 9_000)[1], entries) == "###.."


@pytest.mark.parametrize(
    ("text", "damages", "go_delivers"),
    [
        # the last chunk says there are fewer: Java and Go believe it and find no last id
        ("A0 A1/2 .", {"J-NEW": "reconnect_loop", "G-NEW": "panic"}, []),
        # more chunks come than the first one said
        ("A0 A1/4 A2/4 A3/4 .", {"J-NEW": "reconnect_loop", "G-NEW": "panic", "SQL": "query_failure"}, []),
        # more bytes than the first chunk said
        (
            "A0 A1:1500 A2 .",
            {"J-NEW": "reconnect_loop", "C-OLD": "process_death", "SQL": "query_failure"},
            [[0, 1, 2], [3]],
        ),
    ],
)
def test_lies(text: str, damages: dict[str, str], go_delivers: list[list[int]]) -> None:
    families: dict[Profile, Profile] = {"C-300": "C-OLD", "C-330": "C-OLD", "C-NEW": "C-OLD", "G-OLD": "G-NEW"}
    for profile in ALL:
        session, journal = consume(log(text), settings(profile))
        kind = session.damage.kind if session.damage else None
        family = families.get(profile, profile)
        assert kind == damages.get(family), profile
        if family == "G-NEW":
            assert delivered(journal) == go_delivers
        assert (kind is None) == (log(text)[-1].position in journal.acknowledged), profile


def test_go_panics_at_a_negative_total() -> None:
    for profile in ("G-OLD", "G-NEW"):
        session, _journal = consume(log("A0 A1 A2 .", total_bytes=-5), settings(profile))  # type: ignore[arg-type]
        assert session.damage is not None
        assert (session.damage.kind, session.damage.position) == ("panic", (1, 0))


def test_old_java_gets_past_what_breaks_it() -> None:
    """Contexts survive the reconnect, and a chunk 0 that comes again is dropped with its context."""
    entries = log("A0 A1:1500 A2 .")
    session, journal = consume(entries, settings("J-OLD"))
    assert (session.damage, delivered(journal), acked(journal, entries)) == (None, [[3]], "####")


def test_a_reconnecting_java_client_skips_what_it_has_just_acknowledged() -> None:
    """B0 pushes out what A had, A0 among it. Were A0 taken again it would push out B, which is whole."""
    entries = log("B0 A0 A1 A2:1500 B1 B2 H0 H1 H2 .")
    session, journal = consume(entries, settings("J-NEW", max_pending=2, auto_ack=True, live=True))
    assert (session.damage, delivered(journal)) == (None, [[0, 4, 5], [6, 7, 8], [9]])
    assert acked(journal, entries) == "##########"


@pytest.mark.parametrize(
    ("text", "profile", "given", "expected"),
    [
        # the chunk of 2,500 bytes does not fit, and is acknowledged with the others when they are pushed out
        ("B0 A0 A1:2500 A2 .", "J-NEW", {"max_pending": 2, "auto_ack": True}, ".##.#"),
        ("A0 A1:2500 A2 .", "J-OLD", {"max_pending": 1, "auto_ack": True}, "##.#"),
        # or when the copy of chunk 0 that was pushed out before comes again and begins the message anew
        ("A0 B0 A0 A1:2500 .", "J-NEW", {"max_pending": 1}, "..###"),
    ],
)
def test_java_notes_the_id_of_a_chunk_that_does_not_fit(
    text: str, profile: Profile, given: dict[str, Any], expected: str
) -> None:
    entries = log(text)
    session, journal = consume(entries, settings(profile, live=True, **given))
    assert (session.damage, acked(journal, entries)) == (None, expected)


def test_cpp_goes_by_the_first_count() -> None:
    entries = log("A0 A1 A2/5 A3/5 A4/5 .", n=3)
    assert delivered(consume(entries, settings("C-OLD"))[1]) == [[0, 1, 2], [5]]


def test_damaged_entries_are_acknowledged_and_leave_a_gap() -> None:
    for profile in ("J-NEW", "C-OLD", "G-NEW"):
        entries = log("A0 A1 A2 .")
        entries[1] = entries[1]._replace(checksum="mismatch")
        _session, journal = consume(entries, settings(profile, live=True))  # type: ignore[arg-type]
        assert delivered(journal) == [[3]]
        assert journal.acknowledged[entries[1].position] == "damaged"


def test_only_go_refuses_entries_without_checksum() -> None:
    entries = log("A0 A1 A2", checksum="absent")
    counts = {p: len(consume(entries, settings(p))[1].deliveries) for p in ("J-NEW", "C-OLD", "G-NEW")}  # type: ignore[arg-type]
    assert counts == {"J-NEW": 1, "C-OLD": 1, "G-NEW": 0}


def test_markers_are_for_the_broker() -> None:
    entries = log(". .")
    entries[0] = entries[0]._replace(marker=True)
    _session, journal = consume(entries, settings("J-NEW"))
    assert (delivered(journal), acked(journal, entries)) == ([[1]], "##")


def test_mixed_content_is_named() -> None:
    _session, journal = consume(log("A0 a1 a2"), settings("J-NEW"))
    assert [delivery.content for delivery in journal.deliveries] == ["mixed"]


@pytest.mark.parametrize("claim", [None, 0])
@pytest.mark.parametrize(
    ("profile", "codec", "expected"),
    [
        # what is delivered, what is acknowledged, what happens to the client
        ("J-NEW", "LZ4", (["short"], "###", None)),
        ("J-NEW", "ZLIB", (["short"], "###", None)),
        ("J-NEW", "ZSTD", (["short"], "###", None)),
        ("J-NEW", "SNAPPY", ([], "...", "reconnect_loop")),
        ("C-OLD", "LZ4", ([], "..#", None)),
        ("C-OLD", "ZLIB", ([], "..#", None)),
        ("C-OLD", "ZSTD", ([], "..#", None)),
        ("C-OLD", "SNAPPY", ([], "...", "process_death")),
        ("G-NEW", "LZ4", (["short"], "###", None)),
        ("G-NEW", "SNAPPY", (["short"], "###", None)),
        ("SQL", "ZSTD", (["short"], "###", None)),
        ("SQL", "SNAPPY", ([], "...", "query_failure")),
    ],
)
def test_a_codec_without_an_uncompressed_size(
    profile: Profile, codec: str, claim: int | None, expected: tuple[list[str], str, str | None]
) -> None:
    entries = log("A0 A1 A2", codec=codec, uncompressed_bytes=claim)
    session, journal = consume(entries, settings(profile))
    kind = session.damage.kind if session.damage else None
    assert ([d.content for d in journal.deliveries], acked(journal, entries), kind) == expected


@pytest.mark.parametrize(
    ("profile", "expected"), [("J-OLD", "###"), ("J-NEW", "###"), ("C-OLD", "..#"), ("G-NEW", "###")]
)
def test_java_and_go_keep_what_they_cannot_decompress_until_it_expires(profile: Profile, expected: str) -> None:
    entries = log("A0 A1 A2", codec="ZLIB", payload="garbage")
    assert acked(consume(entries, settings(profile), 1_000)[1], entries) == "..#"
    assert acked(consume(entries, settings(profile), 130_000)[1], entries) == expected


def test_an_acknowledgement_of_old_cpp_reaches_the_last_chunk_only() -> None:
    entries = log("A0 A1 A2 . B0 B1 B2")
    for profile, expected in (("C-300", "..##..#"), ("C-330", "..##..#"), ("C-OLD", "#######"), ("C-NEW", "#######")):
        _session, journal = consume(entries, settings(profile))  # type: ignore[arg-type]
        assert (delivered(journal), acked(journal, entries)) == ([[0, 1, 2], [3], [4, 5, 6]], expected)
