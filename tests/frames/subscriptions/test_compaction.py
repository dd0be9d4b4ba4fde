"""Which chunked messages a compacted topic has cut: keyed, whole, of several chunks, and before the horizon."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.frames.subscriptions.compaction import compacted_stalls
from pulsar_backlog.frames.subscriptions.findings import COUNTED, places_of_stalls
from pulsar_backlog.steps.finding_rows import counted_findings
from pulsar_backlog.subscriptions.analysed import COMPACTION
from pulsar_backlog.tableio.spark_rows import conform
from pulsar_backlog.tables import TABLES
from tests.engines import job_context, listed
from tests.frames.rows import table_frame

TOPIC = "persistent://public/default/t"
PUBLICATION = (
    "topic string, chunk_uuid string, publish_time timestamp, publish_time_ms bigint, state string, num_chunks int, "
    "copies int, rebuildable boolean, first_ledger_id bigint, first_entry_id bigint, last_ledger_id bigint, "
    "last_entry_id bigint"
)
NOTED = "topic string, ledger_id bigint, entry_id bigint, has_key boolean"


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
    noted = spark.createDataFrame([(row["topic"], 7, 10, key is not None)], NOTED)
    found = conform(compacted_stalls(publications, noted, {TOPIC: (7, 12)}, "c"), TABLES["stalls"]).collect()
    assert len(found) == is_cut
    for stall in found:
        assert (stall["subscription"], stall["code"], stall["action"]) == (COMPACTION, "C28", "none")
        assert (stall["first_chunk_entry_id"], stall["last_entry_id"], stall["sureness"]) == (10, 12, "likely")


def test_what_is_cut_is_a_finding(spark: SparkSession) -> None:
    """Nothing of it is unacknowledged: it begins where its chunk 0 lies."""
    cut = {
        "topic": TOPIC, "subscription": COMPACTION, "chunk_uuid": "p-1", "kind": "compaction_truncation",
        "code": "C28", "action": "none", "sureness": "likely", "unacked_positions": [],
        "first_chunk_ledger_id": 7, "first_chunk_entry_id": 10,
    }  # fmt: skip
    stalls = table_frame(spark, "stalls", [cut])
    (finding,) = listed(counted_findings(job_context(spark), places_of_stalls(stalls), COUNTED))
    assert (finding["code"], finding["count"], list(finding["evidence"])) == ("C28", 1, ["7:10"])
