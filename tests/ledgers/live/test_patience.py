"""How long brokers are waited for: whatever one does, all ranges together wait twice the timeout; scripts serve."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.patience import LEAST_SECONDS, Patience
from pulsar_backlog.errors import SourceError
from pulsar_backlog.explain import explain_entry
from pulsar_backlog.ledgers.entry_batch import EntryBatch
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.run_folder import reading_of
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import Hidden, address_of
from pulsar_backlog.ledgers.live.walk import walk_unit
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.wire.proto.broker_commands_pb2 import BaseCommand
from tests.cluster.admin_server import AdminServer, Answer, admin_server
from tests.ledgers.live.brokers import ServedTopic
from tests.listening import Listening
from tests.wire.encode import entry

TOPIC = "persistent://lab/s/a"
STATS = "/admin/v2/persistent/lab/s/a/internalStats"
BODIES = [entry(payload=bytes([n]) * (n * 40 + 1)) for n in range(10)]
LEDGERS = range(7, 37)
TIMEOUT = 2.0
OWN_WORK = 1.5
"""Seconds for what is not waiting: the machine has other work."""


class Silent(Listening):
    """Takes connections and says nothing, or a byte now and then.

    Attributes:
        connections: how many there were.
    """

    def __init__(self, byte_seconds: float | None = None) -> None:
        self.connections = 0
        self._byte_seconds = byte_seconds
        self._open: list[socket.socket] = []
        self._pool = ThreadPoolExecutor(64)
        self.listen()

    def take(self, connection: socket.socket) -> None:
        self.connections += 1
        self._open.append(connection)
        if self._byte_seconds is not None:
            self._pool.submit(self._drip, connection, self._byte_seconds)

    def close(self) -> None:
        super().close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._pool.shutdown()

    @staticmethod
    def _drip(connection: socket.socket, seconds: float) -> None:
        with suppress(OSError):
            for byte in struct.pack(">ii", 1000, 900) + bytes(900):  # a frame that would take minutes
                connection.sendall(bytes([byte]))
                time.sleep(seconds)


@pytest.fixture
def admin() -> Iterator[AdminServer]:
    with admin_server() as running:
        running.says("/admin/v2/brokers", ["127.0.0.1:8080"])
        lists(running, *LEDGERS)
        yield running


@pytest.fixture
def started() -> Iterator[Callable[[Any], Any]]:
    running: list[Any] = []

    def start(server: Any) -> Any:
        running.append(server)
        return server

    yield start
    for server in running:
        server.close()


def lists(admin: AdminServer, *ledgers: int) -> None:
    admin.says(STATS, {"ledgers": [{"ledgerId": one, "entries": 10, "size": 99} for one in ledgers]})


def live(url: str, admin: AdminServer | str, folder: Path | None = None, **fields: Any) -> Live:
    address = admin if isinstance(admin, str) else admin.url
    return Live(url, address, **{
        "max_rate": 1 << 40, "timeout_seconds": TIMEOUT, "run_folder": folder and str(folder), **fields,
    })  # fmt: skip


def read_all(place: LivePlace, ledgers: Any = LEDGERS) -> tuple[list[int], list[SourceError], float]:
    """Entries of each ledger, why ledgers were not read to their end, seconds."""
    began, counts, errors = time.monotonic(), [], []
    for ledger in ledgers:
        counts.append(0)
        try:
            for _ in place.entries(f"{TOPIC}/{ledger}", 0, 9, 100):
                counts[-1] += 1
        except SourceError as error:
            errors.append(error)
    return counts, errors, time.monotonic() - began


def causes(errors: list[SourceError]) -> set[str]:
    return {str(error).translate({ord(digit): None for digit in "0123456789"}) for error in errors}


def test_ledgers_that_are_not_listed_any_more_are_gone_at_once(started: Any, admin: AdminServer) -> None:
    """The broker has nothing behind them, so it sends nothing; one question is enough for all ledgers of a topic."""
    broker = started(ServedTopic({}))
    lists(admin, 99)
    counts, errors, seconds = read_all(LivePlace(live(broker.url, admin)))
    assert seconds < OWN_WORK
    assert {error.reason for error in errors} == {"trimmed"}
    assert (sum(counts), len(errors), len(causes(errors)), admin.times(STATS)) == (0, len(LEDGERS), 1, 1)
    assert sum(said.type == BaseCommand.SUBSCRIBE for said in broker.heard) == 1


def test_a_topic_that_was_deleted_is_gone_at_once(started: Any, admin: AdminServer) -> None:
    broker = started(ServedTopic({}))
    del admin.answers[STATS]
    _, errors, seconds = read_all(LivePlace(live(broker.url, admin)))
    assert seconds < OWN_WORK
    assert {error.reason for error in errors} == {"not_found"}
    assert len(causes(errors)) == 1


def test_a_ledger_that_is_trimmed_in_the_middle_is_trimmed(started: Any, admin: AdminServer) -> None:
    """What was read stays, and no entry behind it is looked up for itself, or rejected."""
    sent = {(7, number): BODIES[number] for number in range(4)}
    broker = started(ServedTopic({**sent, (8, 0): BODIES[0]}))
    lists(admin, 8)
    source = Source(broker.url, None, live=live(broker.url, admin))
    blocks = tuple(Block(address_of(first), 500, first, 5) for first in (0, 5))
    unit = ScanUnit(7, "live-entries-10", TOPIC, f"{TOPIC}/7", 0, blocks, "live")
    batches: list[EntryBatch] = []
    with pytest.raises(SourceError, match="trimmed: entry 7:4 is not there any more"):
        for batch in walk_unit(source, unit, 1 << 20):
            batches.append(batch)
    assert [batch.entry_id.tolist() for batch in batches] == [[0, 1, 2, 3]]
    assert [batch.faults for batch in batches] == [()]
    assert sum("/entry/" in path for path, _ in admin.asked) <= 2


def test_a_broker_that_is_gone_is_found_once(started: Any, admin: AdminServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"pulsar://127.0.0.1:{closed.getsockname()[1]}"
    _, errors, seconds = read_all(LivePlace(live(url, admin)))
    assert TIMEOUT / 2 < seconds < TIMEOUT + OWN_WORK
    assert len(errors) == len(LEDGERS)
    (cause,) = {str(error) for error in errors}
    assert "no connection" in cause


@pytest.mark.parametrize("byte_seconds", [None, 0.2])  # a hang; and bytes that come well within any timeout
def test_a_broker_that_hangs_or_drips_is_found_once(
    started: Any, admin: AdminServer, byte_seconds: float | None
) -> None:
    broker = started(Silent(byte_seconds))
    _, errors, seconds = read_all(LivePlace(live(broker.url, admin)))
    assert seconds < TIMEOUT + OWN_WORK
    assert len({str(error) for error in errors}) == 1
    assert broker.connections == 1


def test_what_one_process_learns_others_know(started: Any, admin: AdminServer, tmp_path: Path) -> None:
    broker = started(Silent())
    how = live(broker.url, admin, tmp_path)
    _, first, _ = read_all(LivePlace(how), [7])
    _, second, seconds = read_all(LivePlace(how))
    assert seconds < OWN_WORK
    assert {str(error) for error in second} == {str(first[0])}


def test_a_broker_that_sends_nothing_of_what_it_lists(started: Any, admin: AdminServer) -> None:
    broker = started(ServedTopic({}))
    _, errors, seconds = read_all(LivePlace(live(broker.url, admin)))
    assert len(errors) == len(LEDGERS)
    assert seconds < 2 * TIMEOUT + 4 * LEAST_SECONDS + OWN_WORK


def test_ledgers_that_do_not_come_take_nothing_from_those_that_do(started: Any, admin: AdminServer) -> None:
    good = [ledger for ledger in LEDGERS if ledger % 3 == 0]
    broker = started(ServedTopic({(ledger, n): BODIES[n] for ledger in good for n in range(10)}, only=set(good)))
    counts, errors, _ = read_all(LivePlace(live(broker.url, admin, timeout_seconds=1)), range(7, 16))
    assert counts == [10 if ledger in good else 0 for ledger in range(7, 16)]
    assert len(errors) == 6


def test_an_admin_service_that_hangs_as_well(started: Any) -> None:
    broker, service = started(ServedTopic({})), started(Silent())
    place = LivePlace(live(broker.url, service.url.replace("pulsar", "http")))
    _, errors, seconds = read_all(place)
    assert len(errors) == len(LEDGERS)
    assert seconds < 2 * TIMEOUT + 4 * LEAST_SECONDS + OWN_WORK


def test_a_broker_that_sends_too_slowly_is_given_up_with_what_came(started: Any, admin: AdminServer) -> None:
    entries = {(7, n): BODIES[9] for n in range(200)}
    broker = started(ServedTopic(entries, each_seconds=0.1))
    place = LivePlace(live(broker.url, admin))
    began, found = time.monotonic(), list[object]()
    with pytest.raises(SourceError, match=r"sends [\d,]+ bytes a second, and 16,384 are the least \(--min-rate\)"):
        for one in place.entries(f"{TOPIC}/7", 0, 199, 400):
            found.append(one)
    assert time.monotonic() - began < 2 * TIMEOUT
    assert len(found) > 10
    slower = LivePlace(live(broker.url, admin, min_rate=100))
    assert len(list(slower.entries(f"{TOPIC}/7", 0, 39, 400))) == 40


def test_one_entry_a_connection_is_too_slow(started: Any, admin: AdminServer) -> None:
    broker = started(ServedTopic({(7, n): BODIES[9] for n in range(200)}, cut_after=[1] * 300))
    began = time.monotonic()
    with pytest.raises(SourceError, match="--min-rate"):
        list(LivePlace(live(broker.url, admin)).entries(f"{TOPIC}/7", 0, 199, 400))
    assert time.monotonic() - began < 2 * TIMEOUT


def test_single_entries_of_what_is_gone_are_waited_for_once(started: Any, admin: AdminServer) -> None:
    """As an export reads them: by their places, one after the other."""
    place = LivePlace(live(started(ServedTopic({})).url, admin))
    began = time.monotonic()
    for number in range(50):
        with pytest.raises(SourceError, match="entry 7:0 does not come"):
            place.read(f"{TOPIC}/7", address_of(number), address_of(number) + 5)
    assert time.monotonic() - began < TIMEOUT + OWN_WORK


def test_explain_of_what_was_trimmed_ends_at_once(started: Any, admin: AdminServer, tmp_path: Path) -> None:
    broker = started(ServedTopic({}))
    listed = {"ledgers": [{"ledgerId": one, "entries": 10, "size": 99} for one in LEDGERS], "cursors": {}}
    (tmp_path / "lab__s__a.internalStats.json").write_text(json.dumps(listed | {"lastConfirmedEntry": "36:9"}))
    lists(admin, 99)
    began = time.monotonic()
    with pytest.raises(SourceError, match="trimmed: entry 9:0 is not there any more"):
        explain_entry(
            broker.url, None, "9:4", False, live(broker.url, admin, snapshot=str(tmp_path), timeout_seconds=20)
        )
    assert time.monotonic() - began < 10  # loops are compiled first


def test_a_hidden_entry_does_not_end_a_ledger(started: Any, admin: AdminServer) -> None:
    broker = started(ServedTopic({(7, n): body for n, body in enumerate(BODIES) if n != 3}))
    admin.answers["/admin/v2/persistent/lab/s/a/ledger/7/entry/3"] = Answer(headers={"X-Pulsar-marker-type": "10"})
    place = LivePlace(live(broker.url, admin))
    with pytest.raises(SourceError, match="a marker of type 10"):
        place.read(f"{TOPIC}/7", address_of(3), address_of(3) + 5)
    assert place.read(f"{TOPIC}/7", address_of(4), address_of(5)).tobytes() == BODIES[4]
    assert not any(isinstance(one, Hidden) for one in place.entries(f"{TOPIC}/7", 4, 9, 100))


def test_the_wait_says_what_it_waits_for(started: Any, admin: AdminServer, tmp_path: Path) -> None:
    broker = started(ServedTopic({(7, n): BODIES[n] for n in range(4)}))
    place = LivePlace(live(broker.url, admin, tmp_path, timeout_seconds=4))
    with ThreadPoolExecutor(1) as other:
        reading = other.submit(read_all, place, [7])
        time.sleep(3)
        seen = reading_of(tmp_path)
        reading.result()
    assert [words for words in seen.waits if f"for entry 7:4 of {TOPIC}" in words], seen
    assert reading_of(tmp_path).waits == ()


def test_waits_of_processes_add_up_and_overlap(tmp_path: Path) -> None:
    one, other = Patience("b", 8, tmp_path), Patience("b", 8, tmp_path)
    assert (one.seconds(), other.seconds()) == (8, 8)
    one.gave_up(8, "nothing")
    other.gave_up(8, "nothing")  # at the same time
    assert one.seconds() == pytest.approx(4, abs=0.1)
    for _ in range(20):
        one.gave_up(one.seconds(), "nothing")
        time.sleep(0.01)
    assert one.seconds() >= LEAST_SECONDS
    assert other.closed is None or "nothing" in other.closed
    Patience("b", 8, tmp_path).gave_up(1, "no way there", is_gone=True)
    assert other.closed in ("no way there", "nothing")
