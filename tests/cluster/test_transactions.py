"""What a metadata store says of transactions of v5 clients: a row for each rule, and a real 5.0.0-M1."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.transactions import Transactions, added, transactions_of_dump
from tests.auditing import DATA

SEGMENT = "segment://t/ns/a/0000-ffff-0"
ENCODED = "segment%3A%2F%2Ft%2Fns%2Fa%2F0000-ffff-0"


def read(**nodes: object) -> Transactions:
    """Nodes by their path below `/txn/`."""
    faults: list[str] = []
    found = transactions_of_dump([(f"/txn/{path}", json.dumps(of).encode()) for path, of in nodes.items()], faults)
    assert faults == []
    return found


def write(segment: str = SEGMENT) -> dict[str, object]:
    return {"kind": "WRITE", "segment": segment, "ledgerId": 0, "entryId": 0}


def test_headers_and_watermarks() -> None:
    found = read(**{
        "id/1_0": {"state": "COMMITTED"}, "id/2_0": {"state": "OPEN"},
        f"segment-state/watermark/{ENCODED}": {"ledgerId": 7, "entryId": -1},
        "tc/parallelism": 16, "tc-seq/1": {"next": 2},
    })  # fmt: skip
    assert found == Transactions({(1, 0): "committed", (2, 0): "open"}, {}, {SEGMENT: (7, -1)})


def test_names_of_segments_are_encoded_as_java_does_it() -> None:
    name = "segment://t/ns/eu+board one%/0000-ffff-0"
    encoded = "segment%3A%2F%2Ft%2Fns%2Feu%2Bboard+one%25%2F0000-ffff-0"
    found = read(**{
        f"segment-state/watermark/{encoded}": {"ledgerId": 7, "entryId": 1},
        f"segment-state/aborted/{encoded}:1_0": {"maxLedgerId": 4, "maxEntryId": 1},
        f"segment-events/{encoded}-{1:020}": {"txnId": "2_0", "decision": "COMMITTED"},
    })  # fmt: skip
    assert found.watermarks == {name: (7, 1)}
    assert found.of_segments == {(name, (1, 0)): "aborted", (name, (2, 0)): "committed"}


def test_positions_name_ledgers_of_a_segment() -> None:
    ack = {"kind": "ACK", "segment": SEGMENT, "subscription": "s", "ledgerId": 3, "entryId": 1}
    watermark = {"ledgerId": 7, "entryId": -1}
    found = read(**{f"op/1_0-{1:020}": ack, f"segment-state/watermark/{ENCODED}": watermark})
    assert found.ledgers() == {3: SEGMENT, 7: SEGMENT}
    empty = read(**{f"segment-state/watermark/{ENCODED}": {"ledgerId": -1, "entryId": -1}})
    assert empty.ledgers() == {}


def test_a_write_without_a_header_is_aborted() -> None:
    found = read(**{f"op/1_0-{1:020}": write(), f"op/2_0-{1:020}": write(), "id/2_0": {"state": "COMMITTED"}})
    assert found.of_segments == {(SEGMENT, (1, 0)): "aborted"}
    ack = {"kind": "ACK", "segment": SEGMENT, "subscription": "s", "ledgerId": 1, "entryId": 1}
    assert read(**{f"op/1_0-{1:020}": ack}).of_segments == {}


@pytest.mark.parametrize("first", ["event", "record"])
def test_what_says_aborted_is_believed(first: str) -> None:
    nodes = {
        "event": (f"segment-events/{ENCODED}-{1:020}", {"txnId": "1_0", "decision": "COMMITTED"}),
        "record": (f"segment-state/aborted/{ENCODED}:1_0", {"maxLedgerId": 4, "maxEntryId": 1}),
    }
    order = sorted(nodes, reverse=first == "record")
    assert read(**dict(nodes[one] for one in order)).of_segments == {(SEGMENT, (1, 0)): "aborted"}
    assert read(**dict([nodes["event"]])).of_segments == {(SEGMENT, (1, 0)): "committed"}


def test_of_several_files_the_end_counts() -> None:
    early, late = read(**{"id/1_0": {"state": "OPEN"}}), read(**{"id/1_0": {"state": "ABORTED"}})
    assert added([early, late]) == added([late, early]) == late


@pytest.mark.parametrize(
    "path", ["id/1", "id/1_x", "id/99999999999999999999_0", "id/9223372036854775808_0", "op/1_0", "segment-state/x/y",
             f"segment-state/aborted/{ENCODED}", f"segment-events/{ENCODED}", "other/1_0"],
)  # fmt: skip
def test_what_is_not_understood_is_noted(path: str) -> None:
    faults: list[str] = []
    assert transactions_of_dump([(f"/txn/{path}", b'{"state":"OPEN"}')], faults) == Transactions()
    assert faults


@given(st.lists(st.tuples(st.text(max_size=30), st.binary(max_size=40))))
def test_any_bytes(nodes: list[tuple[str, bytes]]) -> None:
    transactions_of_dump([(f"/txn/{path}", value) for path, value in nodes], [])


def test_a_real_metadata_store() -> None:
    said = read_cluster_state(DATA / "pulsar5" / "admin", {}).transactions
    assert said.headers == {
        (1, 0): "committed", (3, 0): "committed", (5, 0): "committed", (8, 0): "committed",
        (2, 0): "aborted", (6, 0): "aborted", (1, 1): "aborted", (4, 0): "open", (7, 0): "open",
    }  # fmt: skip
    transfers = {txn: state for (segment, txn), state in said.of_segments.items() if segment.endswith("/0000-7fff-1")}
    assert transfers == {(5, 0): "committed", (8, 0): "committed", (6, 0): "aborted", (1, 1): "aborted"}
    assert said.watermarks["segment://acme/shop/transfers/0000-7fff-1"] == (40, 2)


DECIDED = Transactions(
    {(1, 0): "open", (2, 0): "committed", (3, 0): "aborted"}, {(SEGMENT, (5, 0)): "aborted"}, {SEGMENT: (7, 3)}
)


@pytest.mark.parametrize(
    ("txn", "position", "first", "state"),
    [
        ((1, 0), (7, 1), 5, "open"),  # though below the watermark: the header says so
        ((2, 0), (9, 1), None, "committed"),
        ((3, 0), (7, 1), 5, "aborted"),
        ((5, 0), (7, 1), 5, "aborted"),  # of a record, its header is gone
        ((9, 9), (7, 3), 7, "committed"),  # nothing is left of it, and all up to here is decided
        ((9, 9), (7, 4), 7, "cannot_tell"),  # behind the watermark
        ((9, 9), (6, 4), 7, "cannot_tell"),  # of a ledger that the broker let go, and its records with it
        ((9, 9), (7, 3), None, "cannot_tell"),
    ],
)
def test_how_the_transaction_of_an_entry_ended(
    txn: tuple[int, int], position: tuple[int, int], first: int | None, state: str
) -> None:
    assert DECIDED.state_of(SEGMENT, txn, position, first) == state
    assert DECIDED.state_of("segment://t/ns/other/0000-ffff-0", (5, 0), position, first) == "cannot_tell"
