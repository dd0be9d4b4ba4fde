"""What is measured: our scan and the plain one, over the same data blocks, into the same kind of table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from bench import baseline_pyspark
from jobs.scan_entries import JOB
from pulsar_backlog.frames.scanning.scan import entries_frame
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.options import Options
from pulsar_backlog.progress import Progress
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.steps.scan_group import store_entries
from pulsar_backlog.tableio.places import table_path
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables.entries import TABLE

CLUSTER = "bench"


@dataclass(frozen=True)
class Backlog:
    """A generated folder, ready to be scanned.

    Attributes:
        folder: where it lies.
        entries: how many entries it holds.
        data_bytes: bytes of its data objects.
    """

    folder: Path
    entries: int
    data_bytes: int

    @property
    def source(self) -> Source:
        """The folder as the scan wants it."""
        return open_source(str(self.folder))

    def units(self) -> list[ScanUnit]:
        """A scan unit for each block that the plain scan takes for a work unit."""
        units: list[ScanUnit] = []
        for unit in baseline_pyspark.find_units(self.folder):
            number = sum(u.ledger_id == unit.ledger_id for u in units)
            block = Block(unit.offset, unit.length, unit.first_entry_id, entry_count=None)
            copy = unit.uri.split("-ledger-")[0]
            units.append(ScanUnit(unit.ledger_id, copy, unit.topic, unit.uri, number, (block,)))
        return units


def scan(spark: SparkSession, backlog: Backlog) -> DataFrame:
    """Our scan as a frame that has not run yet."""
    return entries_frame(spark, backlog.source, backlog.units(), CLUSTER)[0]


def plain_scan(spark: SparkSession, backlog: Backlog) -> DataFrame:
    """The plain scan as a frame that has not run yet."""
    return baseline_pyspark.scan(spark, backlog.folder, CLUSTER)


def to_nothing(df: DataFrame) -> None:
    """Run a frame and drop its rows."""
    df.write.format("noop").mode("overwrite").save()


def write_ours(spark: SparkSession, backlog: Backlog, out: str) -> None:
    """Scan into `entries` through the job's own door."""
    units = backlog.units()
    part = Slice.of(cluster=CLUSTER, ledger_id={unit.ledger_id for unit in units})
    context = JobContext(lambda: spark, JOB, Options(out=out, cluster=CLUSTER), now())
    store_entries(context, backlog.source, units, part, Progress("", 0, lambda _done: None))


def write_by_spark(spark: SparkSession, backlog: Backlog, out: str) -> None:
    """Scan into `entries` with Spark's Delta writer, as where tasks cannot write files."""
    rows = scan(spark, backlog).select(*TABLE.column_names())
    rows.writeTo(f"delta.`{table_path(out, TABLE)}`").append()


def write_plain(spark: SparkSession, backlog: Backlog, out: str) -> None:
    """Scan the plain way and append to a table with the same properties with Spark's Delta writer."""
    plain_scan(spark, backlog).writeTo(f"delta.`{table_path(out, TABLE)}`").append()


def empty_table(spark: SparkSession, out: str) -> str:
    """Make an empty `entries` below `out`, so that no timing includes the making."""
    TableStore(out, lambda: spark).create(TABLE)
    return out


def digest(spark: SparkSession, out: str) -> tuple[int, str]:
    """Rows of `entries`, and the sum of 64-bit hashes over all columns of all rows."""
    rows = TableStore(out, lambda: spark).frame(TABLE).select(f.xxhash64(_canonical()).cast("decimal(38,0)").alias("h"))
    first = rows.agg(f.count("h"), f.sum("h")).first()
    return (0, "") if first is None else (int(first[0]), str(first[1]))


def differing_rows(spark: SparkSession, ours: str, plain: str) -> int:
    """Entries that only one table holds or of which any column differs: a full join over the whole key."""
    frames = []
    for name, out in (("ours", ours), ("plain", plain)):
        frames.append(TableStore(out, lambda: spark).frame(TABLE).select(*TABLE.key, _canonical().alias(name)))
    joined = frames[0].join(frames[1], on=list(TABLE.key), how="full")
    return joined.filter(~f.col("ours").eqNullSafe(f.col("plain"))).count()


def _canonical() -> Column:
    """All columns as one text: pairs of maps sorted, absent values left out."""
    columns = []
    for column in TABLE.columns:
        value = f.col(f"`{column.name}`")
        if column.type.startswith("map"):
            value = f.array_sort(f.map_entries(value))
        columns.append(value.alias(column.name))
    return f.to_json(f.struct(*columns))
