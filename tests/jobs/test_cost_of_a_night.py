"""A night with little news asks for everything once, however many jobs need it: counted, as clocks tell of machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pulsar_backlog.cluster import admin_json, saved_files
from pulsar_backlog.runs import result_file
from pulsar_backlog.steps import state_folder
from pulsar_backlog.tableio import open_tables
from tests.auditing import run_audit
from tests.simulated_cluster import PUBLISHED_MS, Cluster, Cursor, chunk, plain

NEEDS_SPARK = True

TOPICS = 8
LOOKS = 3
"""How often it is looked beforehand whether there is a usable file: the first one is."""


def live(cluster: Cluster, night: int) -> None:
    """A ledger more of every topic in the first night, and of one after that."""
    for number in range(TOPICS):
        topic = cluster.topic(f"orders-{number}") if night == 0 else cluster.topics[f"orders-{number}"]
        if night in (0, number):
            at_ms = PUBLISHED_MS + night * 1000
            ledger_id = cluster.append(topic, [chunk(topic.name, night, at_ms, 0, 2), plain("p", night, at_ms)])
            topic.cursors["done"] = Cursor((ledger_id, 0))
    cluster.save()


def versions(out: Path) -> dict[str, int]:
    return {log.parent.name: DeltaTable(log.parent).version() for log in (out / "tables").glob("*/_delta_log")}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of what costs much is done."""
    seen: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(module, name)

        def counted(*args: Any, **named: Any) -> Any:
            seen[name] += 1
            return real(*args, **named)

        monkeypatch.setattr(module, name, counted)

    count(admin_json, "read_cluster_state")
    count(admin_json, "saved_files")
    count(saved_files, "_read")
    count(state_folder, "folder_state")
    count(result_file, "_parsed")
    count(open_tables, "DeltaTable")
    return seen


@pytest.mark.usefixtures("spark")
def test_a_night_asks_for_everything_once(tmp_path: Path, calls: Counter[str]) -> None:
    cluster, out = Cluster(tmp_path / "cluster"), tmp_path / "out"
    for night in range(3):
        live(cluster, night)
        before = versions(out)
        calls.clear()
        audited = run_audit(cluster.objects, out, admin=cluster.admin, cluster="c")
        assert audited.exit_code in (0, 1), audited.stderr
    assert calls["read_cluster_state"] == calls["saved_files"] == 1, "saved state is put together once"
    files = [path for path in cluster.admin.rglob("*") if path.is_file()]
    assert calls["_read"] <= len(files) + LOOKS, "each file is read once"
    assert calls["folder_state"] == 1, "the folder is looked at once for all jobs"
    assert calls["_parsed"] == 1, "the result before goes from job to job"
    after = versions(out)
    commits = sum(version - before.get(name, -1) for name, version in after.items())  # one may be new in this night
    assert calls["DeltaTable"] <= len(after) + commits, "a table is opened again where it was written"
