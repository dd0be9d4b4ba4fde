"""Findings about subscriptions that only the join with the entries shows."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pulsar_backlog.frames.subscriptions.findings import COUNTED, places_of_batches
from pulsar_backlog.steps.finding_rows import counted_findings
from tests.engines import job_context, listed


def test_batch_indexes_that_the_stored_batch_does_not_have(spark: SparkSession) -> None:
    rows = [
        ("bad", 5, 7, True),
        ("bad", 5, 3, True),
        ("bad", 5, 9, False),  # a batch of which a part is acknowledged, as it should be
        ("good", 6, 1, False),
        ("runs", 7, 0, None),  # a run of whole entries has no batch
    ]
    joined = spark.createDataFrame(rows, "topic string, ledger_id bigint, first_entry_id bigint, impossible boolean")
    (found,) = listed(counted_findings(job_context(spark), places_of_batches(joined), COUNTED))
    assert (found["code"], found["topic"], found["count"], found["ledger_id"], found["entry_id"]) == (
        "K12",
        "bad",
        2,
        5,
        3,
    )
    assert list(found["evidence"]) == ["5:3", "5:7"]
