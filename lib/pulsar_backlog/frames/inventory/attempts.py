"""Listed objects in, ledgers with their copies as tasks found them out: indexes are read here, many at a time."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.spill import SPILL_DDL, Attempts, numbered, read_spilled, spilled_ledgers, strays
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.survey import examined
from pulsar_backlog.tables.arrow import ddl_schema
from pulsar_backlog.workers import quiet

BATCH_LEDGERS = 500
"""Ledgers examined, and handed on, together."""
OBJECTS_OF_TASK = 20_000
"""Objects that a task looks at."""

FOUND_DDL = "ledger_id bigint, topic string, strays array<string>, copies binary"


def listed_objects(spark: SparkSession, spill: Path, is_shared: bool) -> DataFrame:
    """What a listing spilled; where tasks do not share this machine's disk, through the driver."""
    if is_shared:
        return spark.read.schema(SPILL_DDL).parquet(spill.as_uri())
    return spark.createDataFrame(read_spilled(spill), schema=SPILL_DDL)


def found_ledgers(objects: DataFrame, source: Source, count: int) -> DataFrame:
    """A row for each ledger: its topic as far as an object names it, checksums of nothing, its copies as found or null.

    Args:
        objects: rows as a listing spills them.
        source: where they lie.
        count: how many they are.
    """

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ledgers = spilled_ledgers(row for batch in batches for row in batch.to_pylist())
        while some := list(islice(ledgers, BATCH_LEDGERS)):
            yield _attempts_of(source, some)

    tasks = max(objects.sparkSession.sparkContext.defaultParallelism, -(-count // OBJECTS_OF_TASK))
    ordered = objects.repartition(tasks, "ledger_id").sortWithinPartitions("ledger_id")
    return ordered.mapInArrow(quiet(look), FOUND_DDL)


def _attempts_of(source: Source, ledgers: list[tuple[int, Attempts]]) -> pa.RecordBatch:
    pairs = (pair for _, attempts in ledgers for pair in numbered(attempts))
    copies: dict[int, list[Examined]] = {
        ledger_id: list(group) for ledger_id, group in groupby(examined(source, pairs), lambda one: one.pair.ledger_id)
    }
    rows = []
    for ledger_id, attempts in ledgers:
        of_ledger = copies.get(ledger_id, [])
        topics = [one.topic for one in of_ledger if one.topic is not None]
        rows.append({
            "ledger_id": ledger_id,
            "topic": topics[-1] if topics else None,
            "strays": [one.path for one in strays(attempts)],
            "copies": pickle.dumps(of_ledger) if of_ledger else None,
        })  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, schema=ddl_schema(FOUND_DDL))
