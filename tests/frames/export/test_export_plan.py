"""Which entries an export plans to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulsar_backlog.frames.export.filters import Filters
from pulsar_backlog.frames.export.plan import plan_entries
from pulsar_backlog.frames.log.transactions import Decided, with_transactions
from pulsar_backlog.messages.kinds import TRANSACTIONS
from tests.frames.rows import table_frame

NEEDS_SPARK = True

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


def test_the_metadata_store_decides_of_segments(spark: SparkSession) -> None:
    segment = "segment://t/ns/a/0000-ffff-0"

    def sent(entry_id: int, low: int, ledger_id: int = 5) -> dict[str, Any]:
        return {"entry_id": entry_id, "ledger_id": ledger_id, "topic": segment, "uri": "a",
                "txnid_most_bits": 1, "txnid_least_bits": low}  # fmt: skip

    said = [(segment, 1, "aborted"), ("", 2, "aborted"), ("", 3, "open"), ("", 4, "committed"),
            (segment, 5, "committed"), ("segment://t/ns/b/0000-ff-0", 6, "aborted"), ("", 1, "committed")]  # fmt: skip
    store = [{"topic": of, "txnid_most_bits": 1, "txnid_least_bits": low, "state": state} for of, low, state in said]
    known = {"topic": "topic://t/ns/a", "segment": segment, "first_ledger_id": 5, "watermark_ledger_id": 5,
             "watermark_entry_id": 6}  # fmt: skip
    decided = Decided(table_frame(spark, "transactions", store), table_frame(spark, "segments", [known]))
    expected = {
        (5, 0): "aborted",  # by its record, whatever the header says
        (5, 1): "aborted",
        (5, 2): "open",
        (5, 9): "committed",  # by its header, also behind the watermark
        (5, 10): "committed",
        (5, 6): "committed",  # neither header nor record, up to the watermark; that of another segment says nothing
        (5, 7): "cannot_tell",  # behind it
        (4, 0): "cannot_tell",  # its record may have gone with the ledger that the broker trimmed
    }
    rows = [sent(entry_id, low, ledger_id) for (ledger_id, entry_id), low in zip(
        expected, (1, 2, 3, 4, 5, 6, 6, 6), strict=True)]  # fmt: skip
    found = with_transactions(table_frame(spark, "entries", rows), decided).collect()
    assert {(row["ledger_id"], row["entry_id"]): TRANSACTIONS[row["txn_state"]] for row in found} == expected
