"""The consumer models: chunk rows a second through the door, each model alone.

Two topic partitions, so that both cores have one. Four producers write in turn, five chunks a message; of one message
in fifty a chunk is missing, so that contexts are dropped, evicted and expired as on a real broken topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.measuring import interleaved, warm_up
from bench.scorecard import Goal, Scorecard
from bench.subjects import to_nothing
from pulsar_backlog.chunks.clients.models import DEFAULT_MODELS
from pulsar_backlog.frames.clients.models import ModelContext, run_models
from pulsar_backlog.frames.clients.rows import MODEL_COLUMNS, PACKED_COLUMNS, packed_facts
from pulsar_backlog.tables import TABLES
from pulsar_backlog.workers import quiet

MODELS = tuple(f"{model}:receiver_queue=1000000" for model in DEFAULT_MODELS)
"""With as many permits as they need: a client that stalls is no work."""
TOPICS = 2
PARTITIONS = 8
"""As in pipelines.yaml; the two topics fall into different ones."""
WARM_PART = 20
"""The session is warm when a twentieth of the rows takes no less time any more."""
PRODUCERS = 4
CHUNKS = 5
SLICE_BYTES = 65_000
MISSING_ONE_IN = 50
ROWS_PER_MS = 2
LEDGER_ENTRIES = 50_000


def in_log_order(rows: DataFrame, partitions: int) -> DataFrame:
    """The rows (as `MODEL_COLUMNS`) packed, each topic in one task and in position order."""
    facts = f.expr(packed_facts()).cast("bigint").alias("facts")
    ordered = rows.select(*PACKED_COLUMNS, facts).repartition(partitions, "topic")
    return ordered.sortWithinPartitions("topic", "ledger_id", "entry_id")


def chunk_rows(spark: SparkSession, rows: int) -> DataFrame:
    """About that many rows of `MODEL_COLUMNS`, over all topics."""
    turn = PRODUCERS * CHUNKS
    at = f.floor(f.col("id") / TOPICS)
    in_turn, message = at % turn, f.floor(at / turn)
    chunk_id, producer = f.floor(in_turn / PRODUCERS), in_turn % PRODUCERS
    stored_ms = f.lit(1_700_000_000_000) + f.floor(at / ROWS_PER_MS)
    named = {
        "topic": f.concat(f.lit("persistent://bench/models/topic-"), f.col("id") % TOPICS),
        "ledger_id": f.floor(at / LEDGER_ENTRIES) * TOPICS + f.col("id") % TOPICS,
        "entry_id": at % LEDGER_ENTRIES,
        "uuid": f.concat_ws("-", f.lit("producer"), producer, message),
        "publish_time_ms": f.lit(1_700_000_000_000) + f.floor(message * turn / ROWS_PER_MS),
        "stored_ms": stored_ms,
        "chunk_id": chunk_id.cast("int"),
        "num_chunks": f.lit(CHUNKS),
        "total_bytes": f.lit(CHUNKS * SLICE_BYTES),
        "slice_bytes": f.lit(SLICE_BYTES),
        "batched": f.lit(False),
        "checksum": f.lit("valid"),
        "codec": f.lit(None).cast("string"),
        "uncompressed_bytes": f.lit(CHUNKS * SLICE_BYTES).cast("bigint"),
        "payload": f.lit("fits"),
        "copies": f.when(_is_broken(message, producer), CHUNKS - 1).otherwise(CHUNKS),
        "whole": ~_is_broken(message, producer),
        "in_flight": f.lit(False),
        "sureness": f.lit("certain"),
        "end_ms": f.lit(1_700_000_000_000 + rows // TOPICS // ROWS_PER_MS),
    }
    stored = spark.range(rows).filter(~(_is_broken(message, producer) & (chunk_id == 2)))
    return stored.select(*(named[name].alias(name) for name in MODEL_COLUMNS))


def _is_broken(message: Column, producer: Column) -> Column:
    return (message * PRODUCERS + producer) % MISSING_ONE_IN == 7


def _outcomes(rows: DataFrame, models: tuple[str, ...]) -> DataFrame:
    """Rows of `consumer_outcomes`, of rows as `MODEL_COLUMNS`."""
    context = ModelContext("bench", models, {})

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (batch for name, batch in run_models(batches, context) if name == "consumer_outcomes")

    return in_log_order(rows, PARTITIONS).mapInArrow(quiet(run), TABLES["consumer_outcomes"].ddl())


def measure_models(spark: SparkSession, rows: int, repetitions: int, card: Scorecard) -> None:
    """Each default model alone, from rows in memory to outcomes that nobody keeps."""
    sample = chunk_rows(spark, rows // WARM_PART).persist(StorageLevel.MEMORY_ONLY)
    warm_up(lambda: to_nothing(_outcomes(sample, MODELS)))
    sample.unpersist()
    stored = chunk_rows(spark, rows).persist(StorageLevel.MEMORY_ONLY)
    count = stored.count()

    def run(model: str) -> None:
        to_nothing(_outcomes(stored, (model,)))

    timings = interleaved({f"{model.partition(':')[0]} model": partial(run, model) for model in MODELS}, repetitions)
    card.tell_rates(timings, count / 1e6, "M chunk rows/s")
    for name, timing in timings.items():
        rate, core_us = count / 1e6 / timing.median, median(timing.cpu_seconds) / count * 1e6
        card.tell(f"{name}, cost", core_us, f"{core_us:.1f} core us per chunk row")
        card.goals.append(Goal(name, rate, "M rows/s", at_least=0.2, portable=False))
    stored.unpersist()
