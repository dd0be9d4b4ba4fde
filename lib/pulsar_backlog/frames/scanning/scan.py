"""The door from scan units to `entries` and `rejects`: units go out as a broadcast, Arrow batches come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.frames.schemas import arrow_schema, spark_schema
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import UNIT_BYTES, ScanUnit
from pulsar_backlog.output.data_files import FILES_DDL, write_data_file
from pulsar_backlog.scanning.accounts import Accounts, UnitAccount, unit_key
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables import TABLES
from pulsar_backlog.workers import quiet

MAX_PACK_UNITS = 256
"""Units of one task at most: thousands of tiny ledgers still spread over the executors."""
MAX_PACK_BYTES = 512 * 1024 * 1024
"""Bytes of one task at most: progress comes task by task."""
TASKS_PER_CORE = 4
"""Tasks aimed at for each core: a Spark worker spends about 0.1 s on a task before its first byte."""


class AccountsParam(AccumulatorParam[Accounts]):
    """Collects the accounts of finished units; a unit that is scanned again replaces its own account."""

    def zero(self, value: Accounts) -> Accounts:
        """No accounts."""
        return {}

    def addInPlace(self, value1: Accounts, value2: Accounts) -> Accounts:  # noqa: N802 - Spark's name
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
    return _one_row_a_pack(spark, scan.packs).mapInArrow(quiet(scan.batches), schema), scan.accounts


def entry_files(
    spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str, folder: Path, prefix: str
) -> tuple[DataFrame, Accumulator[Accounts]]:
    """The same rows, written by the tasks into Parquet files: a row of `FILES_DDL` for each file.

    Args:
        spark: session whose tasks share a disk with this process.
        source: where the ledgers lie.
        units: what to scan.
        cluster: name of the cluster.
        folder: of the `entries` table.
        prefix: how the files' names begin.
    """
    scan = _Scan(spark, source, units, cluster)

    def write_file(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from write_data_file(scan.batches(batches), folder, prefix, scan.schema, TABLES["entries"])

    return _one_row_a_pack(spark, scan.packs).mapInArrow(quiet(write_file), FILES_DDL), scan.accounts


class _Scan:
    """What a task of either kind does: units in, batches of `entries` out, accounts on the side."""

    def __init__(self, spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str) -> None:
        packs = pack_units(units, spark.sparkContext.defaultParallelism)
        self.accounts = spark.sparkContext.accumulator({}, AccountsParam())
        self.schema = arrow_schema(TABLES["entries"])
        self.packs = len(packs)
        self._units = spark.sparkContext.broadcast(packs)
        self._source, self._cluster = source, cluster

    def batches(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The entries of the packs whose numbers come in."""
        for unit in _units_of(numbers, self._units.value):
            account = UnitAccount()
            for piece in scan_unit(self._source, unit, self._cluster, self.schema):
                account += piece.account
                yield from piece.batches
            self.accounts.add({unit_key(unit): account})


def rejects_frame(spark: SparkSession, source: Source, units: Sequence[ScanUnit], cluster: str) -> DataFrame:
    """Rows of `rejects` for `units`: those whose account says that there are any are walked again."""
    packs = spark.sparkContext.broadcast(pack_units(units, spark.sparkContext.defaultParallelism))
    schema = spark_schema(TABLES["rejects"].ddl())
    rejects_arrow = arrow_schema(TABLES["rejects"])
    entries_arrow = arrow_schema(TABLES["entries"])

    def reject_packs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for unit in _units_of(batches, packs.value):
            for piece in scan_unit(source, unit, cluster, entries_arrow):
                if piece.rejects:
                    yield pa.RecordBatch.from_pylist(piece.rejects, schema=rejects_arrow)

    return _one_row_a_pack(spark, len(packs.value)).mapInArrow(quiet(reject_packs), schema)


def _one_row_a_pack(spark: SparkSession, packs: int) -> DataFrame:
    return spark.range(0, packs, 1, max(packs, 1))


def _units_of(batches: Iterable[pa.RecordBatch], packs: list[tuple[ScanUnit, ...]]) -> Iterator[ScanUnit]:
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from packs[number]
