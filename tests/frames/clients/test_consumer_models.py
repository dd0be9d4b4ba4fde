"""The door to the consumer models: where rows are cut into batches changes nothing."""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession

from bench.models import CHUNKS, MISSING_ONE_IN, TOPICS, chunk_rows
from pulsar_backlog.frames.clients.models import ROWS_AT_A_TIME, ModelContext, run_models

STALLING = ("java:receiver_queue=20", "go:receiver_queue=20")
"""With few permits a client stalls, and where it does depends on every entry before."""
UNLIMITED = "java:max_pending=0"
MODELS = (UNLIMITED, "python:max_pending=2", *STALLING)
ROWS = 3 * ROWS_AT_A_TIME * TOPICS
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def outcomes(spark: SparkSession, rows_per_batch: int) -> set[Row]:
    before = spark.conf.get(BATCH_ROWS)
    spark.conf.set(BATCH_ROWS, rows_per_batch)
    try:
        found = run_models(chunk_rows(spark, ROWS), ModelContext(MODELS, {}), partitions=1).collect()
    finally:
        spark.conf.set(BATCH_ROWS, before)
    assert len(found) == len(MODELS) * (ROWS // CHUNKS + TOPICS)  # each publication once, and each topic
    return set(found)


@pytest.fixture(scope="module")
def in_one_batch(spark: SparkSession) -> set[Row]:
    return outcomes(spark, ROWS)


@pytest.mark.parametrize("rows_per_batch", [7, ROWS_AT_A_TIME - 1])
def test_as_in_one_batch(spark: SparkSession, rows_per_batch: int, in_one_batch: set[Row]) -> None:
    assert outcomes(spark, rows_per_batch) == in_one_batch


def test_whole_messages_are_delivered_and_few_permits_stall(in_one_batch: set[Row]) -> None:
    java = [row for row in in_one_batch if row["model"] == UNLIMITED]
    broken = ROWS // CHUNKS // MISSING_ONE_IN
    assert sum(row["outcome"] == "delivered" for row in java) == ROWS // CHUNKS - broken
    damages = {row["forecast"]["model"]: row["forecast"]["damage"] for row in in_one_batch if row["forecast"]}
    assert damages == dict.fromkeys(MODELS) | dict.fromkeys(STALLING, "permit_stall")
