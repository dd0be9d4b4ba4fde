"""Numbers of subscriptions and topics, in both engines: the worst by name, the rest summed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.blank_rows import NOON, complete_row
from tests.engines import ENGINES, asked_of, job_context

NEEDS_SPARK = True

WORDS: dict[str, int | str] = {
    "bound": 2,
    "complete": "'whole', 'out_of_order'",
    "incomplete": "'gap', 'headless', 'orphan_prefix'",
    "no_loss": "'resend_residue'",
}


def rows_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    table = TABLES[name]
    made = [complete_row(table, row) for row in rows]
    return pa.Table.from_pylist(made, schema=arrow_schema(table))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_worst_by_name_and_the_rest_summed(engine: str, spark: SparkSession) -> None:
    of = {"cluster": "c", "topic": "t", "kind": "subscription", "oldest_unacked_time": NOON}
    of |= {"oldest_unacked_broker_time": NOON + timedelta(seconds=1)}
    subscriptions = [
        of | {"subscription": "big", "backlog_entries": 100, "backlog_bytes": 1000},
        of | {"subscription": "stalled", "backlog_entries": 1, "backlog_bytes": 10},
        of | {"subscription": "small", "backlog_entries": 5, "backlog_bytes": 50, "oldest_unacked_broker_time": None},
        of
        | {
            "subscription": "unknown",
            "backlog_entries": None,
            "backlog_bytes": None,
            "oldest_unacked_time": None,
            "oldest_unacked_broker_time": None,
        },
        of | {"subscription": "own", "kind": "compaction", "backlog_entries": 9999},  # of the broker
    ]
    stalls = [
        {"cluster": "c", "topic": "t", "subscription": "stalled", "blocks_dispatch": True, "chunk_uuid": uuid}
        for uuid in "ab"
    ]
    of_chunk = {"cluster": "c", "topic": "t", "flags": []}
    messages = [
        of_chunk | {"state": "gap"},
        of_chunk | {"state": "gap", "flags": ["resend_residue"]},  # stored whole elsewhere
        of_chunk | {"state": "whole", "rebuildable": True},
        of_chunk | {"state": "out_of_order", "rebuildable": True},
        of_chunk | {"state": "whole"},  # no good copy of a chunk
        of_chunk | {"state": "in_flight"},
        *(of_chunk | {"topic": f"u{number}", "state": "malformed"} for number in range(3)),
    ]
    tables = {
        "subscriptions": rows_of("subscriptions", subscriptions),
        "stalls": rows_of("stalls", stalls),
        "chunked_messages": rows_of("chunked_messages", messages),
    }
    with asked_of(engine, job_context(spark if engine == "spark" else None), tables) as asked:
        found = asked.rows({
            "subscriptions": asked.sql("metrics", "subscriptions", {"bound": 2}),
            "topics": asked.sql("metrics", "topics", WORDS),
        })  # fmt: skip
    by_name = {row["subscription"]: row for row in found["subscriptions"]}
    assert set(by_name) == {"stalled", "big", None}
    assert (by_name["stalled"]["stalled"], by_name["stalled"]["backlog_entries"]) == (1, 1)
    noon_ms = round(NOON.timestamp() * 1000)
    assert (by_name["big"]["oldest_ms"], by_name["big"]["oldest_broker_ms"]) == (noon_ms, noon_ms + 1000)
    rest = by_name[None]
    assert (rest["oldest_ms"], rest["oldest_broker_ms"]) == (noon_ms, None), "their entries do not tell"
    assert (rest["topic"], rest["subscriptions"], rest["stalled"], rest["backlog_entries"]) == (None, 2, 0, 5)
    by_topic = {row["topic"]: (row["broken"], row["lost"], row["rebuildable"]) for row in found["topics"]}
    assert by_topic == {"t": (3, 2, 1), "u0": (1, 0, 0), None: (2, 0, 0)}
