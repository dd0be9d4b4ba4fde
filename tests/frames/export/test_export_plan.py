"""Which entries an export plans to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulsar_backlog.frames.export.plan import Filters, plan_entries, with_transactions
from tests.frames.rows import table_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_chunk_is_no_message_also_where_nothing_names_its_topic(spark: SparkSession) -> None:
    chunk: dict[str, Any] = {"uuid": "p-1", "chunk_id": 0, "num_chunks_from_msg": 2}
    rows = [
        {"entry_id": 0, "topic": "t", "uri": "a"},
        {"entry_id": 1, "topic": "t", "uri": "a", **chunk},
        {"entry_id": 2, "topic": None, "uri": "b"},  # its ledger's other messages can be read all the same
        {"entry_id": 3, "topic": None, "uri": "b", **chunk},
    ]
    planned = plan_entries(with_transactions(table_frame(spark, "entries", rows)), Filters()).collect()
    assert [(row["entry_id"], row["uri"]) for row in planned] == [(0, "a"), (2, "b")]
