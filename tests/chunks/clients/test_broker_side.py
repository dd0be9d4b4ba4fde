"""Permits, pins of Shared subscriptions, reconnects, restarts, ack timeouts and start positions."""

from __future__ import annotations

from typing import Any

import pytest

from pulsar_backlog.chunks.clients.permits import Permits
from pulsar_backlog.chunks.clients.settings import ClientSettings
from tests.chunks.clients.logs import acked, consume, delivered, log, settings


def entry_by_entry(queue: int, kept: list[int], total: int) -> int:
    """How many entries a broker dispatches, counting every permit one by one."""
    broker, saved, threshold = queue, 0, max(queue // 2, 1)
    for number in range(total):
        if broker == 0:
            return number
        broker -= 1
        if number not in kept:
            saved += 1
        if saved >= threshold:
            broker, saved = broker + saved, 0
    return total


@pytest.mark.parametrize("queue", [1, 2, 3, 4, 5, 7, 10])
@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_permits_in_runs_and_one_by_one(queue: int, every: int) -> None:
    """The closed form stops where counting stops, whether plain messages come one by one or as a number."""
    total = 60
    kept = list(range(every - 1, total, every))
    permits, dispatched = Permits(queue), 0
    while dispatched < total and not permits.exhausted:
        permits.pass_messages(1)
        if dispatched in kept:
            permits.keep()
        dispatched += 1
    assert dispatched == entry_by_entry(queue, kept, total)


@pytest.mark.parametrize(("queue", "leaks", "plain", "stalls"), [
    (4, 3, 1, True),   # 3 kept and 1 saved are all there are
    (4, 3, 0, False),
    (4, 2, 1000, False),  # half a queue of permits is left, and it always comes back
    (10, 6, 3, False),
    (10, 6, 4, True),  # 6 kept, 4 saved, and 5 would be given back
    (10, 6, 1000, True),
])  # fmt: skip
def test_a_run_of_plain_messages_is_passed_as_a_number(queue: int, leaks: int, plain: int, *, stalls: bool) -> None:
    permits = Permits(queue)
    for _ in range(leaks):
        permits.pass_messages(1)
        permits.keep()
    permits.pass_messages(plain)
    assert permits.exhausted == stalls


def test_a_live_shared_consumer_gets_nothing_behind_a_headless_chunk() -> None:
    entries = log(". A1 . B0 B1 B2")
    session, journal = consume(entries, settings("J-NEW", subscription="Shared", live=True))
    assert (delivered(journal), session.damage and session.damage.position) == ([[0]], (1, 1))


@pytest.mark.parametrize(("given", "count"), [({}, 99), ({"read_batch": 50}, 49), ({"read_batch": 500}, 111)])
def test_one_that_catches_up_gets_the_rest_of_the_batch(given: dict[str, int], count: int) -> None:
    entries = log(". A1 " + ". " * 110)
    session, journal = consume(entries, settings("J-NEW", subscription="Shared", **given))
    assert session.damage is not None
    assert len(journal.deliveries) == count


@pytest.mark.parametrize(("given", "depends"), [
    ({"read_batch": None}, True),
    ({"read_batch": 100}, False),
    ({"read_batch": None, "receiver_queue": 100}, False),  # permits end the batch, whatever it is
    ({"read_batch": None, "live": True}, False),  # entries come one by one
    ({"read_batch": None, "acks_headless": True}, False),  # nothing waits
    ({"read_batch": None, "subscription": "Exclusive"}, False),
    ({"read_batch": None, "live": True, "reconnect_after": ((1, 0),)}, True),  # and comes in batches again
])  # fmt: skip
def test_what_depends_on_a_read_batch_that_nobody_knows(given: dict[str, Any], depends: bool) -> None:
    entries = log(". A1 " + ". " * 110)
    _, journal = consume(entries, settings("J-NEW", **{"subscription": "Shared", **given}))
    assert journal.is_doubtful is depends
    _, healthy = consume(log(". A0 A1 A2 ."), settings("J-NEW", **{"subscription": "Shared", **given}))
    assert healthy.is_doubtful is False


def test_newer_brokers_acknowledge_headless_chunks() -> None:
    entries = log(". A1 .")
    session, journal = consume(entries, settings("J-NEW", subscription="Shared", live=True, acks_headless=True))
    assert (session.damage, acked(journal, entries)) == (None, "###")


def test_a_chunk_that_waits_goes_with_a_pin_that_comes_later() -> None:
    """Reversed: 2 and 1 wait; chunk 0 pins, then 2 goes as the last one and takes the pin away, so 1 waits for ever."""
    entries = log("A2 A1 A0 .")
    session, journal = consume(entries, settings("G-NEW", subscription="Shared", auto_ack=True))
    assert session.damage is not None
    assert acked(journal, entries) == "#..#"


def test_a_reconnect_gives_permits_back_and_keeps_contexts() -> None:
    entries = log("A2 B2 C2 D2 . E0 E1 E2")
    stuck = settings("J-NEW", receiver_queue=4, live=True)
    assert consume(entries, stuck)[0].damage is not None
    again = settings("J-NEW", receiver_queue=8, live=True, reconnect_after=((1, 6),))
    session, journal = consume(entries, again)
    assert session.damage is None
    assert delivered(journal) == [[4], [5, 6, 7]]


def test_a_stall_ends_with_the_connection() -> None:
    entries = log("A1 . .")
    given = settings("J-NEW", subscription="Shared", live=True, reconnect_after=((1, 1),))
    session, journal = consume(entries, given)
    assert delivered(journal) == [[1]]
    assert session.damage is not None  # the headless chunk stands in the way of the next one again


def test_a_restarted_consumer_delivers_what_was_evicted() -> None:
    entries = log("A0 B0 A1 A2 B1 B2 .")
    given = settings("C-OLD", max_pending=1, live=True)
    assert delivered(consume(entries, given)[1]) == [[1, 4, 5], [6]]
    restarted = settings("C-OLD", max_pending=1, live=True, restart_after=((1, 6),))
    assert delivered(consume(entries, restarted)[1]) == [[1, 4, 5], [6], [0, 2, 3]]


def test_old_clients_lose_a_message_at_a_reconnect_and_new_ones_do_not() -> None:
    entries = log("A0 A1 A2 .")
    for profile, expected in (("J-NEW", [[0, 1, 2], [3]]), ("C-NEW", [[0, 1, 2], [3]]), ("C-OLD", [[3]])):
        given = ClientSettings(profile, live=True, reconnect_after=((1, 1),))  # type: ignore[arg-type]
        assert delivered(consume(entries, given)[1]) == expected


def test_an_ack_timeout_brings_everything_again() -> None:
    """The evicted message is whole; when it is asked for again nothing stands in its way."""
    entries = log("A0 B0 A1 A2 B1 B2")
    given = settings("C-OLD", max_pending=1, live=True, ack_timeout_ms=30_000)
    assert delivered(consume(entries, given, 29_000)[1]) == [[1, 4, 5]]
    assert delivered(consume(entries, given, 31_000)[1]) == [[1, 4, 5], [0, 2, 3]]


def test_a_long_wait_with_an_ack_timeout_ends() -> None:
    entries = log("A0 A2")
    given = settings("J-NEW", live=True, ack_timeout_ms=1_000)
    _session, journal = consume(entries, given, 10**12)
    assert acked(journal, entries) == ".#"  # the gap is too old by then; its beginning is begun and dropped each time


def test_start_position() -> None:
    entries = log("A0 A1 A2 . B0 B1 B2")
    _session, journal = consume(entries, settings("J-NEW", start=(1, 1)))
    assert delivered(journal) == [[3], [4, 5, 6]]
    assert entries[0].position not in journal.holes


def test_everything_behind_a_dead_process_is_blocked() -> None:
    entries = log("A0 A1:1500 A2 . .")
    _session, journal = consume(entries, settings("C-OLD"))
    assert [journal.holes[entry.position] for entry in entries[3:]] == ["blocked"] * 2
