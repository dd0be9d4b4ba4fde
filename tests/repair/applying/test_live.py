"""The live state as read from a broker's JSON: what cannot be relied on stops everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.repair.applying.live import LiveTopic, read_live
from tests.cluster.admin_server import AdminServer, Answer, admin_server

TOPIC = "persistent://lab/s/x"
PATH = "/admin/v2/persistent/lab/s/x"


def ledger(ledger_id: int, entries: int) -> dict[str, Any]:
    return {"ledgerId": ledger_id, "entries": entries, "size": 9 * entries, "offloaded": False}


def cursor(mark_delete: str, ranges: str = "[]") -> dict[str, Any]:
    return {"markDeletePosition": mark_delete, "readPosition": "6:0", "individuallyDeletedMessages": ranges}


INTERNAL = {
    "ledgers": [ledger(5, 10), ledger(6, 0)],
    "lastConfirmedEntry": "6:3",
    "state": "LedgerOpened",
    "cursors": {"a+b%2F%C3%BC": cursor("5:8", "[(5:9..6:1]]"), "plain": cursor("4:7")},
}
STATS = {
    "publishers": [],
    "subscriptions": {
        "a b/ü": {"type": "Shared", "consumers": [{}, {}]},
        "plain": {"type": "Failover", "consumers": []},
    },
}


@pytest.fixture
def server() -> Iterator[AdminServer]:
    with admin_server() as running:
        running.says(f"{PATH}/internalStats", INTERNAL)
        running.says(f"{PATH}/stats", STATS)
        yield running


def read(server: AdminServer) -> LiveTopic | None:
    with closing(AdminHttp(server.url, Access(attempts=1))) as http:
        return read_live(AdminRest(http), TOPIC)


def test_a_live_topic(server: AdminServer) -> None:
    live = read(server)
    assert live is not None
    assert (live.lengths, live.last_confirmed) == ({5: 10, 6: 4}, (6, 3))  # the broker says 0 of an open ledger
    assert (live.is_open, live.is_terminated) == (True, False)
    assert len(live.entries) == 14
    one, other = live.subscriptions["a b/ü"], live.subscriptions["plain"]
    # The range leaves out 5:9, which is its lower end.
    assert list(one.acked.positions()) == [*((5, n) for n in range(9)), (6, 0), (6, 1)]
    assert (one.mark_delete, one.type, one.consumers) == ((5, 8), "Shared", 2)
    # Nobody is connected, so the type is what it was once; another kind of consumer may come.
    assert (other.type, other.consumers, len(other.acked)) == (None, 0, 0)


@pytest.mark.parametrize("state", ["ClosedLedger", "ClosingLedger", "WriteFailed", "Fenced"])
def test_a_log_that_is_not_open(server: AdminServer, state: str) -> None:
    server.says(f"{PATH}/internalStats", {**INTERNAL, "state": state})
    live = read(server)
    assert live is not None
    assert not live.is_open


def test_a_terminated_topic(server: AdminServer) -> None:
    server.says(f"{PATH}/internalStats", {**INTERNAL, "state": "Terminated"})
    live = read(server)
    assert live is not None
    assert (live.is_open, live.is_terminated) == (True, True)


def test_a_topic_that_is_gone(server: AdminServer) -> None:
    del server.answers[f"{PATH}/internalStats"]
    assert read(server) is None


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("internalStats", {**INTERNAL, "cursors": {"s": cursor("5:8", "[(5:9..6:1],(6:3..")}}, "odd fields"),
        ("internalStats", {**INTERNAL, "cursors": {"s": cursor("5:x")}}, "odd fields"),
        ("internalStats", {**INTERNAL, "ledgers": [ledger(5, -1)]}, "odd fields"),
        ("internalStats", {**INTERNAL, "lastConfirmedEntry": 7}, "odd fields"),
        ("internalStats", {"ledgers": []}, "unexpected form"),
        ("stats", {"reason": "busy"}, "unexpected form"),
    ],
)
def test_what_cannot_be_relied_on(server: AdminServer, kind: str, body: dict[str, Any], words: str) -> None:
    server.says(f"{PATH}/{kind}", body)
    with pytest.raises(AdminError, match=words):
        read(server)


def test_an_error_of_the_broker_is_not_a_topic_that_is_gone(server: AdminServer) -> None:
    server.answers[f"{PATH}/stats"] = Answer(503)
    with pytest.raises(AdminError, match="503"):
        read(server)
