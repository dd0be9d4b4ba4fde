"""Every table of the bundled audit: contract, key, and readers that are not Spark."""

from __future__ import annotations

import json

import pytest
from deltalake import DeltaTable

from pulsar_backlog.tableio.spark_rows import schema_of
from pulsar_backlog.tables import TABLES
from tests.auditing import Audited
from tests.delta_extension import delta_connection

NEEDS_SPARK = True

OTHERS = ("messages", "repair_plans", "repair_actions", "gone_ledgers", *(
    "differences", "compared_topics", "compared_subscriptions", "message_digests", "digest_buckets", "digest_ledgers"
))  # fmt: skip
AUDIT_TABLES = tuple(name for name in TABLES if name not in OTHERS)
"""Those that an audit writes; an export, a plan, a comparison, and an audit that misses a ledger write the others."""
EMPTY = (
    "rejects", "segments", "transactions", "internal_copies", "schema_versions", "topic_policies", "transaction_log",
    "transaction_snapshots", "pending_acks", "deduplication_snapshots", "cursor_states", "delayed_indexes",
    "system_messages", "delayed_buckets", "cut_off_entries",
)  # fmt: skip
"""Those of which the bundled backlog has no row."""


@pytest.mark.parametrize("name", AUDIT_TABLES)
def test_the_table_is_what_its_contract_says(bundled: Audited, name: str) -> None:
    table = TABLES[name]
    schema = json.loads(DeltaTable(bundled.out / "tables" / name).schema().to_json())
    wanted = json.loads(schema_of(table).json())
    assert [(f["name"], f["nullable"], f["metadata"]["comment"]) for f in schema["fields"]] == [
        (column.name, column.nullable, column.comment) for column in table.columns
    ]
    assert [f["type"] for f in schema["fields"]] == [f["type"] for f in wanted["fields"]]


@pytest.mark.parametrize("name", AUDIT_TABLES)
def test_keys_are_unique_and_never_null(bundled: Audited, name: str) -> None:
    table = TABLES[name]
    rows = bundled.rows(name, *table.key)
    keys = [tuple(row.values()) for row in rows]
    assert len(set(keys)) == len(keys)
    assert not [key for key in keys if None in key]
    assert bool(rows) != (name in EMPTY)


@pytest.mark.parametrize("name", AUDIT_TABLES)
def test_other_readers_see_the_same(bundled: Audited, name: str) -> None:
    folder = bundled.out / "tables" / name
    (count,) = delta_connection().execute(f"SELECT count(*) FROM delta_scan('{folder}')").fetchone() or (None,)
    assert count == len(bundled.rows(name))
    assert bundled.result["tables"][name] == count - (name == "runs")  # the report is written before its own run ends


@pytest.mark.parametrize("name", AUDIT_TABLES)
def test_no_feature_that_other_readers_lack(bundled: Audited, name: str) -> None:
    table = DeltaTable(bundled.out / "tables" / name)
    protocol = table.protocol()
    assert protocol.min_reader_version == 1
    assert not protocol.reader_features
    configuration = table.metadata().configuration
    assert "delta.columnMapping.mode" not in configuration
    assert configuration["delta.enableDeletionVectors"] == "false"


def test_statistics_are_kept_for_what_people_filter_by(bundled: Audited) -> None:
    (first, *_) = sorted((bundled.out / "tables" / "entries" / "_delta_log").glob("*.json"))
    adds = [
        json.loads(line)["add"]
        for path in sorted(first.parent.glob("*.json"))
        for line in path.read_text().splitlines()
        if "add" in json.loads(line)
    ]
    assert {tuple(sorted(json.loads(add["stats"])["minValues"])) for add in adds} == {
        tuple(sorted(TABLES["entries"].statistics))
    }
