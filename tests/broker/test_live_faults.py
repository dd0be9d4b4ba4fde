"""A real broker that trims, deletes, hangs, drips or is gone while live topics are read: bounded, told, and kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import address_of
from tests.auditing import Audited, run_one
from tests.broker.conftest import Admin, topic_path
from tests.broker.process import Broker
from tests.broker.proxy import Proxy, proxied
from tests.broker.publishing import message, publish
from tests.broker.repairing import said_by

NAMESPACE = "lab/faults"
LEDGERS = 6
ENTRIES = 20
TIMEOUT = 3
OWN_WORK = 25.0
"""Seconds that listing and scanning take without any wait, on a machine that has other work."""


def filled(broker: Broker, admin: Admin, name: str) -> tuple[str, list[int]]:
    """A topic with some closed ledgers in a namespace of its own."""
    if NAMESPACE not in admin.request("GET", "/v2/namespaces/lab"):
        admin.request("PUT", f"/v2/namespaces/{NAMESPACE}", {})
    topic = f"persistent://{NAMESPACE}/{name}"
    ledgers = []
    for _ in range(LEDGERS):
        entries = [message(n, os.urandom(3000)) for n in range(ENTRIES)]
        ledgers.append(publish(broker, topic, entries)[0][0])
        admin.request("PUT", f"{topic_path(topic)}/unload")
    return topic, ledgers


def snapshot(broker: Broker, topic: str, folder: Path) -> Path:
    code, said = said_by([
        "snapshot", "--admin-url", broker.admin_url, "--token-file", str(broker.token_file), "--topic", topic,
        "--out", str(folder),
    ])  # fmt: skip
    assert code == 0, said
    return folder


def audited(broker: Broker, saved: Path, out: Path, between: Callable[[], object], **more: Any) -> Audited:
    """The jobs that read entries; what happens between listing and reading."""
    options: dict[str, Any] = {
        "admin": saved, "admin_url": broker.admin_url, "token_file": broker.token_file, "cluster": "c",
        "timeout_seconds": TIMEOUT, "fail_on": "never", **more,
    }  # fmt: skip
    run_one("inventory_ledgers", broker.service_url, out, **options)
    between()
    return run_one("scan_entries", broker.service_url, out, **options)


def trim(admin: Admin, topic: str, expected: int) -> None:
    """Let the broker delete what nobody needs, until it lists only so many ledgers."""
    admin.request(
        "POST", f"/v2/namespaces/{NAMESPACE}/retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}
    )
    deadline = time.monotonic() + 30
    while len(admin.get(topic, "internalStats")["ledgers"]) > expected and time.monotonic() < deadline:
        admin.request("PUT", f"{topic_path(topic)}/unload")
        admin.get(topic, "internalStats")
        admin.post(topic, "trim")
        time.sleep(0.2)
    admin.request("DELETE", f"/v2/namespaces/{NAMESPACE}/retention")
    assert len(admin.get(topic, "internalStats")["ledgers"]) <= expected


def test_a_topic_whose_ledgers_were_all_trimmed(
    broker: Broker, admin: Admin, tmp_path: Path, spark: SparkSession
) -> None:
    topic, ledgers = filled(broker, admin, "trimmed")
    saved = snapshot(broker, topic, tmp_path / "admin")
    began = time.monotonic()
    ran = audited(broker, saved, tmp_path / "out", lambda: trim(admin, topic, 1))
    assert time.monotonic() - began < OWN_WORK + 2 * TIMEOUT
    assert ran.exit_code == 4, ran.stderr
    (finding,) = [row for row in ran.rows("findings") if row["code"] in ("S02", "S48")]
    assert (finding["code"], finding["evidence"]) == ("S48", [f"{topic}: ledger {ledgers[0]} to {ledgers[-1]}"])
    assert ran.rows("rejects") == []
    place = place_of(broker)
    began = time.monotonic()
    for ledger in ledgers:  # as an export asks, entry by entry
        for entry in range(ENTRIES):
            with pytest.raises(SourceError, match="trimmed"):
                place.read(f"{topic}/{ledger}", address_of(entry), address_of(entry) + 9)
    assert time.monotonic() - began < TIMEOUT


def place_of(broker: Broker, service_url: str = "", **fields: Any) -> LivePlace:
    return LivePlace(Live(service_url or broker.service_url, broker.admin_url, **{
        "max_rate": 1 << 40, "token_file": str(broker.token_file), "timeout_seconds": TIMEOUT, **fields,
    }))  # fmt: skip


def read_all(place: LivePlace, topic: str, ledgers: list[int]) -> tuple[int, set[str], float]:
    """Entries, causes of what is missing, seconds."""
    began, count, causes = time.monotonic(), 0, set[str]()
    for ledger in ledgers:
        try:
            for _ in place.entries(f"{topic}/{ledger}", 0, ENTRIES - 1, 3000):
                count += 1
        except SourceError as error:
            causes.add(str(error))
    return count, causes, time.monotonic() - began


def test_a_topic_that_is_deleted_keeps_what_was_read(
    broker: Broker, admin: Admin, tmp_path: Path, spark: SparkSession
) -> None:
    topic, ledgers = filled(broker, admin, "deleted")
    saved = snapshot(broker, topic, tmp_path / "admin")

    def delete() -> None:
        deadline = time.monotonic() + 60
        while not admin.get(topic, "stats")["subscriptions"] and time.monotonic() < deadline:
            time.sleep(0.05)  # nobody reads yet
        time.sleep(2)
        admin.request("DELETE", f"{topic_path(topic)}?force=true")

    with ThreadPoolExecutor(1) as other:
        ran = audited(broker, saved, tmp_path / "out", lambda: other.submit(delete), max_rate=40_000)
        ended = time.monotonic()
    assert time.monotonic() - ended < 1  # it was deleted before
    assert ran.exit_code == 4, ran.stderr
    rows = ran.rows("entries", "ledger_id", "entry_id")
    assert 0 < len(rows) < LEDGERS * ENTRIES
    (finding,) = [row for row in ran.rows("findings") if row["code"] in ("S02", "S48")]
    assert (finding["code"], finding["topic"]) == ("S02", topic)
    assert finding["evidence"][-1].endswith(str(ledgers[-1]))


def hang(proxy: Proxy) -> None:
    proxy.passes_bytes = 40_000


def drip(proxy: Proxy) -> None:
    proxy.passes_bytes, proxy.byte_seconds = 40_000, 0.2


def cut(proxy: Proxy) -> None:
    proxy.stays_broken = True
    proxy.cut_after(600)


@pytest.mark.parametrize("fault", [hang, drip, cut])
def test_what_a_broker_behind_a_proxy_does(
    broker: Broker, admin: Admin, topic: str, fault: Callable[[Proxy], None]
) -> None:
    topic, ledgers = filled(broker, admin, topic.rpartition("/")[2])
    with proxied(broker.service_url) as proxy:
        fault(proxy)
        count, causes, seconds = read_all(place_of(broker, proxy.service_url), topic, ledgers)
    assert 0 < count < LEDGERS * ENTRIES
    assert seconds < 2 * TIMEOUT + 4
    assert len(causes) <= 2, causes  # where the fault was met, and of all that follows
    assert all("unreachable" in cause or "slow" in cause for cause in causes)
