"""Stored ledgers of segments that their lists do not name: a row for each place, on both sides of each limit."""

from __future__ import annotations

from typing import Any

import pytest

from pulsar_backlog.cluster.stored_values import StoredValue
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState
from pulsar_backlog.reconciliation.open_transactions import SegmentLedger
from pulsar_backlog.reconciliation.segment_ledgers import findings_of_unlisted_ledgers, has_lists

SEGMENT = "segment://t/ns/a/0000-7fff-1"


def listed(*ids: int, terminated: bool = False, cursor: str | None = None, **more: Any) -> ClusterState:
    """The metadata store's list of one segment."""
    records = tuple(LedgerRecord(one, SEGMENT, None, None) for one in ids)
    topic = TopicState(SEGMENT, records, terminated=terminated, **more)
    return ClusterState({SEGMENT: topic}, frozenset(), (), (StoredValue(SEGMENT, cursor, b"", "dump.json"),))


@pytest.mark.parametrize(
    ("state", "ledger_id", "where"),
    [
        (listed(5, 9), 4, "before the first that is listed"),
        (listed(5, 9), 5, None),
        (listed(5, 9), 7, "between ledgers that are listed"),
        (listed(5, 9), 9, None),
        (listed(5, 9), 10, None),  # perhaps newer than the dump
        (listed(5, 9, terminated=True), 10, "behind the end of the sealed segment"),
        (listed(), 4, None),
        (listed(5, 9, names_all_ledgers=False), 4, None),  # what could not be read may be this one
        (listed(5, 9, cursor="s"), 4, None),  # what readers found is no list
        (None, 4, None),
    ],
)
def test_where_a_ledger_stands(state: ClusterState | None, ledger_id: int, where: str | None) -> None:
    found = list(findings_of_unlisted_ledgers([SegmentLedger(SEGMENT, ledger_id, 3, 2)], state))
    assert [one.evidence for one in found] == ([(f"ledger {ledger_id} of {SEGMENT}: {where}",)] if where else [])
    assert has_lists(state) == (state is not None and state.stored_values[0].cursor is None)


def test_one_finding_for_a_topic_counts_all() -> None:
    ledgers = [SegmentLedger(SEGMENT, one, 3, 2) for one in (4, 5, 7)] + [
        SegmentLedger("segment://t/ns/b/0000-ffff-0", 4, 1, 0)
    ]
    (finding,) = findings_of_unlisted_ledgers(ledgers, listed(5, 9))
    assert (finding.code, finding.subject, finding.count, finding.sureness) == ("S58", "topic://t/ns/a", 2, "likely")
    assert finding.message.startswith("2 ledgers of segments of topic://t/ns/a with 6 entries are stored, and")
