"""Live topics as a source: read as they are stored, without a trace, audited and repaired without any bucket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pulsar
import pytest
from pulsar import ConsumerType, InitialPosition
from pyspark.sql import SparkSession

from pulsar_backlog.commands.repair_plan import run_plan
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import Hidden
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.wire.names import managed_ledger_of_topic
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.auditing import rows_of
from tests.broker.conftest import NAMESPACE, Admin
from tests.broker.process import Broker, running_broker
from tests.broker.publishing import batch, chunks, message, publish
from tests.broker.repairing import ROOT, repair, said_by
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.scanning.scans import scanned
from tests.wire.encode import entry

MARKER_TYPE = 10
LOCATION = ("cluster", "uri", "offset", "inner_offset", "block_length")
TEN_MINUTES_MS = 600_000

Entries = list[tuple[MessageMetadata, bytes]]


def marker(sequence_id: int) -> tuple[MessageMetadata, bytes]:
    metadata, payload = message(sequence_id, b"")
    metadata.marker_type = MARKER_TYPE
    return metadata, payload


def place_of(broker: Broker, **fields: Any) -> LivePlace:
    given = {"service_url": broker.service_url, "admin_url": broker.admin_url, "token_file": str(broker.token_file)}
    return LivePlace(Live(**{**given, "max_rate": 1 << 40, **fields}))


def bodies(entries: Iterable[tuple[MessageMetadata, bytes]]) -> list[bytes]:
    return [entry(metadata.SerializeToString(), payload) for metadata, payload in entries]


def subscriptions(admin: Admin, topic: str) -> list[str]:
    return sorted(admin.get(topic, "stats")["subscriptions"])


def subscriptions_soon(admin: Admin, topic: str, expected: list[str]) -> list[str]:
    """As expected, or as they are after 30 s: a broker ends a reader's own a moment after its connection."""
    deadline = time.monotonic() + 30
    while (found := subscriptions(admin, topic)) != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def test_a_stalled_topic_is_audited_and_drained_without_a_bucket(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries: Entries = [
        message(0, b"zero"), batch(1, [b"a", b"b", b"c"]), marker(2), *chunks(3, os.urandom(900), 3, [0, 1, 2]),
        *chunks(6, os.urandom(900), 3, [0, 1]),  # its producer went on
        message(8, b"after"), marker(9),
    ]  # fmt: skip
    for metadata, _ in entries:
        metadata.publish_time -= TEN_MINUTES_MS
    positions = publish(broker, topic, entries)
    ledger = positions[0][0]
    stalled = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared, initial_position=InitialPosition.Earliest)
    for _ in range(6):
        stalled.acknowledge(stalled.receive(5000))
    stalled.close()
    before = admin.cursors(topic)
    out = tmp_path / "out"
    code, said = said_by([
        "audit", broker.service_url, "--admin-url", broker.admin_url, "--token-file", str(broker.token_file),
        "--topic", topic, "--out", str(out), "--cluster", "live", "--fail-on", "never",
    ])  # fmt: skip
    assert code == 0, said
    assert subscriptions_soon(admin, topic, ["s"]) == ["s"]  # nothing stays
    assert admin.cursors(topic) == before  # nothing moved

    # The same ledger as an offloader stores it is the oracle; markers are named, and are no holes.
    managed = managed_ledger_of_topic(topic)
    put(tmp_path / "objects", offload(bodies(entries), managed_ledger=managed), ledger)
    oracle, _, _ = scanned(open_source(str(tmp_path / "objects")))
    hidden = [n for n, (metadata, _) in enumerate(entries) if metadata.HasField("marker_type")]
    live = [{k: v for k, v in row.items() if k not in LOCATION} for row in rows_of(out, "entries")]
    assert live == [
        {k: v for k, v in row.items() if k not in LOCATION} for row in oracle[ledger] if row["entry_id"] not in hidden
    ]
    rejects = rows_of(out, "rejects", "entry_id", "scope", "code")
    assert [(row["entry_id"], row["scope"], row["code"]) for row in rejects] == [
        (n, "hidden", "live_marker") for n in hidden
    ]
    findings = {row["code"] for row in rows_of(out, "findings", "code")}
    assert findings >= {"C06", "C24", "S40"}
    assert not findings & {"S13", "S16", "E02", "S41"}
    result = json.loads((out / "result.json").read_text())
    assert result["verdict"]["headline"].endswith(f"Subscription s of topic {topic} keeps 1 chunk set.")
    chosen = f"--topic {topic} --subscription s --accept-unsure likely"
    assert f"pulsar-backlog repair plan {out} --cluster live {chosen}" in [one["command"] for one in result["next"]]
    (stall,) = rows_of(out, "stalls")
    stuck = [(one["ledger_id"], one["entry_id"]) for one in stall["unacked_positions"]]
    assert (stall["subscription"], stall["kind"], stuck) == ("s", "orphan_hole", [(ledger, 6), (ledger, 7)]), stall

    capsys.readouterr()
    assert run_plan({"out": str(out), "cluster": "live", "accept_unsure": "likely"}, None) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    plan = Path(told[0]["folder"])
    assert [one["kind"] for one in told if one["record"] == "repair_action" and one["kind"] != "settings"] == [
        "acknowledge"
    ]
    assert repair(broker, "apply", plan, "--yes")[0] == 0
    assert [row["result"] for row in repair(broker, "verify", plan)[1] if row["kind"] != "settings"] == ["verified"]
    assert admin.get(topic, "stats")["subscriptions"]["s"]["msgBacklog"] == 0


def test_reading_goes_on_over_an_unload_and_cut_connections(broker: Broker, admin: Admin, topic: str) -> None:
    entries = [message(n, os.urandom(3000)) for n in range(300)]
    ledger = publish(broker, topic, entries)[0][0]
    reading = place_of(broker).entries(f"{topic}/{ledger}", 0, 299, 100_000)  # few permits: it is met in the middle
    found = [next(reading) for _ in range(20)]
    admin.request("PUT", f"/v2/{topic.replace('://', '/')}/unload")
    found += list(reading)
    assert found == list(enumerate(bodies(entries)))
    assert subscriptions_soon(admin, topic, []) == []


def test_a_topic_that_is_deleted_while_it_is_read(broker: Broker, admin: Admin, topic: str) -> None:
    ledger = publish(broker, topic, [message(n, os.urandom(3000)) for n in range(300)])[0][0]
    reading = place_of(broker, timeout_seconds=2).entries(f"{topic}/{ledger}", 0, 299, 100_000)
    for _ in range(20):
        next(reading)
    admin.request("DELETE", f"/v2/{topic.replace('://', '/')}?force=true")
    with pytest.raises(SourceError, match="not_found"):
        list(reading)
    assert topic not in admin.request("GET", f"/v2/persistent/{NAMESPACE}")  # and who reads makes no topic


def test_a_permission_that_is_taken_away_while_it_is_used(broker: Broker, admin: Admin, topic: str) -> None:
    ledger = publish(broker, topic, [message(n, os.urandom(3000)) for n in range(300)])[0][0]
    path, role = topic.replace("://", "/"), "reader"
    admin.request("POST", f"/v2/{path}/permissions/{role}", ["consume"])
    token = str(broker.identity.token(role))
    reading = place_of(broker, token_file=token).entries(f"{topic}/{ledger}", 0, 299, 100_000)
    for _ in range(20):
        next(reading)
    admin.request("DELETE", f"/v2/{path}/permissions/{role}")
    admin.request("PUT", f"/v2/{path}/unload")
    with pytest.raises(SourceError, match="permission_denied"):
        list(reading)


def test_reading_goes_on_over_a_broker_restart(tmp_path: Path) -> None:
    topic, entries = "persistent://public/default/restarted", [message(n, os.urandom(3000)) for n in range(300)]
    with running_broker(tmp_path) as first:
        ledger = publish(first, topic, entries)[0][0]
        place = place_of(first, max_rate=100_000, timeout_seconds=180)  # nine seconds
        with ThreadPoolExecutor(1) as other:
            reading = other.submit(lambda: list(place.entries(f"{topic}/{ledger}", 0, 299, 100_000)))
            time.sleep(3)
            assert not reading.done()
            os.kill(first.pid, signal.SIGKILL)
            with running_broker(tmp_path, again=first) as second:
                assert reading.result(180) == list(enumerate(bodies(entries)))
                assert subscriptions_soon(Admin(second), topic, []) == []


def test_the_same_over_tls_and_who_may_not(broker: Broker, topic: str) -> None:
    entries = [message(n, b"%d" % n) for n in range(5)]
    ledger = publish(broker, topic, entries)[0][0]
    keys, path = broker.identity, f"{topic}/{ledger}"
    with_tls = {"service_url": broker.service_tls_url, "admin_url": broker.admin_tls_url, "ca_file": str(keys.ca)}
    assert list(place_of(broker, **with_tls).entries(path, 0, 4, 100)) == list(enumerate(bodies(entries)))
    with pytest.raises(SourceError, match="permission_denied"):
        list(place_of(broker, token_file=str(keys.token("nobody"))).entries(path, 0, 4, 100))
    with pytest.raises(SourceError, match="no TLS"):
        place_of(broker, **{**with_tls, "ca_file": None}).knock(topic)
    certified = {**with_tls, "token_file": None, "cert_file": str(keys.client_cert), "key_file": str(keys.client_key)}
    assert list(place_of(broker, **certified).entries(path, 0, 4, 100)) == list(enumerate(bodies(entries)))
    with pytest.raises(SourceError):
        list(place_of(broker, **{**certified, "cert_file": None, "key_file": None}).entries(path, 0, 4, 100))


def test_a_reader_that_is_killed_leaves_no_trace(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str
) -> None:
    ledger = publish(broker, topic, [message(n, os.urandom(3000)) for n in range(300)])[0][0]
    client.subscribe(topic, "s", initial_position=InitialPosition.Earliest).close()
    before = admin.cursors(topic)
    where = (broker.service_url, broker.admin_url, str(broker.token_file), f"{topic}/{ledger}")
    reading = subprocess.Popen(
        [sys.executable, "-c", _READ, *where], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "lib")},
    )  # fmt: skip
    assert reading.stdout is not None
    assert reading.stdout.readline() == "reading\n"
    during = subscriptions(admin, topic)
    assert len(during) == 2  # so it was there
    reading.kill()
    reading.wait()
    reading.stdout.close()
    assert subscriptions_soon(admin, topic, ["s"]) == ["s"]
    assert admin.cursors(topic) == before
    admin.request("PUT", f"/v2/{topic.replace('://', '/')}/unload")  # nor in what a broker reads from its store
    assert (subscriptions(admin, topic), admin.cursors(topic)) == (["s"], before)


_READ = """
import sys, time
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.service import Live
service, admin, token, path = sys.argv[1:]
entries = LivePlace(Live(service, admin, None, 1 << 40, token)).entries(path, 0, 299, 100_000)
next(entries)
print("reading", flush=True)
time.sleep(60)
"""


def test_a_ledger_that_is_gone_and_a_range_beyond_the_end(
    broker: Broker, admin: Admin, topic: str, tmp_path: Path
) -> None:
    ledger = publish(broker, topic, [message(n, b"%d" % n) for n in range(3)])[0][0]
    with pytest.raises(SourceError, match="entry 999999:0"):
        list(place_of(broker, timeout_seconds=1).entries(f"{topic}/999999", 0, 2, 100))
    assert not any(isinstance(one, Hidden) for one in place_of(broker).entries(f"{topic}/{ledger}", 0, 2, 100))
    code, said = said_by([
        "audit", broker.service_url, "--admin-url", broker.admin_url, "--token-file", str(broker.token_file),
        "--topic", "lab/live/there-is-none-*", "--out", str(tmp_path / "out"),
    ])  # fmt: skip
    assert (code, len(said)) == (2, 1)
