"""The door from scan units to tables: units go out as a broadcast, files or Arrow batches come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import UNIT_BYTES, ScanUnit
from pulsar_backlog.output.data_files import FILES_DDL, Place, write_data_files
from pulsar_backlog.scanning.accounts import Accounts, UnitAccount, unit_key
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, Runs, with_facts
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

MAX_PACK_UNITS = 256
"""Units of one task at most: thousands of tiny ledgers still spread over the executors."""
MAX_PACK_BYTES = 512 * 1024 * 1024
"""Bytes of one task at most: progress comes task by task."""
TASKS_PER_CORE = 4
"""Tasks aimed at for each core: a Spark worker spends about 0.1 s on a task before its first byte."""


SCAN_TABLES = ("entries", *ROW_TABLES, "rejects")
"""Tables that tasks of a scan write. `entries` comes first, as its rows do."""

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


def unit_bytes(unit: ScanUnit) -> int:
    """Bytes of the data object that the unit covers."""
    return sum(block.length for block in unit.blocks)


def pack_units(units: Sequence[ScanUnit], cores: int) -> list[tuple[ScanUnit, ...]]:
    """Units bundled for one task each: enough tasks for all cores, none smaller than a unit needs to be."""
    fair_share = sum(map(unit_bytes, units)) // (cores * TASKS_PER_CORE)
    limit = min(max(fair_share, UNIT_BYTES), MAX_PACK_BYTES)
    packs: list[tuple[ScanUnit, ...]] = []
    pack: list[ScanUnit] = []
    size = 0
    for unit in units:
        if pack and (size + unit_bytes(unit) > limit or len(pack) == MAX_PACK_UNITS):
            packs.append(tuple(pack))
            pack, size = [], 0
        pack.append(unit)
        size += unit_bytes(unit)
    return [*packs, tuple(pack)] if pack else packs


def entries_frame(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str
) -> tuple[DataFrame, Accumulator[Accounts]]:
    """Rows of `entries` for `units`, and the accumulator that has their accounts once the frame was consumed."""
    scan = _Scan(spark, source, units, cluster)
    schema = spark_schema(TABLES["entries"].ddl())

    def entries(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch for table, batch in scan.batches(numbers) if table == "entries")

    return _one_row_a_pack(spark, scan.packs).mapInArrow(quiet(entries), schema), scan.accounts


def scan_files(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str, places: Mapping[str, Place]
) -> tuple[DataFrame, Accumulator[Accounts], Accumulator[Runs]]:
    """The same rows, those of the fact tables and of `rejects`, written by the tasks into Parquet files: `FILES_DDL`.

    The accumulators have the accounts of units, and the facts of what each task saw of a ledger, once all files were
    collected.

    Args:
        spark: session whose tasks share a disk with this process.
        source: where the ledgers lie.
        units: what to scan.
        cluster: name of the cluster.
        places: where files go, for each of `SCAN_TABLES`.
    """
    scan = _Scan(spark, source, units, cluster)
    runs: Accumulator[Runs] = spark.sparkContext.accumulator({}, ByKey())
    tables = {name: (places[name], arrow_schema(TABLES[name]), TABLES[name]) for name in SCAN_TABLES}

    def write_files(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from write_data_files(with_facts(scan.batches(numbers), cluster, runs.add), tables)

    return _one_row_a_pack(spark, scan.packs).mapInArrow(quiet(write_files), FILES_DDL), scan.accounts, runs


class _Scan:
    """What a task of either kind does: units in, batches of `entries` and `rejects` out, accounts on the side."""

    def __init__(self, spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str) -> None:
        packs = pack_units(units, spark.sparkContext.defaultParallelism)
        self.accounts: Accumulator[Accounts] = spark.sparkContext.accumulator({}, ByKey())
        self.packs = len(packs)
        self._units = spark.sparkContext.broadcast(packs)
        self._source, self._cluster = source, cluster

    def batches(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """What the packs hold whose numbers come in, each batch with its table's name."""
        schema, rejects_schema = arrow_schema(TABLES["entries"]), arrow_schema(TABLES["rejects"])
        for unit in _units_of(numbers, self._units.value):
            account = UnitAccount()
            for piece in scan_unit(self._source, unit, self._cluster, schema):
                account += piece.account
                if piece.rejects:
                    yield "rejects", pa.RecordBatch.from_pylist(piece.rejects, schema=rejects_schema)
                if piece.batch is not None:
                    yield "entries", piece.batch
            self.accounts.add({unit_key(unit): account})


def rejects_frame(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str
) -> tuple[DataFrame, Accumulator[Accounts]]:
    """Rows of `rejects` for `units` that are walked again, and the accumulator that has their accounts by this walk."""
    scan = _Scan(spark, source, units, cluster)
    schema = spark_schema(TABLES["rejects"].ddl())

    def rejects(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch for table, batch in scan.batches(numbers) if table == "rejects")

    return _one_row_a_pack(spark, scan.packs).mapInArrow(quiet(rejects), schema), scan.accounts


def _one_row_a_pack(spark: SparkSession, packs: int) -> DataFrame:
    return spark.range(0, packs, 1, max(packs, 1))


def _units_of(batches: Iterable[pa.RecordBatch], packs: list[tuple[ScanUnit, ...]]) -> Iterator[ScanUnit]:
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from packs[number]
