"""The sides that are compared, a row for each ledger; their join on `ledger_id` has all that one ledger tells.

| side | columns | made of |
|---|---|---|
| attempts | `copies`: pickled copies | objects of one ledger, which tasks read (`attempts.py`) |
| other storage | `other_storage`: pickled copies, and the rest | files of many ledgers; uploads, streaming offload |
| claims | fields of `LedgerRecord`, `may_hold_entries` | saved metadata |

What is pickled goes from one task of this program to another, and nowhere else.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, fields
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.reconciliation.judge import Claim
from pulsar_backlog.reconciliation.values import Stored
from pulsar_backlog.tables.arrow import ddl_schema

BATCH_ROWS = 10_000
"""Rows that become Arrow together."""

_CLAIM_DDL = (
    "ledger_id bigint, topic string, uuid string, complete boolean, entries bigint, size_bytes bigint, "
    "closed_time_ms bigint, may_hold_entries boolean"
)
_OTHER_STORAGE_DDL = "ledger_id bigint, other_storage binary"


def claims_frame(spark: SparkSession, claims: Iterable[Claim], compacted: Collection[int]) -> DataFrame:
    """What metadata say of each ledger; without a topic those that are known as compacted views only."""

    def rows() -> Iterator[dict[str, object]]:
        unclaimed = set(compacted)
        for claim in claims:
            unclaimed.discard(claim.record.ledger_id)
            yield asdict(claim.record) | {"may_hold_entries": claim.may_hold_entries}
        for ledger_id in unclaimed:
            yield {"ledger_id": ledger_id}

    return _frame(spark, rows(), _CLAIM_DDL).dropDuplicates(["ledger_id"])


def other_storage_frame(spark: SparkSession, copies: Iterable[Examined], stored: Iterable[Stored]) -> DataFrame:
    """What is stored of ledgers outside their own objects.

    Args:
        spark: session.
        copies: in files that hold many ledgers.
        stored: unfinished uploads and objects of streaming offload.
    """
    by_ledger: dict[int, tuple[list[Examined], list[Stored]]] = {}
    for copy in copies:
        by_ledger.setdefault(copy.pair.ledger_id, ([], []))[0].append(copy)
    for one in stored:
        by_ledger.setdefault(one.ledger_id, ([], []))[1].append(one)
    rows = ({"ledger_id": ledger_id, "other_storage": pickle.dumps(both)} for ledger_id, both in by_ledger.items())
    return _frame(spark, rows, _OTHER_STORAGE_DDL)


def storage_of(row: dict[str, Any]) -> tuple[list[Examined], list[Stored]]:
    """All copies of the ledger of a joined row, those in its own objects first, and what is stored besides copies."""
    attempts: list[Examined] = pickle.loads(row["copies"]) if row["copies"] else []  # noqa: S301 - our own, see above
    copies, stored = pickle.loads(row["other_storage"]) if row["other_storage"] else ([], [])  # noqa: S301 - our own
    return attempts + copies, stored


def claim_of(row: dict[str, Any]) -> Claim | None:
    """What metadata say of the ledger of a joined row; None where no topic claims it."""
    if row["topic"] is None:
        return None
    record = LedgerRecord(**{field.name: row[field.name] for field in fields(LedgerRecord)})
    return Claim(record, row["may_hold_entries"])


def _frame(spark: SparkSession, rows: Iterable[dict[str, object]], ddl: str) -> DataFrame:
    """Rows as a frame, by way of Arrow, some at a time."""
    schema, remaining = ddl_schema(ddl), iter(rows)
    portions = iter(lambda: list(islice(remaining, BATCH_ROWS)), [])
    batches = [pa.RecordBatch.from_pylist(portion, schema=schema) for portion in portions]
    if not batches:
        return spark.createDataFrame([], ddl)
    return spark.createDataFrame(pa.Table.from_batches(batches).combine_chunks(), schema=ddl)
