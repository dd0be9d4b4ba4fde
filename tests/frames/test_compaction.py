"""Which chunked messages a compacted topic has cut: keyed, whole, of several chunks, and before the horizon."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.frames.compaction import compacted_stalls
from pulsar_backlog.frames.subscription_rows import COMPACTION
from pulsar_backlog.storage.delta import conform
from pulsar_backlog.tables import TABLES

TOPIC = "persistent://public/default/t"
PUBLICATION = (
    "topic string, chunk_uuid string, publish_time timestamp, publish_time_ms bigint, state string, num_chunks int, "
    "copies int, rebuildable boolean, first_ledger_id bigint, first_entry_id bigint, last_ledger_id bigint, "
    "last_entry_id bigint"
)
ENTRY = "topic string, ledger_id bigint, entry_id bigint, partition_key string"


@pytest.mark.parametrize(
    ("changed", "is_cut"),
    [
        pytest.param({}, True, id="its last chunk is the last entry that was compacted"),
        pytest.param({"last_entry_id": 13}, False, id="its last chunk lies behind the horizon"),
        pytest.param({"last_ledger_id": 8, "last_entry_id": 0}, False, id="it ends in a later ledger"),
        pytest.param({"state": "orphan_prefix"}, False, id="it was broken before"),
        pytest.param({"num_chunks": 1}, False, id="one chunk is all of it"),
        pytest.param({"key": None}, False, id="compaction leaves what has no key to another setting"),
        pytest.param({"topic": f"{TOPIC}-2"}, False, id="its topic is not compacted"),
    ],
)
def test_only_what_compaction_reached_is_cut(spark: SparkSession, changed: dict[str, object], is_cut: bool) -> None:
    row = {
        "topic": TOPIC, "chunk_uuid": "p-1", "publish_time": None, "publish_time_ms": 1, "state": "whole",
        "num_chunks": 3, "copies": 3, "rebuildable": True, "first_ledger_id": 7, "first_entry_id": 10,
        "last_ledger_id": 7, "last_entry_id": 12, "key": "k",
    } | changed  # fmt: skip
    key = row.pop("key")
    publications = spark.createDataFrame([tuple(row.values())], PUBLICATION)
    entries = spark.createDataFrame([(row["topic"], 7, 10, key)], ENTRY)
    found = conform(compacted_stalls(publications, entries, {TOPIC: (7, 12)}, "c"), TABLES["stalls"]).collect()
    assert len(found) == is_cut
    for stall in found:
        assert (stall["subscription"], stall["code"], stall["action"]) == (COMPACTION, "C28", "none")
        assert (stall["first_chunk_entry_id"], stall["last_entry_id"], stall["sureness"]) == (10, 12, "likely")
