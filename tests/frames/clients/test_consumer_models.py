"""The door to the consumer models: where rows are cut into batches changes nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bench.models import CHUNKS, MISSING_ONE_IN, TOPICS, chunk_rows, in_log_order
from pulsar_backlog.frames.clients.log_stream import ROWS_AT_A_TIME
from pulsar_backlog.frames.clients.models import ModelContext, run_models
from pulsar_backlog.tables import TABLES

NEEDS_SPARK = True

STALLING = ("java:receiver_queue=20", "go:receiver_queue=20")
"""With few permits a client stalls, and where it does depends on every entry before."""
UNLIMITED = "java:max_pending=0"
MODELS = (UNLIMITED, "python:max_pending=2", *STALLING)
ROWS = 3 * ROWS_AT_A_TIME * TOPICS
CONTEXT = ModelContext("c", MODELS, {})

Found = dict[str, list[dict[str, Any]]]
"""Rows by table."""


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> pa.Table:
    return in_log_order(chunk_rows(spark, ROWS), 1).toArrow().combine_chunks()


def made(rows: pa.Table, rows_per_batch: int) -> Found:
    found: Found = {"consumer_outcomes": [], "client_forecasts": []}
    for name, batch in run_models(rows.to_batches(rows_per_batch), CONTEXT):
        found[name] += batch.to_pylist()
    assert len(found["consumer_outcomes"]) == len(MODELS) * ROWS // CHUNKS  # each publication once
    assert len(found["client_forecasts"]) == len(MODELS) * TOPICS
    return {name: sorted(rows, key=lambda row: [row[key] for key in TABLES[name].key]) for name, rows in found.items()}


@pytest.fixture(scope="module")
def in_one_batch(rows: pa.Table) -> Found:
    return made(rows, ROWS)


@pytest.mark.parametrize("rows_per_batch", [7, ROWS_AT_A_TIME - 1])
def test_as_in_one_batch(rows: pa.Table, rows_per_batch: int, in_one_batch: Found) -> None:
    assert made(rows, rows_per_batch) == in_one_batch


def test_whole_messages_are_delivered_and_few_permits_stall(in_one_batch: Found) -> None:
    java = [row for row in in_one_batch["consumer_outcomes"] if row["model"] == UNLIMITED]
    broken = ROWS // CHUNKS // MISSING_ONE_IN
    assert sum(row["outcome"] == "delivered" for row in java) == ROWS // CHUNKS - broken
    damages = {row["model"]: row["damage"] for row in in_one_batch["client_forecasts"]}
    assert damages == dict.fromkeys(MODELS) | dict.fromkeys(STALLING, "permit_stall")
