"""Ledgers as found, joined with what metadata say of them: rows of `ledgers`, `inventory` and `findings`.

A ledger is compared alone, in the task that has it; whose the place is, all of them together show, so the rows of
`inventory` are made in two steps.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.frames.packed import PACKED_DDL, opened, packed
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.inventory import ClusterRecords
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.reconciliation.compare import Whose, compare_ledger, owned, stored_copies
from pulsar_backlog.reconciliation.findings import Tallies, merged, tallied
from pulsar_backlog.reconciliation.judge import Claim, Knowledge
from pulsar_backlog.reconciliation.values import Judged, Stored
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

BATCH_LEDGERS = 1000
"""Ledgers whose rows are packed together."""

PORTION_ROWS = 10_000
"""Rows that become Arrow together."""

_CLAIM_DDL = (
    "ledger_id bigint, topic string, uuid string, complete boolean, entries bigint, size_bytes bigint, "
    "closed_time_ms bigint, may_hold_entries boolean"
)
_CLAIM = pa.schema([
    ("ledger_id", pa.int64()), ("topic", pa.string()), ("uuid", pa.string()), ("complete", pa.bool_()),
    ("entries", pa.int64()), ("size_bytes", pa.int64()), ("closed_time_ms", pa.int64()),
    ("may_hold_entries", pa.bool_()),
])  # fmt: skip
_BESIDES_DDL = "ledger_id bigint, besides binary"
_BESIDES = pa.schema([("ledger_id", pa.int64()), ("besides", pa.binary())])
_TALLIES = pa.schema([("tallies", pa.binary())])


@dataclass(frozen=True)
class Comparison:
    """What every ledger is compared by.

    Attributes:
        cluster: name of the cluster.
        job: whose findings.
        scope: ledgers that were asked for.
        facts: what metadata say that is not about one ledger; None compares nothing.
    """

    cluster: str
    job: str
    scope: Scope
    facts: Knowledge | None


def claims_frame(spark: SparkSession, claims: Iterable[Claim], compacted: Collection[int]) -> DataFrame:
    """What metadata say of each ledger; without a topic those that are known as compacted views only."""

    def rows() -> Iterator[dict[str, object]]:
        unclaimed = set(compacted)
        for one in claims:
            unclaimed.discard(one.record.ledger_id)
            yield asdict(one.record) | {"may_hold_entries": one.may_hold_entries}
        for ledger_id in unclaimed:
            yield {"ledger_id": ledger_id}

    return _frame(spark, rows(), _CLAIM, _CLAIM_DDL).dropDuplicates(["ledger_id"])


def besides_frame(spark: SparkSession, copies: Iterable[Examined], stored: Iterable[Stored]) -> DataFrame:
    """What else is known to be stored of ledgers: copies in files that hold many ledgers, and what is no copy."""
    by_ledger: dict[int, tuple[list[Examined], list[Stored]]] = {}
    for copy in copies:
        by_ledger.setdefault(copy.pair.ledger_id, ([], []))[0].append(copy)
    for one in stored:
        by_ledger.setdefault(one.ledger_id, ([], []))[1].append(one)
    rows = ({"ledger_id": ledger_id, "besides": pickle.dumps(both)} for ledger_id, both in by_ledger.items())
    return _frame(spark, rows, _BESIDES, _BESIDES_DDL)


def compared_ledgers(attempts: DataFrame, claims: DataFrame, besides: DataFrame, by: Comparison) -> DataFrame:
    """Packed rows of `ledgers`, `findings`, and of `inventory` as far as one ledger alone tells."""

    def compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_LEDGERS):
                rows = _Rows(by)
                for row in batch.slice(start, BATCH_LEDGERS).to_pylist():
                    rows.add(row)
                yield from packed(rows.batches())

    copies = attempts.select("ledger_id", "copies")
    joined = copies.join(claims, on="ledger_id", how="full_outer").join(besides, on="ledger_id", how="full_outer")
    return joined.mapInArrow(quiet(compare), PACKED_DDL)


class _Rows:
    """Rows of some ledgers, by table."""

    def __init__(self, by: Comparison) -> None:
        self._by = by
        self._rows: dict[str, list[dict[str, object]]] = {"ledgers": [], "inventory": [], "findings": []}

    def add(self, row: dict[str, Any]) -> None:
        """Compare one ledger."""
        by, ledger_id = self._by, row["ledger_id"]
        # Pickles of our own, from one task to another.
        attempts: list[Examined] = pickle.loads(row["copies"]) if row["copies"] else []  # noqa: S301
        copies, stored = pickle.loads(row["besides"]) if row["besides"] else ([], [])  # noqa: S301
        claim = _claim(row)
        attempts += copies
        if attempts:
            records = {ledger_id: claim.record} if claim else {}
            topic = claim.record.topic if claim else by.facts.besides.get(ledger_id) if by.facts else None
            settled, findings = ClusterRecords({ledger_id: topic} if topic else {}, records).settle(attempts)
            stored += stored_copies(settled)
            inside = [copy for copy in settled if by.scope.holds(copy)]
            self._rows["ledgers"] += [copy.row(by.cluster) for copy in inside]
            self._rows["findings"] += [one.row(by.cluster, by.job) for one in findings if inside]
        self._rows["inventory"] += [one.row(by.cluster) for one in compare_ledger(ledger_id, stored, claim, by.facts)]

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of each table that has any."""
        for name, rows in self._rows.items():
            if rows:
                yield name, pa.RecordBatch.from_pylist(rows, schema=arrow_schema(TABLES[name]))


def owned_rows(judged: DataFrame, whose: Whose, by: Comparison) -> DataFrame:
    """Packed rows of `inventory` within the scope, and `tallies` of all of them, by whose the place is.

    Args:
        judged: packed rows as `compared_ledgers` gives them.
        whose: the place is.
        by: what was compared by.
    """

    def own(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for _, table in opened(batch):
                rows = [_owned(row, whose) for row in table.to_pylist()]
                tallies = pickle.dumps(tallied(rows))
                inside = [row for row in rows if by.scope.names(row["topic"]) and by.scope.holds_id(row["ledger_id"])]
                schema = arrow_schema(TABLES["inventory"])
                yield from packed([
                    ("inventory", pa.RecordBatch.from_pylist(inside, schema=schema)),
                    ("tallies", pa.RecordBatch.from_pylist([{"tallies": tallies}], schema=_TALLIES)),
                ])  # fmt: skip

    return judged.filter(f.col("table") == "inventory").mapInArrow(quiet(own), PACKED_DDL)


def tallies_of(rows: DataFrame) -> Tallies:
    """The tallies that tasks counted, together."""
    counted = rows.filter(f.col("table") == "tallies").select("rows").collect()
    tables = (pa.ipc.open_stream(row["rows"]).read_all() for row in counted)
    return merged(pickle.loads(one) for table in tables for one in table["tallies"].to_pylist())  # noqa: S301


def whose_of(judged: DataFrame) -> Whose:
    """Whose a place is, by rows of `inventory`: one row for each Pulsar cluster that wrote a current copy."""
    current = judged.filter(f.col("verdict") == "current").select("verdict", "pulsar_cluster").distinct()
    return Whose.of((row["verdict"], row["pulsar_cluster"]) for row in current.collect())


def _owned(row: dict[str, Any], whose: Whose) -> dict[str, Any]:
    judged = Judged(row["verdict"], row["reason"], row["current_copy"])
    judged, leaks, alone = owned(judged, row["pulsar_cluster"], whose)
    return row | asdict(judged) | {"leaks": leaks, "needs_sole_owner": alone}


def _claim(row: dict[str, Any]) -> Claim | None:
    """What metadata say of the ledger of a row."""
    if row["topic"] is None:
        return None
    record = LedgerRecord(**{one.name: row[one.name] for one in fields(LedgerRecord)})
    return Claim(record, row["may_hold_entries"])


def _frame(spark: SparkSession, rows: Iterable[dict[str, object]], schema: pa.Schema, ddl: str) -> DataFrame:
    """Rows as a frame, by way of Arrow, some at a time."""
    waiting = iter(rows)
    portions = iter(lambda: list(islice(waiting, PORTION_ROWS)), [])
    batches = [pa.RecordBatch.from_pylist(some, schema=schema) for some in portions]
    if not batches:
        return spark.createDataFrame([], ddl)
    return spark.createDataFrame(pa.Table.from_batches(batches).combine_chunks(), schema=ddl)
