"""Facts against the same said in SQL over all entries (`oracle.py`): random hostile ledgers, and a real backlog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from pyspark.sql import SparkSession

from pulsar_backlog.facts.ledger import ledger_row
from pulsar_backlog.facts.producers import added_up, producer_rows
from pulsar_backlog.facts.stretch import Stretch
from tests.auditing import Audited
from tests.facts import oracle
from tests.facts.build import batch_of, facts_in_parts, ledgers

NEEDS_SPARK = True

LEDGERS = 400


@pytest.fixture(scope="module")
def random_ledgers() -> dict[int, list[dict[str, Any]]]:
    """Ledger id -> its entries; every fifth ledger has no topic, the others are on one of three."""
    found: list[list[dict[str, Any]]] = []

    @settings(max_examples=LEDGERS, phases=[Phase.generate], derandomize=True, database=None)
    @given(ledgers(most=20))
    def collect(rows: list[dict[str, Any]]) -> None:
        found.append(rows)

    collect()
    topics = (None, "t", "t", "u", "v")
    return {
        number: [row | {"ledger_id": number, "topic": topics[number % 5]} for row in rows]
        for number, rows in enumerate(found)
    }


def facts_of_all(batches: dict[int, pa.RecordBatch]) -> dict[int, dict[str, Any]]:
    """Ledger id -> its row of facts, made of parts."""
    rows = {}
    for ledger_id, batch in batches.items():
        cuts = list(range(1, batch.num_rows, 1 + ledger_id % 4))
        topic = batch.column("topic")[0].as_py()
        rows[ledger_id] = ledger_row(facts_in_parts(batch, cuts), "c", topic, ledger_id)
    return rows


def check(spark: SparkSession, batches: dict[int, pa.RecordBatch], entries: Any) -> None:
    facts = facts_of_all(batches)
    said = oracle.ledger_facts(entries)
    assert len(facts) == len(said)
    for ledger_id, row in facts.items():
        assert row == row | said[ledger_id], ledger_id
    parts = [producer_rows(Stretch(batch), "c") for _, batch in sorted(batches.items())]
    producers = {
        (row["topic"], row["producer_name"]): row
        for row in added_up(pa.concat_batches(parts)).to_pylist()
        if row["topic"] is not None
    }
    wanted = oracle.producers(entries)
    assert producers.keys() == wanted.keys()
    for key, row in producers.items():
        assert row == row | wanted[key], key


def test_random_ledgers(spark: SparkSession, random_ledgers: dict[int, list[dict[str, Any]]]) -> None:
    batches = {ledger_id: batch_of(rows) for ledger_id, rows in random_ledgers.items()}
    entries = spark.createDataFrame(pa.Table.from_batches(batches.values()))
    check(spark, batches, entries)


def test_a_real_backlog(spark: SparkSession, bundled: Audited) -> None:
    from deltalake import DeltaTable

    table = DeltaTable(bundled.out / "tables" / "entries").to_pyarrow_table()
    ordered = table.sort_by([("ledger_id", "ascending"), ("entry_id", "ascending")]).combine_chunks()
    ids = ordered.column("ledger_id").to_pylist()
    batches = {
        ledger_id: ordered.slice(ids.index(ledger_id), ids.count(ledger_id)).to_batches()[0] for ledger_id in set(ids)
    }
    entries = spark.read.format("delta").load(str(bundled.out / "tables" / "entries"))
    check(spark, batches, entries)
    assert Path(bundled.out / "tables" / "ledger_facts").exists()
