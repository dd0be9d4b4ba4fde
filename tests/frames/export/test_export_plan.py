"""Which entries an export plans to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulsar_backlog.frames.export.plan import Filters, plan_entries, with_transactions
from pulsar_backlog.messages.kinds import TRANSACTIONS
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


def test_transactions_of_segments_are_not_called_open(spark: SparkSession) -> None:
    txn = {"txnid_most_bits": 1, "txnid_least_bits": 0}
    rows: list[dict[str, Any]] = [
        {"entry_id": 0, "topic": "segment://t/ns/a/0000-ffff-0", "uri": "a", **txn},  # the metadata store decides
        {"entry_id": 1, "topic": "persistent://t/ns/a", "uri": "b", **txn},  # no marker: it is open
        {"entry_id": 2, "topic": "persistent://t/ns/a", "uri": "b"},
    ]
    found = with_transactions(table_frame(spark, "entries", rows))
    planned = plan_entries(found, Filters()).collect()
    assert {(row["entry_id"], TRANSACTIONS[row["txn_state"]]) for row in planned} == {(0, "cannot_tell"), (2, None)}
    assert len(plan_entries(found, Filters(all_transactions=True)).collect()) == 3
