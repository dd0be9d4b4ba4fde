"""The door from scan units to tables: units go out as a broadcast, files or Arrow batches come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.frames.scanning.task import ScanTask, scanned
from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.output.data_files import FILES_DDL
from pulsar_backlog.scanning.accounts import Accounts
from pulsar_backlog.scanning.fact_runs import Runs
from pulsar_backlog.scanning.packs import pack_units
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

Key = TypeVar("Key")
Value = TypeVar("Value")


class ByKey(AccumulatorParam[dict[Key, Value]]):
    """Collects what tasks tell of units and runs; what is scanned again replaces what was told of it."""

    def zero(self, value: dict[Key, Value]) -> dict[Key, Value]:
        """Nothing told."""
        return {}

    def addInPlace(self, value1: dict[Key, Value], value2: dict[Key, Value]) -> dict[Key, Value]:  # noqa: N802 - Spark's name
        """Both, the later one winning."""
        value1.update(value2)
        return value1


def entries_frame(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str
) -> tuple[DataFrame, Accumulator[Accounts]]:
    """Rows of `entries` for `units`, and the accumulator that has their accounts once the frame was consumed."""
    return _rows_of(spark, source, units, cluster, "entries")


def scan_files(
    spark: SparkSession, task: ScanTask, units: Sequence[ScanUnit]
) -> tuple[DataFrame, Accumulator[Accounts], Accumulator[Runs]]:
    """The same rows, those of the fact tables and of `rejects`, written by the tasks into Parquet files: `FILES_DDL`.

    The accumulators have the accounts of units, and the facts of what each task saw of a ledger, once all files were
    collected.

    Args:
        spark: session whose tasks share a disk with this process.
        task: what each does.
        units: what to scan.
    """
    packs = _Packs(spark, units)
    accounts: Accumulator[Accounts] = spark.sparkContext.accumulator({}, ByKey())
    runs: Accumulator[Runs] = spark.sparkContext.accumulator({}, ByKey())
    sent = packs.sent

    def write_files(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from task.write(_units_of(numbers, sent.value), accounts.add, runs.add)

    return packs.frame().mapInArrow(quiet(write_files), FILES_DDL), accounts, runs


def rejects_frame(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str
) -> tuple[DataFrame, Accumulator[Accounts]]:
    """Rows of `rejects` for `units` that are walked again, and the accumulator that has their accounts by this walk."""
    return _rows_of(spark, source, units, cluster, "rejects")


def _rows_of(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str, table: str
) -> tuple[DataFrame, Accumulator[Accounts]]:
    """Rows of one table that a scan of units gives; the accounts of its walk."""
    packs = _Packs(spark, units)
    accounts: Accumulator[Accounts] = spark.sparkContext.accumulator({}, ByKey())
    sent = packs.sent

    def rows(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        every = scanned(source, cluster, _units_of(numbers, sent.value), accounts.add, arrow_schema(TABLES["entries"]))
        return (batch for name, batch in every if name == table)

    return packs.frame().mapInArrow(quiet(rows), spark_schema(TABLES[table].ddl())), accounts


class _Packs:
    """Units for tasks of Spark: a broadcast, and a frame with a row for each task."""

    def __init__(self, spark: SparkSession, units: Sequence[ScanUnit]) -> None:
        packs = pack_units(units, spark.sparkContext.defaultParallelism)
        self._spark, self._count = spark, len(packs)
        self.sent = spark.sparkContext.broadcast(packs)

    def frame(self) -> DataFrame:
        """A number for each task."""
        return self._spark.range(0, self._count, 1, max(self._count, 1))


def _units_of(batches: Iterable[pa.RecordBatch], packs: list[tuple[ScanUnit, ...]]) -> Iterator[ScanUnit]:
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from packs[number]
