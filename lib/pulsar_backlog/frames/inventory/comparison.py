"""First step of a large inventory: each ledger is compared alone, in the task that has its row.

    attempts  full outer join  claims  full outer join  other storage    (`sides.py`)
        -> per ledger: copies settled, then judged against its claim
        -> packed rows of `ledgers`, `findings` and `inventory`

Whose the place is no ledger tells alone: `ownership.py` goes over the rows of `inventory` once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from pulsar_backlog.findings import Finding
from pulsar_backlog.frames.inventory.sides import claim_of, storage_of
from pulsar_backlog.frames.packed import PACKED_DDL, packed
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.inventory import ClusterRecords
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.reconciliation.compare import compare_ledger, stored_copies
from pulsar_backlog.reconciliation.judge import Claim, Knowledge
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

BATCH_LEDGERS = 1000
"""Ledgers whose rows are packed together."""

_TableRows = dict[str, list[dict[str, object]]]


@dataclass(frozen=True)
class Comparison:
    """What every ledger is compared by.

    Attributes:
        cluster: name of the cluster.
        job: whose findings.
        scope: ledgers of which rows are wanted.
        facts: what metadata say that is not about one ledger; None compares nothing.
    """

    cluster: str
    job: str
    scope: Scope
    facts: Knowledge | None


def compare_ledgers(attempts: DataFrame, claims: DataFrame, other_storage: DataFrame, by: Comparison) -> DataFrame:
    """Packed rows of `ledgers`, `findings`, and of `inventory` as far as one ledger alone tells."""

    def compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_LEDGERS):
                yield from packed(_batches(_compare(batch.slice(start, BATCH_LEDGERS).to_pylist(), by)))

    copies = attempts.select("ledger_id", "copies")
    joined = copies.join(claims, on="ledger_id", how="full_outer")
    joined = joined.join(other_storage, on="ledger_id", how="full_outer")
    return joined.mapInArrow(quiet(compare), PACKED_DDL)


def _compare(ledgers: list[dict[str, Any]], by: Comparison) -> _TableRows:
    """Rows of some ledgers, by table."""
    rows: _TableRows = {"ledgers": [], "inventory": [], "findings": []}
    for ledger in ledgers:
        ledger_id, claim = ledger["ledger_id"], claim_of(ledger)
        attempts, stored = storage_of(ledger)
        copies, findings = _settled(attempts, claim, by.facts)
        inside = [copy for copy in copies if by.scope.holds(copy)]
        rows["ledgers"] += [copy.row(by.cluster) for copy in inside]
        rows["findings"] += [finding.row(by.cluster, by.job) for finding in findings if inside]
        stored += stored_copies(copies)
        rows["inventory"] += [row.row(by.cluster) for row in compare_ledger(ledger_id, stored, claim, by.facts)]
    return rows


def _settled(
    attempts: list[Examined], claim: Claim | None, facts: Knowledge | None
) -> tuple[list[LedgerCopy], list[Finding]]:
    """Copies of one ledger, with what the copy that the broker reads makes of the others; and what is wrong."""
    if not attempts:
        return [], []
    ledger_id = attempts[0].pair.ledger_id
    topic = claim.record.topic if claim else facts.besides.get(ledger_id) if facts else None
    topics = {ledger_id: topic} if topic else {}
    records = {ledger_id: claim.record} if claim else {}
    return ClusterRecords(topics, records).settle(attempts)


def _batches(rows: _TableRows) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each table that has any."""
    for name, of_table in rows.items():
        if of_table:
            yield name, pa.RecordBatch.from_pylist(of_table, schema=arrow_schema(TABLES[name]))
