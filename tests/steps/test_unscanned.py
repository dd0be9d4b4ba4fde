"""What a scan has still to read, asked of both engines."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.ledgers.budget import TopicBytes
from pulsar_backlog.steps.unscanned import TABLES_ASKED, bytes_of_topics, pending_copies
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.engines import ENGINES, asked_of, job_context
from tests.frames.rows import table_rows

NEEDS_SPARK = True

T = "persistent://t/n/a"
BLOCK = {"offset": 128, "length": 500, "first_entry_id": 0, "entry_count": 3, "uri": None, "last_entry_id": None}


def ledger(ledger_id: int, **more: Any) -> dict[str, Any]:
    known = {"cluster": "c", "ledger_id": ledger_id, "topic": T, "copy": "a", "kind": "object", "selected": True}
    return known | {"data_uri": f"o-{ledger_id}", "data_bytes": 100, "data_etag": "e", "blocks": [BLOCK]} | more


def book(ledger_id: int, **more: Any) -> dict[str, Any]:
    known = {"cluster": "c", "ledger_id": ledger_id, "topic": T, "copy": "a", "complete": True}
    return known | {"data_bytes": 100, "data_etag": "e"} | more


def of(ledger_id: int, **more: Any) -> dict[str, Any]:
    return {"cluster": "c", "topic": T, "ledger_id": ledger_id} | more


PLACE = {"ledger_id": 0, "entry_id": 0}
ROWS: dict[str, list[dict[str, Any]]] = {
    "ledgers": [
        *(ledger(number) for number in range(1, 7)),
        ledger(7, data_bytes=101), ledger(8, data_etag=None), ledger(9, copy="b"), ledger(10, topic=None),
        ledger(11, selected=False), ledger(12, data_uri=None), ledger(13),
    ],
    "scans": [
        book(1), book(2, complete=False), book(3), book(4), book(5), *(book(number) for number in range(7, 14)),
    ],
    "ledger_facts": [of(number) for number in (1, 2, 4, 5, *range(7, 14))],  # not of 3
    "noted_entries": [of(1, entry_id=0, uri="o-1"), of(4, entry_id=0, uri=None), of(4, entry_id=1, uri=None)],
    "producer_facts": [
        of(1, first_entry_id=0, entries=2, markers=1, last_message=PLACE),
        of(5, first_entry_id=0, entries=2, markers=1, last_message=None),
        of(13, first_entry_id=0, entries=2, markers=2, last_message=None),  # there is none
    ],
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_pending_and_why(engine: str, spark: SparkSession) -> None:
    tables = {
        name: table_rows(name, ROWS[name]) if name in ROWS else arrow_schema(TABLES[name]).empty_table()
        for name in TABLES_ASKED
    }
    assert all(isinstance(rows, pa.Table) for rows in tables.values())
    context = job_context(spark)
    with asked_of(engine, context, tables) as asked:
        pending, topics = pending_copies(context, asked), bytes_of_topics(asked)
    assert [copy.ledger_id for copy in pending.copies] == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert [row["ledger_id"] for row in pending.changed] == [7, 8]
    assert pending.lacking == 3  # 3, 4 and 5
    (block,) = pending.copies[0].blocks
    assert (block.offset, block.length, block.entry_count, block.is_last) == (128, 500, 3, True)
    assert topics == {T: TopicBytes(1001, 701), None: TopicBytes(100, 100)}
