"""Outcomes by publication and the forecast of a topic: against the journal, which keeps everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pulsar_backlog.chunks.clients import outcomes
from pulsar_backlog.chunks.clients.events import LogEntry, PayloadFact
from pulsar_backlog.chunks.clients.journal import Journal
from pulsar_backlog.chunks.clients.outcomes import InLog
from pulsar_backlog.chunks.clients.reasons import BATCH_UNKNOWN
from pulsar_backlog.chunks.clients.session import Session
from pulsar_backlog.chunks.clients.settings import ClientSettings, Profile
from pulsar_backlog.chunks.clients.topic_run import Outcome, TopicRun
from tests.chunks.clients.logs import log, settings

CHUNK = st.tuples(st.sampled_from("ABCDabcd"), st.integers(0, 2)).map(lambda pair: f"{pair[0]}{pair[1]}")
WORDS = st.lists(CHUNK, min_size=1, max_size=30)
STRETCHES = st.sampled_from([1, 4, 1000])


def in_logs(entries: list[LogEntry]) -> list[InLog]:
    """What a fold would say of each entry's publication."""
    copies = Counter((entry.uuid, entry.publish_time_ms) for entry in entries)
    ids: dict[tuple[str, int], set[int | None]] = {}
    for entry in entries:
        ids.setdefault((entry.uuid, entry.publish_time_ms), set()).add(entry.chunk_id)
    return [
        InLog(copies[key], ids[key] >= set(range(entry.num_chunks or 1)), in_flight=False, sureness="certain")
        for entry in entries
        for key in [(entry.uuid, entry.publish_time_ms)]
    ]


def run_topic(
    entries: list[LogEntry], given_settings: ClientSettings, stretch: int = 1000
) -> tuple[TopicRun, list[Outcome]]:
    run = TopicRun("m", given_settings, entries[-1].stored_ms)
    known, found = in_logs(entries), []
    for start in range(0, len(entries), stretch):
        run.offer_all(entries[start : start + stretch], known[start : start + stretch])
        found += run.outcomes()
    run.finish()
    return run, [*found, *run.outcomes()]


def outcome(text: str, profile: Profile, **more: Any) -> dict[str, Outcome]:
    """Outcomes by letter; a small one stands for another publish time."""
    found = run_topic(log(text), settings(profile, **more))[1]
    times = sorted({row.publish_time_ms for row in found}, reverse=True)
    return {row.chunk_uuid if row.publish_time_ms == times[0] else row.chunk_uuid.lower(): row for row in found}


@given(
    WORDS,
    st.sampled_from(get_args(Profile)),
    st.booleans(),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([1, 4, 1000]),
)
@example(words=["c0", "C1", "c2"], profile="J-OLD", live=False, max_pending=None, stretch=1)
def test_the_books_agree_with_the_journal(
    words: list[str], profile: Profile, live: bool, max_pending: int | None, stretch: int
) -> None:
    entries = log(" ".join(words))
    given_settings = settings(profile, live=live, max_pending=max_pending, receiver_queue=4)
    run, found = run_topic(entries, given_settings, stretch)
    journal = Journal()
    patience_ms = 3 * 60_000
    end_ms = entries[-1].stored_ms
    session = Session(given_settings, journal, 0 if live else end_ms + patience_ms)
    for entry in entries:
        session.offer(entry)
    session.finish((end_ms if live else end_ms + patience_ms) + patience_ms)

    keys = [(row.chunk_uuid, row.publish_time_ms) for row in found]
    assert sorted(keys) == sorted({(entry.uuid, entry.publish_time_ms) for entry in entries})
    assert run.forecast().damage == session.damage
    for row in found:
        key = row.chunk_uuid, row.publish_time_ms
        mine = [entry for entry in entries if (entry.uuid, entry.publish_time_ms) == key]
        places = {entry.position for entry in mine}
        states = Counter(journal.holes.get(entry.position, "acked") for entry in mine)
        unread = [entry for entry in mine if journal.acknowledged.get(entry.position, "delivered") != "delivered"]
        mixed = [d for d in journal.deliveries if d.content == "mixed" and places & set(d.positions)]
        right = [d for d in journal.deliveries if d.content == "right" and d.positions[0] in places]
        assert row.acked_unread == len(unread)
        assert row.blocked_entries == states["blocked"]
        assert row.holes == len(mine) - states["blocked"] - states["acked"]
        assert (row.mixed_deliveries, row.deliveries) == (len(mixed), len(right))


@pytest.mark.parametrize(
    ("text", "profile", "more", "letter", "word"),
    [
        ("A0 A1 A2", "J-NEW", {}, "A", "delivered"),
        ("A0 A1 A2 A0 A1 A2", "J-NEW", {}, "A", "delivered_again"),
        ("A0 a1 a2", "J-NEW", {}, "A", "mixed"),
        ("A0 a1 a2", "J-NEW", {}, "a", "mixed"),
        ("A0 A1:10 A2", "J-NEW", {}, "A", "wrong_content"),
        ("A0 A1 A1 A2", "C-OLD", {}, "A", "lost"),
        ("A1 A2 A0", "J-NEW", {}, "A", "silent_loss"),
        ("A1 A2", "J-NEW", {}, "A", "dropped"),
        ("A1 A2", "C-OLD", {}, "A", "hole"),
        ("A0 A1:1500 A2 B0 B1 B2", "J-NEW", {}, "A", "breaks_client"),
        ("A0 A1:1500 A2 B0 B1 B2", "J-NEW", {}, "B", "blocked"),
        ("A1 B0 B1 B2", "J-NEW", {"subscription": "Shared", "live": True}, "B", "blocked"),
    ],
)
def test_words(text: str, profile: Profile, more: dict[str, Any], letter: str, word: str) -> None:
    assert outcome(text, profile, **more)[letter].outcome == word


def test_what_old_cpp_delivers_and_does_not_acknowledge_is_a_hole() -> None:
    row = outcome("A0 A1 A2 B0 B1 B2", "C-330")["A"]
    assert (row.outcome, row.deliveries, row.holes) == ("delivered", 1, 2)
    assert row.reason == "the application's acknowledgement reaches only the last chunk of a message"
    again = outcome("A0 A1 A2 B0 B1 B2", "C-330", reconnect_after=((1, 5),))["A"]
    assert (again.outcome, again.deliveries, again.holes) == ("delivered", 1, 0)  # begun again, and expired


def test_what_is_in_flight_waits() -> None:
    run = TopicRun("m", settings("C-OLD"), 0)
    run.offer_all(log("A0"), [InLog(1, whole=False, in_flight=True, sureness="likely")])
    run.finish()
    assert [row.outcome for row in run.outcomes()] == ["waiting"]


@pytest.mark.parametrize(
    ("profile", "text", "more", "sureness"),
    [
        ("J-NEW", "A0 A1 A2", {}, "certain"),
        ("J-OLD", "A0 A1 A2", {}, "likely"),  # no real run of it was seen
        ("J-NEW", "A1 A2", {}, "likely"),  # acknowledged because of its age
        ("C-OLD", "A1 A2", {}, "certain"),
        ("C-OLD", "A0 B0 A1 A2 B1 B2", {"max_pending": 1}, "likely"),  # evicted
    ],
)
def test_sureness(profile: Profile, text: str, more: dict[str, Any], sureness: str) -> None:
    assert outcome(text, profile, **more)["A"].sureness == sureness


def test_a_model_is_never_surer_than_the_log() -> None:
    run = TopicRun("m", settings("J-NEW"), 0)
    run.offer_all(log("A0 A1 A2"), [InLog(3, whole=True, in_flight=False, sureness="cannot_tell")] * 3)
    run.finish()
    assert [(row.outcome, row.sureness) for row in run.outcomes()] == [("delivered", "cannot_tell")]


def test_an_unread_payload_is_delivered_and_nobody_knows_what() -> None:
    entries = log("A0 A1 A2", codec="ZSTD", payload="unknown")
    (row,) = run_topic(entries, settings("J-NEW"))[1]
    assert (row.outcome, row.sureness, row.reason) == ("delivered", "cannot_tell", "its payload was not looked at")


def test_forecast_adds_up() -> None:
    text = "A0 B0 C0 A1 A2 B1 B2 C1 C2 D1 D2 . E2"
    run, found = run_topic([e for e in log(text) if e.uuid], settings("J-NEW", max_pending=2, live=True))
    forecast = run.forecast()
    assert forecast.publications == Counter(row.outcome for row in found)
    assert (forecast.evicted, forecast.permits_kept, forecast.peak_open_contexts) == (1, 3, 2)
    assert forecast.holes == sum(row.holes for row in found)
    assert forecast.peak_buffered_bytes == 6000
    assert forecast.damage is None


def test_holes_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "MAX_SETTLED", 2)
    entries = log("A1 B1 C1 D1 E1")
    run = TopicRun("m", settings("C-OLD"), entries[-1].stored_ms)
    run.offer_all(entries, in_logs(entries))
    assert [row.chunk_uuid for row in run.outcomes()] == ["A", "B", "C"]
    run.finish()
    assert [(row.chunk_uuid, row.holes) for row in run.outcomes()] == [("D", 1), ("E", 1)]


def test_a_stall_among_plain_messages_is_seen_at_the_next_chunk() -> None:
    """Three permits of four are kept; between the chunks lie 50 plain entries, of which only the number is known."""
    entries = [e for e in log("A2 B2 C2 " + ". " * 50 + "D0 D1 D2") if e.uuid]
    entries[3] = entries[3]._replace(plain_before=50)
    run, _found = run_topic(entries, settings("G-NEW", receiver_queue=4))
    damage = run.forecast().damage
    assert damage is not None
    assert (damage.kind, damage.position) == ("permit_stall", (1, 53))


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("profile", get_args(Profile))
def test_the_end_of_time_comes(profile: Profile, live: bool) -> None:
    """Chunks without a broker's time are stored when their producer says, which may be the last time there is."""
    entries = log("B1 A0 A1 A2 B2", stored_ms=2**63 - 1)
    run, found = run_topic(entries, settings(profile, live=live, ack_timeout_ms=30_000))
    assert {row.chunk_uuid for row in found} == {"A", "B"}
    assert run.forecast().publications.total() == 2


ANY = st.sampled_from([0, 1, 2, 3, -1, 2**31 - 1, -(2**31)])
ANY_LONG = st.sampled_from([0, 1, 1_000_000, 1_000_001, 1_100_000, -1, 2**63 - 1, -(2**63)])
HOSTILE_ENTRY = st.tuples(
    st.sampled_from(["", "A", "B"]), ANY_LONG, ANY_LONG, st.none() | ANY, st.none() | ANY, ANY_LONG, ANY, st.booleans(),
    st.sampled_from(["valid", "valid", "mismatch", "absent"]),
    st.sampled_from([None, None, "LZ4", "SNAPPY", "UNKNOWN"]), st.none() | ANY_LONG,
    st.sampled_from(get_args(PayloadFact)),
)  # fmt: skip
HOSTILE_SETTINGS = st.builds(
    ClientSettings, st.sampled_from(get_args(Profile)), live=st.booleans(), auto_ack=st.booleans(),
    subscription=st.sampled_from(["Exclusive", "Shared"]), max_pending=st.sampled_from([0, 1, 2]),
    expiry_ms=st.sampled_from([0, 1000]), ack_timeout_ms=st.sampled_from([None, 1000]),
    receiver_queue=st.sampled_from([1, 3, 1000]),
)  # fmt: skip


@given(st.lists(HOSTILE_ENTRY, min_size=1, max_size=12), HOSTILE_SETTINGS)
def test_whatever_the_metadata_say_every_publication_gets_one_outcome(
    metadata: list[tuple[Any, ...]], given_settings: ClientSettings
) -> None:
    entries = [
        LogEntry((1, at), 0, uuid, (uuid, publish_ms), *others, False)
        for at, (uuid, publish_ms, *others) in enumerate(metadata)
    ]
    copies = Counter(entry.publication for entry in entries)
    run = TopicRun("m", given_settings, max(entry.stored_ms for entry in entries))
    run.offer_all(entries, [InLog(copies[entry.publication], False, False, "certain") for entry in entries])
    run.finish()
    found = list(run.outcomes())
    assert sorted((row.chunk_uuid, row.publish_time_ms) for row in found) == sorted(copies)
    for row in found:
        assert row.acked_unread + row.holes + row.blocked_entries <= copies[row.chunk_uuid, row.publish_time_ms]


def test_an_unknown_read_batch_leaves_what_comes_behind_a_waiting_chunk_open() -> None:
    entries = log("A0 A1 A2 B1 C0 C1 C2")
    known = settings("J-NEW", subscription="Shared", read_batch=100)
    (run, rows), (other, others) = (run_topic(entries, one) for one in (known, replace(known, read_batch=None)))
    by_uuid, doubtful = ({row.chunk_uuid: row for row in each} for each in (rows, others))
    assert {uuid: (row.outcome, row.deliveries) for uuid, row in by_uuid.items()} == {
        uuid: (row.outcome, row.deliveries) for uuid, row in doubtful.items()
    }
    assert doubtful["A"] == by_uuid["A"]  # settled before anything waited
    for uuid in "BC":
        assert by_uuid[uuid].sureness in ("certain", "likely")
        assert doubtful[uuid].sureness == "cannot_tell"
        assert doubtful[uuid].reason.endswith(BATCH_UNKNOWN)
    assert run.forecast().damage == other.forecast().damage
    assert (run.forecast().sureness, other.forecast().sureness) == ("likely", "cannot_tell")
