"""Internal ledgers of a broker 5.0.0-M1: recognized by their bytes, and read whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pulsar_backlog.internals.decoding import DecodedLedger, decode_ledger
from pulsar_backlog.internals.events import EventSchemas
from pulsar_backlog.internals.kinds import LedgerName
from pulsar_backlog.internals.recognized import kind_by_bytes, kind_of_messages
from tests.internals.bookie import DATA

LEDGERS: dict[str, dict[str, Any]] = json.loads((DATA / "internals" / "pulsar-5.0.0-M1.json").read_text())
SCHEMAS = EventSchemas()
PAYMENTS = "persistent://acme/shop/payments"


def entries_of(number: str) -> list[bytes]:
    return [bytes.fromhex(one) for one in LEDGERS[number]["entries"]]


def decoded_of(number: str) -> DecodedLedger:
    return decode_ledger(LedgerName(LEDGERS[number]["kind"]), int(number), enumerate(entries_of(number)), SCHEMAS)


@pytest.mark.parametrize("number", LEDGERS)
def test_every_entry_is_read_and_its_ledger_recognized(number: str) -> None:
    kind, entries = LEDGERS[number]["kind"], entries_of(number)
    decoded = decoded_of(number)
    assert (decoded.entries, decoded.unread, decoded.first_error) == (len(entries), 0, None)
    if kind == "transaction_snapshot":
        assert kind_of_messages(entries, SCHEMAS) == (kind, PAYMENTS)
    else:
        assert kind_by_bytes(entries) == kind


def test_what_was_pending_and_then_committed() -> None:
    """`0:4` acknowledged seven batches of a subscription; its commit reached the subscription."""
    rows = decoded_of("20").rows
    assert [(row["txn"], row["operation"], row["ack_type"]) for row in rows] == [
        *[("0:4", "ack", "individual")] * 7, ("0:4", "commit", "individual"),
    ]  # fmt: skip
    positions = [(one["ledger_id"], one["entry_id"], one["batch_size"]) for row in rows for one in row["positions"]]
    assert positions == [(15, 0, 4), (15, 1, 2), (15, 2, 4), (15, 4, 3), (15, 8, 3), (15, 10, 4), (15, 12, 3)]


def test_commits_and_an_abort() -> None:
    last = {row["txn"]: row["status"] for row in decoded_of("2").rows if row["status"] is not None}
    assert last == {"0:0": "committed", "0:1": "aborted", "0:2": "committed", "0:3": "open", "0:4": "open"}
    snapshots = decoded_of("6").rows
    assert [(row["about_topic"], row["aborted"]) for row in snapshots] == [(PAYMENTS, []), (PAYMENTS, ["0:1"])]


def test_batches_of_which_a_part_is_acknowledged() -> None:
    state = decoded_of("13").rows[-1]
    assert (state["encoding"], state["batches"], state["mark_delete_entry_id"]) == ("long_array", 11, -1)
