"""Ledgers that nothing names are recognized by their bytes: those of a real bookie, and none that is another's."""

from __future__ import annotations

from pulsar_backlog.internals.events import EventSchemas
from pulsar_backlog.internals.recognized import kind_by_bytes, kind_of_messages
from tests.internals.bookie import BOOKIE, ledgers_of

KINDS = {
    "schema": {1, 4, 7, 8, 22, 26, 27},
    "transaction_log": {2},
    "cursor": {12, 13, 14, 16, 17, 19, 20, 38, 40},
    "compacted": {39},
}


def test_internal_ledgers_of_a_real_bookie() -> None:
    internal = {ledger_id: one for ledger_id, one in ledgers_of(BOOKIE).items() if not one.of_messages}
    found: dict[str | None, set[int]] = {}
    for ledger_id, one in internal.items():
        found.setdefault(kind_by_bytes(one.entries), set()).add(ledger_id)
    assert found == KINDS


def test_system_topics_among_ledgers_of_messages() -> None:
    schemas = EventSchemas()
    found = {
        ledger_id: kind_of_messages(one.entries, schemas)
        for ledger_id, one in ledgers_of(BOOKIE).items()
        if one.of_messages
    }
    named = {ledger_id: kind for ledger_id, kind in found.items() if kind is not None}
    assert named == {24: ("transaction_snapshot", "persistent://lab/s3/txn")}
    assert len(found) > 10  # the others are people's, and no event


def test_bytes_of_nobody() -> None:
    assert kind_by_bytes([b"\xff" * 20] * 3) is None
    assert kind_by_bytes([b""]) is None
    assert kind_by_bytes([]) is None
    # The half of a ledger is not enough.
    entries = ledgers_of(BOOKIE)[1].entries
    assert kind_by_bytes([*entries, b"\xff"]) is None
    assert kind_by_bytes([*entries, *entries, b"\xff"]) == "schema"
