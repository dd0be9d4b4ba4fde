"""Audits of live topics whose broker trims, deletes or goes away while tasks read; brokers are scripts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.auditing import Audited, run_one
from tests.cluster.admin_server import AdminServer, Answer, admin_server
from tests.ledgers.live.brokers import ServedTopic
from tests.wire.encode import entry

NEEDS_SPARK = True

TOPIC = "persistent://lab/s/a"
STATS = "/admin/v2/persistent/lab/s/a/internalStats"
LEDGERS = range(7, 19)
TIMEOUT = 3
OWN_WORK = 30.0
"""Seconds that the jobs take without any wait, on a machine that has other work."""


@pytest.fixture
def admin() -> Iterator[AdminServer]:
    with admin_server() as running:
        running.says("/admin/v2/brokers", ["127.0.0.1:8080"])
        yield running


def bodies(ledger: int) -> dict[tuple[int, int], bytes]:
    return {(ledger, n): entry(payload=bytes([n]) * 50) for n in range(5)}


def statistics(*ledgers: int) -> dict[str, Any]:
    listed = [{"ledgerId": one, "entries": 5, "size": 900, "offloaded": False} for one in ledgers]
    return {"ledgers": listed, "cursors": {}, "lastConfirmedEntry": f"{LEDGERS[-1]}:4", "state": "LedgerOpened"}


def audited(saved: Path, broker: str, admin: AdminServer, between: Callable[[], object] = lambda: None) -> Audited:
    """Listing and scanning with a snapshot; what happens between them."""
    out = saved.parents[1]  # an audit asks again at its end where the snapshot is its own, in `live/begin`
    saved.mkdir(parents=True)
    (saved / "lab__s__a.internalStats.json").write_text(json.dumps(statistics(*LEDGERS)))
    options = {
        "admin": saved, "admin_url": admin.url, "timeout_seconds": TIMEOUT, "cluster": "c", "fail_on": "never",
        "topic": ["lab/s/*"],
    }  # fmt: skip
    run_one("inventory_ledgers", broker, out, **options)
    between()
    return run_one("scan_entries", broker, out, **options)


def test_ledgers_that_were_trimmed_are_one_finding(admin: AdminServer, tmp_path: Path, spark: SparkSession) -> None:
    """What is read stays, what is gone costs no wait, in any of the worker processes."""
    broker = ServedTopic(bodies(7) | bodies(8))
    admin.says(STATS, statistics(7, 8))
    began = time.monotonic()
    ran = audited(tmp_path / "out" / "mine" / "admin", broker.url, admin)
    seconds = time.monotonic() - began
    broker.close()
    assert ran.exit_code == 4, ran.stderr
    assert {(row["ledger_id"], row["entry_id"]) for row in ran.rows("entries")} == set(bodies(7) | bodies(8))
    assert ran.codes()["S48"] == ["ledger:9"]
    assert "S02" not in ran.codes()
    (finding,) = [row for row in ran.rows("findings") if row["code"] == "S48"]
    assert (finding["count"], finding["evidence"]) == (10, [f"{TOPIC}: ledger 9 to 18"])
    assert ran.rows("rejects") == []
    assert seconds < OWN_WORK


def test_a_broker_that_goes_away_in_the_middle(admin: AdminServer, tmp_path: Path, spark: SparkSession) -> None:
    """It serves two readers, and each of them only in part."""
    broker = ServedTopic(
        {one: body for ledger in LEDGERS for one, body in bodies(ledger).items()}, cut_after=[3] * 99, last_readers=2
    )
    admin.says(STATS, statistics(*LEDGERS))
    began = time.monotonic()
    ran = audited(tmp_path / "out" / "mine" / "admin", broker.url, admin)
    seconds = time.monotonic() - began
    assert ran.exit_code == 4, ran.stderr
    assert len(ran.rows("entries")) >= 3  # nothing that was read is thrown away
    (finding,) = [row for row in ran.rows("findings") if row["code"] == "S02"]
    assert "no connection" in finding["message"]
    assert seconds < OWN_WORK + 2 * TIMEOUT


def test_brokers_and_admin_service_that_hang(admin: AdminServer, tmp_path: Path, spark: SparkSession) -> None:
    """Each is waited for, the ledgers are one finding, and the cluster that cannot be asked again is another."""
    over = threading.Event()

    def hang(_: str) -> Answer:
        over.wait(60)
        return Answer(503)

    def hang_all() -> None:
        paths = (STATS, "/admin/v2/persistent/lab/s", "/admin/v2/namespaces/lab", "/admin/v2/brokers")
        entries = [f"/admin/v2/persistent/lab/s/a/ledger/{one}/entry/0" for one in LEDGERS]
        admin.answers.update(dict.fromkeys((*paths, *entries), hang))

    broker = ServedTopic({})
    began = time.monotonic()
    ran = audited(tmp_path / "out" / "live" / "begin", broker.url, admin, hang_all)
    seconds = time.monotonic() - began
    over.set()
    broker.close()
    assert ran.exit_code == 4, ran.stderr
    assert seconds < OWN_WORK + 2 * TIMEOUT
    unread = [row for row in ran.rows("findings") if row["code"] == "S02"]
    assert "live" in {row["subject"] for row in unread}
    assert len(unread) <= 4, unread  # not one for each of twelve ledgers
