"""What lies in the ledger that a topic is written to, which no offloader has stored: counted, by whom, or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.auditing import run_audit
from tests.simulated_cluster import PUBLISHED_MS, Cluster, Cursor, Topic, plain

NEEDS_SPARK = True

Change = Callable[[Topic, dict[str, Any], dict[str, Any]], object]
"""Of a topic's internalStats and stats, before they are saved."""

STORED = 4
"""Stored entries that are not acknowledged."""


def has_entries(topic: Topic, internal: dict[str, Any], _stats: dict[str, Any]) -> None:
    internal.update(lastConfirmedEntry=f"{topic.open_ledger}:6", currentLedgerEntries=7)


def is_partly_acknowledged(topic: Topic, internal: dict[str, Any], _stats: dict[str, Any]) -> None:
    """The cursor is in the open ledger, and so are the entries that it lacks."""
    has_entries(topic, internal, _stats)
    internal["cursors"]["s"]["markDeletePosition"] = f"{topic.open_ledger}:1"


def has_no_end(_topic: Topic, internal: dict[str, Any], _stats: dict[str, Any]) -> None:
    internal["lastConfirmedEntry"] = "-1:-1"


def is_counted_by_stats(topic: Topic, internal: dict[str, Any], stats: dict[str, Any]) -> None:
    has_no_end(topic, internal, stats)
    stats["subscriptions"]["s"]["msgBacklog"] = STORED + 20


def contradicts_stats(topic: Topic, internal: dict[str, Any], stats: dict[str, Any]) -> None:
    """Fewer than what is stored: of another moment, or wrong as brokers' counters are at times."""
    has_no_end(topic, internal, stats)
    stats["subscriptions"]["s"]["msgBacklog"] = STORED - 1


def is_counted_twice(topic: Topic, internal: dict[str, Any], stats: dict[str, Any]) -> None:
    """Lengths of ledgers are exact, whatever the broker counts."""
    has_entries(topic, internal, stats)
    stats["subscriptions"]["s"]["msgBacklog"] = 99


CASES: Mapping[str, tuple[Change, tuple[int, int | None, str | None]]] = {
    "empty": (lambda *_: None, (STORED, 0, "ledgers")),
    "has entries": (has_entries, (STORED, 7, "ledgers")),
    "is partly acknowledged": (is_partly_acknowledged, (0, 5, "ledgers")),
    "has no end": (has_no_end, (STORED, None, None)),
    "is counted by stats": (is_counted_by_stats, (STORED, 20, "stats")),
    "contradicts stats": (contradicts_stats, (STORED, None, None)),
    "is counted twice": (is_counted_twice, (STORED, 7, "ledgers")),
}
"""How a topic's open ledger is saved -> stored and other entries of the backlog, and who counted the latter."""


@pytest.mark.usefixtures("spark")
def test_the_open_ledger_is_counted_where_anything_tells_of_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    for name, (change, _) in CASES.items():
        topic = cluster.topic(name)
        ledger_id = cluster.append(topic, [plain("p", number, PUBLISHED_MS + number) for number in range(10)])
        topic.cursors["s"] = Cursor((ledger_id, 9 - STORED))
        cluster.save([topic])
        internal, _, stats = cluster.documents(topic)
        bodies = [json.loads(path.read_text()) for path in (internal, stats)]
        change(topic, *bodies)
        for path, body in zip((internal, stats), bodies, strict=True):
            path.write_text(json.dumps(body))
    audited = run_audit(cluster.objects, tmp_path / "out", admin=str(cluster.admin), cluster="c")
    assert audited.exit_code == 0, audited.stdout
    seen = {
        row["topic"].rsplit("/", 1)[1]: (row["backlog_entries"], row["unstored_entries"], row["counted_by"])
        for row in audited.rows("backlogs")
    }
    assert seen == {name: counted for name, (_, counted) in CASES.items()}
