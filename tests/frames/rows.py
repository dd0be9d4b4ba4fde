"""Rows of tables with only what matters given; the rest is null, or empty where null is not allowed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.facts.ledger import ledger_row
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, FactRuns, Runs
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.blank_rows import NOON, complete_row

NOON_MS = round(NOON.timestamp() * 1000)


def table_rows(table: str, rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows of a table."""
    made = [complete_row(TABLES[table], row) for row in rows]
    return pa.Table.from_pylist(made, schema=arrow_schema(TABLES[table]))


def table_frame(spark: SparkSession, table: str, rows: Iterable[dict[str, Any]]) -> DataFrame:
    """The same as a frame."""
    return spark.createDataFrame(table_rows(table, rows), TABLES[table].ddl()).coalesce(1)


def fact_rows(entries: Iterable[dict[str, Any]]) -> dict[str, pa.Table]:
    """What a scan makes of these entries besides: rows of the fact tables, by table. Topics may share ledger ids."""
    ledgers: dict[tuple[Any, int], list[dict[str, Any]]] = {}
    for row in entries:
        ledgers.setdefault((row["topic"], row["ledger_id"]), []).append(complete_row(TABLES["entries"], row))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ("ledger_facts", *ROW_TABLES)}
    for (topic, ledger_id), rows in ledgers.items():
        rows.sort(key=lambda row: int(row["entry_id"]))
        runs: Runs = {}
        facts = FactRuns("c", runs.update)
        batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(TABLES["entries"]))
        for name, made in [*facts.add(batch), *facts.end()]:
            found[name] += made.to_pylist()
        (of_ledger,) = runs.values()
        found["ledger_facts"].append(ledger_row(of_ledger, "c", topic, ledger_id))
    schemas = {name: arrow_schema(TABLES[name]) for name in found}
    return {name: pa.Table.from_pylist(found[name], schema=schemas[name]) for name in found}


def fact_frames(spark: SparkSession, entries: Iterable[dict[str, Any]]) -> dict[str, DataFrame]:
    """The same as frames."""
    return {name: spark.createDataFrame(rows) for name, rows in fact_rows(entries).items()}


def at(ms: int) -> datetime:
    """A time so many milliseconds after noon."""
    return NOON + timedelta(milliseconds=ms)


def entry(topic: str, ledger_id: int, entry_id: int, **given: Any) -> dict[str, Any]:
    """A healthy entry of one message, the n-th of the topic's, stored one second after the one before it.

    `at_ms` and `sent_ms` are the broker's and the producer's time after noon; None for a broker that records none.
    """
    n = given.pop("n", entry_id)
    stored_ms, sent_ms = given.pop("at_ms", 1000 * n), given.pop("sent_ms", 1000 * n - 5)
    broker = {"has_broker_metadata": False}
    if stored_ms is not None:
        broker = {"has_broker_metadata": True, "broker_timestamp": at(stored_ms), "index": n}  # type: ignore[dict-item]
    return {
        "cluster": "c", "topic": topic, "ledger_id": ledger_id, "entry_id": entry_id, "producer_name": "p",
        "sequence_id": n, "publish_time": at(sent_ms), "publish_time_ms": NOON_MS + sent_ms,
        "checksum_state": "valid", "length": 100, "payload_offset": 60, "payload_length": 40, **broker, **given,
    }  # fmt: skip


def ledger(topic: str, ledger_id: int, entries: int | None = None, closed_ms: int | None = None) -> dict[str, Any]:
    """A scanned ledger; `closed_ms` after noon."""
    closed = None if closed_ms is None else at(closed_ms)
    return {
        "cluster": "c", "topic": topic, "ledger_id": ledger_id, "selected": True, "expected_entries": entries,
        "closed_time": closed,
    }  # fmt: skip
