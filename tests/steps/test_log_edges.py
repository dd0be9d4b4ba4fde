"""What is known about the ends of a log, and that nothing is called scanned or known that is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.cluster.stored_values import StoredValue
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState
from pulsar_backlog.steps.log_edges import edge_rows, log_edges
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb
from tests.engines import asked_of, job_context
from tests.frames.rows import entry, fact_rows, ledger, table_rows

Indexed = dict[int, list[int]]
"""Indexes of the entries of each ledger."""
GOES_ON: Indexed = {5: [0, 1], 7: [2, 3]}
JUMPS: Indexed = {5: [0, 1], 7: [4, 5]}


def scan(ledger_id: int, entries: int, **given: Any) -> dict[str, Any]:
    """A ledger's books, in which all is well."""
    counts = {"frames": entries, "decoded": entries, "expected_entries": entries, "complete": True}
    return {"cluster": "c", "topic": "t", "ledger_id": ledger_id, "copy": "u", **counts, **given}


def edge_of(
    indexed: Indexed, state: ClusterState | None = None, more_ledgers: tuple[int, ...] = (), gone: tuple[int, ...] = (),
    **of_scan: Any,
) -> LogEdge:  # fmt: skip
    rows = [entry("t", id_, at, n=index) for id_, of in indexed.items() for at, index in enumerate(of)]
    tables = {
        **fact_rows(rows),
        "scans": table_rows("scans", [scan(id_, len(of), **of_scan) for id_, of in indexed.items()]),
        "ledgers": table_rows("ledgers", [ledger("t", id_) for id_ in (*indexed, *more_ledgers)]),
        "rejects": table_rows("rejects", []),
        "gone_ledgers": table_rows("gone_ledgers", [
            {"cluster": "c", "topic": "t", "ledger_id": id_, "scanned": True} for id_ in gone
        ]),
    }  # fmt: skip
    with asked_of("duckdb", job_context(), tables) as asked:
        return log_edges(edge_rows(asked), asked, state, 1000)["t"]


def said(*ids: int, **given: Any) -> ClusterState:
    """A broker that lists these ledgers, the last one open."""
    ledgers = [LedgerRecord(id_, "t", entries=2) for id_ in ids]
    if ledgers:
        ledgers[-1] = replace(ledgers[-1], entries=None)
    return ClusterState({"t": TopicState("t", tuple(ledgers), **given)}, frozenset(), ())


def stored_list(*ids: int) -> ClusterState:
    """The same from the metadata store."""
    info = pb.ManagedLedgerInfo()
    for id_ in ids:
        info.ledger_info.add(ledger_id=id_, entries=2)
    return ClusterState({}, frozenset(), (), (StoredValue("t", None, info.SerializeToString(), "dump"),))


@pytest.mark.parametrize(
    ("indexed", "state", "unknown_after"),
    [
        pytest.param(GOES_ON, None, (), id="indexes go on: nothing can lie between"),
        pytest.param(JUMPS, None, (5,), id="indexes jump, and no list says what lies between"),
        pytest.param(JUMPS, said(5, 7), (), id="the list says that nothing does"),
        pytest.param(JUMPS, said(5, 6, 7), (), id="the list names what does, which is then absent"),
        pytest.param(JUMPS, said(7, 9), (5,), id="a list that begins later: what was trimmed is not known"),
        pytest.param(JUMPS, said(3, 5), (5,), id="a list from before: what came then is not known"),
        pytest.param(JUMPS, stored_list(5, 7), (), id="a list of the metadata store"),
        pytest.param(JUMPS, said(publishers=0), (5,), id="stats alone list no ledgers"),
    ],
)  # fmt: skip
def test_what_may_lie_between_two_ledgers(
    indexed: Indexed, state: ClusterState | None, unknown_after: tuple[int, ...]
) -> None:
    assert edge_of(indexed, state).unknown_after == unknown_after


@pytest.mark.parametrize(
    ("state", "deduplicated"),
    [(None, False), (said(5), False), (said(5, deduplicated=False), False), (said(5, deduplicated=True), True)],
)
def test_deduplication_is_known_where_the_broker_says_so(state: ClusterState | None, deduplicated: bool) -> None:
    assert edge_of(GOES_ON, state).deduplicated is deduplicated


@pytest.mark.parametrize(
    ("state", "more_ledgers", "absent"),
    [
        pytest.param(None, (), (), id="nothing says that there are others"),
        pytest.param(None, (6,), (6,), id="stored, and not scanned: out of scope, or its data is gone"),
        pytest.param(said(5, 6, 7, 9), (), (6, 9), id="the broker knows others"),
        pytest.param(stored_list(5, 6, 7), (), (6,), id="the metadata store does"),
        pytest.param(said(5, 7, 9, last_confirmed=(7, 1)), (), (), id="the open one is empty"),
    ],
)  # fmt: skip
def test_ledgers_that_were_not_scanned(
    state: ClusterState | None, more_ledgers: tuple[int, ...], absent: tuple[int, ...]
) -> None:
    assert edge_of(GOES_ON, state, more_ledgers).absent_ledgers == absent


@pytest.mark.parametrize(
    ("state", "absent"),
    [
        pytest.param(None, (3, 6), id="it was there, and what it held may belong to what is here"),
        pytest.param(said(5, 6, 7), (6,), id="the broker still has one of them"),
        pytest.param(said(5, 7), (), id="the broker has none of them: no client reads it either"),
        pytest.param(stored_list(5, 7), (), id="nor has the metadata store"),
    ],
)
def test_ledgers_that_are_gone(state: ClusterState | None, absent: tuple[int, ...]) -> None:
    assert edge_of(GOES_ON, state, gone=(3, 6)).absent_ledgers == absent


@pytest.mark.parametrize(
    ("last_confirmed", "ledgers", "at_end"),
    [
        pytest.param((7, 1), (5, 7), True, id="the same entry"),
        pytest.param((7, 2), (5, 7), False, id="the broker has more"),
        pytest.param((7, 0), (5, 7), False, id="asked before the end of what is stored"),
        pytest.param((9, -1), (5, 7, 9), True, id="a new ledger without an entry"),
        pytest.param((9, -1), (5, 7, 8, 9), False, id="a ledger between"),
        pytest.param(None, (5, 7), False, id="not saved"),
    ],
)  # fmt: skip
def test_the_end_is_seen_only_where_the_broker_saw_it(
    last_confirmed: tuple[int, int] | None, ledgers: tuple[int, ...], at_end: bool
) -> None:
    state = said(*ledgers, last_confirmed=last_confirmed, publishers=0, known_until_ms=10**14)
    edge = edge_of(GOES_ON, state)
    # What a snapshot says of producers and of time counts for the log that it saw.
    assert (edge.complete_to_end, edge.producers_gone, edge.end_time_ms == 10**14) == (at_end,) * 3


@pytest.mark.parametrize(
    ("terminated_at", "is_final"),
    [
        pytest.param(None, False, id="the topic is not terminated"),
        pytest.param((7, 1), True, id="terminated at the last entry that is stored"),
        pytest.param((7, 2), False, id="terminated behind it: more is to be found"),
        pytest.param((9, -1), True, id="terminated in a ledger without an entry"),
    ],
)  # fmt: skip
def test_a_terminated_topic_is_final_where_its_end_is_seen(
    terminated_at: tuple[int, int] | None, is_final: bool
) -> None:
    edge = edge_of(GOES_ON, said(5, 7, terminated_at=terminated_at))
    assert (edge.is_terminated, edge.is_final) == (terminated_at is not None, is_final)


@pytest.mark.parametrize(
    ("of_scan", "has_rejects"),
    [
        pytest.param({}, False, id="all is well"),
        pytest.param({"rejected": 1}, True, id="an entry could not be decoded"),
        pytest.param({"structure_faults": 1}, True, id="a damaged block"),
        pytest.param({"complete": False}, True, id="a part could not be read"),
        pytest.param({"expected_entries": 3}, True, id="fewer entries than the ledger's metadata promises"),
        pytest.param({"expected_entries": None}, False, id="nothing promised"),
    ],
)
def test_what_was_passed_over(of_scan: dict[str, Any], has_rejects: bool) -> None:
    assert edge_of(GOES_ON, None, **of_scan).has_rejects is has_rejects
