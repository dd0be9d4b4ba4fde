"""What a waiting person is told: how far payloads are read, and how long an audit took."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pulsar_backlog import progress
from tests.auditing import copy_ledgers, run_audit, run_one

NEEDS_SPARK = True

COMPRESSED = [285, 292, 296]
"""Ledgers with chunked messages that are compressed."""


def test_assembling_chunks_shows_how_far_it_is_and_what_time_is_left(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = copy_ledgers(tmp_path / "objects", COMPRESSED), tmp_path / "out"
    for job in ("inventory_ledgers", "scan_entries"):
        run_one(job, source, out)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    told = run_one("assemble_chunks", source, out).stderr
    lines = re.findall(r"^payloads: (\d+) of (\d+) MB, \d+ MB/s, \d+ s left$", told, re.MULTILINE)
    assert lines, told
    done, total = map(int, lines[-1])
    assert 0 < done <= total


def test_an_audit_took_its_own_time_and_not_that_of_earlier_ones(spark: SparkSession, tmp_path: Path) -> None:
    source, out = copy_ledgers(tmp_path / "objects", [292]), tmp_path / "out"
    run_audit(source, out)
    DeltaTable(out / "tables" / "runs").update(new_values={"seconds": 140.0})  # as from a slow store
    began = time.monotonic()
    again = run_audit(source, out, grace_seconds=5)  # the jobs before `assemble_chunks` have nothing new
    assert 0 < again.result["seconds"] <= time.monotonic() - began
