"""Runs of unacknowledged entries are the same whether they are made row by row or as batches of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pulsar_backlog.frames.subscriptions import ack_join
from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.steps import topic_changes
from tests.auditing import ADMIN, OBJECTS, Audited, rows_of, run_one, version_of

NEEDS_SPARK = True


def test_few_runs_are_as_many(bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    shutil.copytree(bundled.out, out)
    monkeypatch.setattr(load_job("analyze_subscriptions"), "is_unchanged", lambda *_: False)
    monkeypatch.setattr(topic_changes, "stored_digests", lambda *_, **__: {})  # so that all topics are done
    monkeypatch.setattr(ack_join, "_FEW_RUNS", 0)
    monkeypatch.setattr(ack_join, "_SMALL_ROWS", 1)
    done = run_one("analyze_subscriptions", OBJECTS, out, admin=ADMIN, cluster="demo")
    assert done.exit_code == 1, done
    for name in ("ack_ranges", "subscriptions", "stalls"):
        before, after = (sorted(rows_of(folder, name), key=str) for folder in (bundled.out, out))
        assert before == after, name
        assert before and version_of(out, name) > version_of(bundled.out, name)
