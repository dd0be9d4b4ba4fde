"""A row taken out of a table behind the jobs' back: the rule that counts it fires."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.auditing import Audited, run_one

NEEDS_SPARK = True


@pytest.mark.parametrize(
    ("table", "where", "rules"),
    [
        # the first entry of compact-plain, which is no chunk
        (
            "entries",
            "ledger_id = 267 AND entry_id = 0",
            {"audit_entries_stored"},
        ),
        ("chunks", "ledger_id = 22 AND entry_id = 0", {"topic_chunk_entries_in_chunks", "topic_chunks_in_messages"}),
        ("chunked_messages", "chunk_uuid = 'raw1-1'", {"topic_chunks_in_messages"}),
        ("scans", "ledger_id = 267", {"audit_copies_scanned", "audit_entries_stored"}),
    ],
)
def test_what_is_lost_is_noticed(
    table: str, where: str, rules: set[str], spark: SparkSession, bundled: Audited, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(bundled.out / "tables", out / "tables")
    DeltaTable.forPath(spark, str(out / "tables" / table)).delete(where)
    checked = run_one("check_quality", bundled.source, out, cluster="demo")
    assert checked.exit_code == 0  # a rule that fails is a row
    failed = {row["rule"] for row in checked.rows("quality_results") if not row["passed"]}
    assert rules <= failed
