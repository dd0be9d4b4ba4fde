"""What open transactions keep from consumers: a row for each side of the rules, and a real 5.0.0-M1."""

from __future__ import annotations

from dataclasses import replace

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.transactions import Transactions
from pulsar_backlog.reconciliation.open_transactions import SegmentLedger, findings_of_open_transactions
from pulsar_backlog.reconciliation.segments import segment_states
from tests.auditing import DATA

SEGMENT = "segment://t/ns/a/0000-ffff-0"
OPEN = Transactions(
    headers={(1, 0): "open", (2, 0): "committed"},
    watermarks={SEGMENT: (7, 3)},
    until_ms={(1, 0): 1_795_494_690_000},
    writes={(SEGMENT, (1, 0)), (SEGMENT, (2, 0))},
)
LEDGERS = (
    SegmentLedger(SEGMENT, 5, 9, 8), SegmentLedger(SEGMENT, 7, 10, 9), SegmentLedger(SEGMENT, 8, 4, 3),
    SegmentLedger("segment://t/ns/other/0000-ffff-0", 9, 4, 3),
)  # fmt: skip


def test_what_stands_behind_an_open_transaction_waits() -> None:
    (finding,) = findings_of_open_transactions([], OPEN, LEDGERS)
    assert (finding.code, finding.topic, finding.ledger_id, finding.entry_id) == ("C45", SEGMENT, 7, 4)
    assert finding.count == 6 + 4  # 7:4 to 7:9, and all of ledger 8
    assert "1 transaction that is open (1_0, times out 2026-11-24T04:31:30+00:00)" in finding.message


def test_nothing_waits_for_what_has_ended() -> None:
    ended = replace(OPEN, headers={(1, 0): "aborted", (2, 0): "committed"})
    assert list(findings_of_open_transactions([], ended, LEDGERS)) == []


def test_where_no_watermark_was_saved_the_count_is_not_known() -> None:
    (finding,) = findings_of_open_transactions([], replace(OPEN, watermarks={}), LEDGERS)
    assert (finding.ledger_id, finding.count) == (None, 1)
    assert finding.message.startswith("Everything behind its first entry")


def test_acknowledgements_in_an_open_transaction_are_pending() -> None:
    pending = {(SEGMENT, "settle", (1, 0)): {(5, 1), (5, 2)}, (SEGMENT, "settle", (2, 0)): {(5, 3)}}
    acks = replace(OPEN, writes=set(), acknowledgements=pending)
    (finding,) = findings_of_open_transactions([], acks, LEDGERS)
    assert (finding.code, finding.count, finding.evidence) == ("C44", 2, ("5:1", "5:2"))
    assert finding.subject == f"{SEGMENT} settle"


def test_a_real_metadata_store() -> None:
    state = read_cluster_state(DATA / "pulsar5" / "admin", {})
    ledgers = [SegmentLedger("segment://acme/shop/transfers/0000-7fff-1", 40, 15, 14)]
    found = list(findings_of_open_transactions(segment_states(state, {}), state.transactions, ledgers))
    assert [(one.code, one.subject, one.count) for one in found] == [
        ("C45", "segment://acme/shop/transfers/0000-7fff-1", 12),
        ("C45", "segment://acme/shop/transfers/8000-ffff-2", 0 + 1),  # its entries are not stored here
        ("C44", "segment://acme/shop/transfers/0000-ffff-0 settle", 2),
    ]
    assert "7_0, times out 2026-11-25T04:31:38+00:00" in found[0].message
