"""What a job keeps is forgotten when it is done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.spark.session import start_session

NEEDS_SPARK = True


@pytest.fixture(autouse=True)
def large_work(spark: SparkSession) -> Iterator[None]:
    """Few rows of small work are held, and not cached."""
    start_session("any")
    yield
    start_session("any", "none")


def test_kept_until_the_block_ends(spark: SparkSession) -> None:
    context = JobContext(lambda: spark, "job", Options(), now())
    with context.resources:
        frame = context.cache(spark.range(3))
        assert frame.storageLevel.useMemory
    assert frame.storageLevel == StorageLevel.NONE


def test_forgotten_after_a_failure_too(spark: SparkSession) -> None:
    context, frames = JobContext(lambda: spark, "job", Options(), now()), []
    with pytest.raises(ValueError, match="on the way"), context.resources:
        frames.append(context.cache(spark.range(4)))
        raise ValueError("on the way")
    assert frames[0].storageLevel == StorageLevel.NONE
