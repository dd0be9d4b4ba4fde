"""An audit whose tables no process holds, and whose rows go to tasks by files, tells what a small one does."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from pulsar_backlog.sql import task_rows
from pulsar_backlog.tableio import table_cache
from scripts import compare_audits
from tests.auditing import ADMIN, OBJECTS, Audited, run_audit

NEEDS_SPARK = True

NO_ANSWERS = {"examined_copies", "saved_documents"}
"""What an inventory keeps for the next one, where this process holds it."""


def test_all_tables_are_those_of_a_small_audit(
    bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    monkeypatch.setattr(task_rows, "FEW_ROWS", -1)
    large = run_audit(OBJECTS, tmp_path, admin=ADMIN, cluster="demo")
    assert large.exit_code == bundled.exit_code, large.stderr
    names = {path.parent.name for path in bundled.out.glob("tables/*/_delta_log")}
    for name in names - NO_ANSWERS - {"runs", "saved_states", "backlogs"}:
        many, few = (compare_audits.rows_of(DeltaTable(one.out / "tables" / name)) for one in (large, bundled))
        assert (many - few, few - many) == ({}, {}), name
