"""Jobs that hand rows to tasks, on the bundled audit's scan: by DuckDB's files and by Spark's shuffle."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.sql import engines, large_results, task_rows
from pulsar_backlog.tableio import table_cache
from tests.auditing import ADMIN, Audited, rows_of, run_one

NEEDS_SPARK = True

SCANNED = (
    "ledgers", "inventory", "scans", "entries", "entry_spans", "ledger_facts", "noted_entries", "producer_facts",
    "rejects",
)  # fmt: skip
JOBS = ("assemble_chunks", "model_consumers", "analyze_subscriptions")
MADE = (
    "chunked_messages", "chunks", "topic_stats", "consumer_outcomes", "client_forecasts", "subscriptions",
    "ack_ranges", "stalls", "findings",
)  # fmt: skip


def made(bundled: Audited, out: Path) -> dict[str, list[dict[str, Any]]]:
    """What the jobs make of the bundled scan, by table."""
    for name in SCANNED:
        shutil.copytree(bundled.out / "tables" / name, out / "tables" / name)
    table_cache.clear()
    for job in JOBS:
        assert run_one(job, bundled.source, out, admin=ADMIN, cluster="demo", fail_on="never").exit_code == 0
    return {name: rows_of(out, name) for name in MADE}


@pytest.fixture(scope="module")
def by_files(bundled: Audited, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    return made(bundled, tmp_path_factory.mktemp("files"))


def test_as_the_audit_made_it(bundled: Audited, by_files: dict[str, list[dict[str, Any]]]) -> None:
    for name in MADE:
        rows = [row for row in bundled.rows(name) if name != "findings" or row["job"] in JOBS]
        assert len(rows) > 50
        assert by_files[name] == rows, name


def test_several_tasks(
    bundled: Audited, by_files: dict[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_rows, "FEW_ROWS", 0)
    monkeypatch.setattr(large_results, "MAX_ROWS", 100)
    monkeypatch.setattr(task_rows, "TASK_ROWS", 97)
    monkeypatch.setattr(task_rows, "BATCH_ROWS", 64)
    assert made(bundled, tmp_path) == by_files


def test_spark_shuffles_where_tables_are_large(
    bundled: Audited, by_files: dict[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    monkeypatch.setattr(engines, "MAX_BYTES", -1)
    assert made(bundled, tmp_path) == by_files
