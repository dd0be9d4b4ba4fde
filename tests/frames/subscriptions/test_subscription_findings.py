"""Findings about subscriptions that only the join with the entries shows."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pulsar_backlog.frames.finding_rows import Origin
from pulsar_backlog.frames.subscriptions.findings import findings_of_batches


def test_batch_indexes_that_the_stored_batch_does_not_have(spark: SparkSession) -> None:
    rows = [
        ("bad", 5, 7, True),
        ("bad", 5, 3, True),
        ("bad", 5, 9, False),  # a batch of which a part is acknowledged, as it should be
        ("good", 6, 1, False),
        ("runs", 7, 0, None),  # a run of whole entries has no batch
    ]
    joined = spark.createDataFrame(rows, "topic string, ledger_id bigint, first_entry_id bigint, impossible boolean")
    (found,) = findings_of_batches(joined, Origin("c", "analyze_subscriptions")).collect()
    assert (found["code"], found["topic"], found["count"], found["ledger_id"], found["entry_id"]) == (
        "K12",
        "bad",
        2,
        5,
        3,
    )
    assert list(found["evidence"]) == ["5:3", "5:7"]
