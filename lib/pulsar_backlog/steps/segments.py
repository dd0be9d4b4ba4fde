"""Segments of scalable topics and their transactions, as rows. Most clusters have none."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pulsar_backlog.cluster.transactions import Transactions
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.findings import Finding
from pulsar_backlog.reconciliation.open_transactions import SegmentLedger, findings_of_open_transactions
from pulsar_backlog.reconciliation.segment_ledgers import findings_of_unlisted_ledgers, has_lists
from pulsar_backlog.reconciliation.segments import SegmentState, Stored, segment_states
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema


def stored_segments(engine: QueryEngine, state: ClusterState | None) -> list[SegmentState]:
    """Every segment that is stored, listed or laid out."""
    rows = engine.rows({"stored": engine.sql("log", "stored_topics", {})})["stored"]
    return segment_states(state, {row["topic"]: Stored(row["ledgers"], row["entries"], row["bytes"]) for row in rows})


def findings_of_ledgers(
    engine: QueryEngine, segments: list[SegmentState], state: ClusterState | None
) -> Iterator[Finding]:
    """What open transactions keep from consumers, and ledgers that no list names; asks where there may be any."""
    transactions = state.transactions if state else Transactions()
    is_open = "open" in transactions.headers.values()
    if is_open or has_lists(state):
        rows = engine.rows({"ledgers": engine.sql("log", "ledgers_of_segments", {})})["ledgers"]
        ledgers = [SegmentLedger(**row) for row in rows]
        yield from findings_of_unlisted_ledgers(ledgers, state)
        if is_open:
            yield from findings_of_open_transactions(segments, transactions, ledgers)


def segment_rows(segments: list[SegmentState], cluster: str) -> pa.Table:
    """Rows of `segments`."""
    return pa.Table.from_pylist([one.row(cluster) for one in segments], schema=arrow_schema(TABLES["segments"]))


def transaction_rows(state: ClusterState | None, cluster: str) -> pa.Table:
    """Rows of `transactions`."""
    transactions = state.transactions if state else Transactions()
    whole = {("", txn): decision for txn, decision in transactions.headers.items()}
    rows = [
        {"cluster": cluster, "topic": of, "txnid_most_bits": txn[0], "txnid_least_bits": txn[1], "state": decision}
        for (of, txn), decision in {**whole, **transactions.of_segments}.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(TABLES["transactions"]))
