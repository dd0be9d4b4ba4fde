"""`snapshot` against a real broker: what it saves is what the broker says, and the broker stays as it was."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pulsar
import pytest

from pulsar_backlog.cli import run_cli
from pulsar_backlog.cluster.admin_json import read_cluster_state
from tests.broker.conftest import NAMESPACE, Admin
from tests.broker.process import Broker
from tests.broker.publishing import batch, chunks, message, publish

HOSTILE = (
    '[br]{ace}|\\^`"<>',
    "ünï-✓",
    "a b+c%20d~*'()!@#?x=1&y;z,:",
    "..",
    "x__y%2Fz",
    "Case",
    "case",
    "L" * 300,
    "name.stats",
)


def run(monkeypatch: pytest.MonkeyPatch, *argv: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["pulsar-backlog", "snapshot", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    return int(ended.value.code or 0)


def saved(folder: Path, kind: str) -> dict[str, Any]:
    """Documents of a kind by file name."""
    return {path.name: json.loads(path.read_bytes()) for path in folder.glob(f"*.{kind}.json")}


def test_subscriptions_of_every_type(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = {
        "shared sub/é": pulsar.ConsumerType.Shared,
        "key-shared": pulsar.ConsumerType.KeyShared,
        "exclusive": pulsar.ConsumerType.Exclusive,
        "failover": pulsar.ConsumerType.Failover,
    }
    consumers = {
        name: client.subscribe(
            topic, name, consumer_type=type_, receiver_queue_size=0, initial_position=pulsar.InitialPosition.Earliest
        )
        for name, type_ in types.items()
    }
    whole = [message(n, b"one") for n in range(4)]
    orphan = chunks(10, b"x" * 3000, 3, [0, 1])  # the last chunk never comes
    headless = chunks(11, b"y" * 3000, 3, [1, 2])
    positions = publish(broker, topic, [*whole, *orphan, *headless, batch(12, [b"a", b"b", b"c"])])
    for name, consumer in consumers.items():
        for ledger, entry in (positions[1], positions[5]):
            consumer.acknowledge(pulsar.MessageId(-1, ledger, entry, -1))
        if name == "failover":
            consumer.acknowledge_cumulative(pulsar.MessageId(-1, *positions[3], -1))
    partly = client.subscribe(
        topic, "batch-index", consumer_type=pulsar.ConsumerType.Shared, batch_index_ack_enabled=True,
        initial_position=pulsar.InitialPosition.Earliest,
    )  # fmt: skip
    for _ in range(6):
        received = partly.receive(5000)
        if received.data() in (b"one", b"b"):
            partly.acknowledge(received)
    _settle(admin, topic, positions[0][0])
    before = _everything(admin, [topic])

    assert run(monkeypatch, "--admin-url", broker.admin_url, "--token-file", broker.token_file,
               "--topic", topic, "--out", tmp_path / "s") == 0  # fmt: skip

    after = _everything(admin, [topic])
    assert after == before
    (live,) = saved(tmp_path / "s", "internalStats").values()
    ledger = positions[0][0]
    dead = f"({ledger}:0..{ledger}:1],({ledger}:4..{ledger}:5]"
    acked = {name: (c["markDeletePosition"], c["individuallyDeletedMessages"]) for name, c in live["cursors"].items()}
    assert acked == {
        "shared+sub%2F%C3%A9": (f"{ledger}:-1", f"[{dead}]"),
        "key-shared": (f"{ledger}:-1", f"[{dead}]"),
        "exclusive": (f"{ledger}:-1", f"[{dead}]"),
        "failover": (f"{ledger}:3", f"[({ledger}:4..{ledger}:5]]"),
        "batch-index": (f"{ledger}:3", "[]"),
    }
    state = read_cluster_state(tmp_path / "s", {})
    assert state.findings == ()
    assert {name: found.type for name, found in state.topics[topic].subscriptions.items()} == {
        "shared sub/é": "Shared", "key-shared": "Key_Shared", "exclusive": "Exclusive",
        "failover": "Failover", "batch-index": "Shared",
    }  # fmt: skip
    assert state.topics[topic].last_confirmed == positions[-1]


def test_topics_with_hostile_names(
    broker: Broker, admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.request("PUT", "/v2/namespaces/lab/odd__name", {})
    admin.request("PUT", "/namespaces/lab/standalone/old", {})
    admin.request("PUT", "/v2/persistent/lab/odd__name/parts/partitions", 3)
    topics = [f"persistent://lab/odd__name/{local}" for local in HOSTILE] + ["persistent://lab/standalone/old/v1 topic"]
    ledgers = {name: publish(broker, name, [message(0, b"x")])[0] for name in topics}

    assert run(monkeypatch, "--admin-url", broker.admin_url, "--token-file", broker.token_file, "--out", tmp_path / "s",
               "--topic", "lab/odd__name/*", "--topic", "persistent://lab/standalone/*") == 0  # fmt: skip

    said = json.loads(capsys.readouterr().out)
    assert (said["not_saved"], said["unknown"]) == ({}, [])
    system = {"persistent://lab/standalone/old/__change_events"}  # the listing of V1 does not leave it out
    state = read_cluster_state(tmp_path / "s", {})
    assert state.findings == ()
    parts = {f"persistent://lab/odd__name/parts-partition-{n}" for n in range(3)}
    assert set(state.topics) - system == {*topics, *parts}
    assert {name: state.topics[name].last_confirmed for name in topics} == ledgers
    names = [path.name.casefold() for path in (tmp_path / "s").iterdir()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("persistent://lab/globs/parts", ["parts-partition-0", "parts-partition-1"]),  # the whole names its partitions
        ("lab/globs/parts-partition-1", ["parts-partition-1"]),
        ("lab/globs/x-partition-[57]", ["x-partition-5"]),  # no partition: there is no topic x
        ("*/globs/[ab]*", ["a", "b"]),
    ],
)
def test_which_topics_a_glob_takes(
    broker: Broker, admin: Admin, glob: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "lab/globs" not in admin.request("GET", "/v2/namespaces/lab"):
        admin.request("PUT", "/v2/namespaces/lab/globs", {})
        admin.request("PUT", "/v2/persistent/lab/globs/parts/partitions", 2)
        for name in ("a", "b", "c", "x-partition-5"):
            publish(broker, f"persistent://lab/globs/{name}", [message(0, b"x")])
    assert run(monkeypatch, "--admin-url", broker.admin_url, "--token-file", broker.token_file,
               "--topic", glob, "--out", tmp_path / "s") == 0  # fmt: skip
    assert sorted(read_cluster_state(tmp_path / "s", {}).topics) == [f"persistent://lab/globs/{name}" for name in found]


def test_tls_token_and_mutual_tls(
    broker: Broker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(broker, topic, [message(0, b"x")])
    keys = broker.identity
    nobody = keys.token("nobody")
    base = ("--admin-url", broker.admin_tls_url, "--topic", topic)
    assert run(monkeypatch, *base, "--out", tmp_path / "a", "--token-file", broker.token_file) == 4
    assert "--ca-file" in capsys.readouterr().err
    assert run(monkeypatch, *base, "--out", tmp_path / "b", "--ca-file", keys.ca) == 4
    assert "asks for authentication (401)" in capsys.readouterr().err
    assert run(monkeypatch, *base, "--out", tmp_path / "c", "--ca-file", keys.ca, "--token-file", nobody) == 4
    assert "has no permission for this (403)" in capsys.readouterr().err
    monkeypatch.setenv("PULSAR_BACKLOG_TOKEN", keys.token("admin").read_text())
    assert run(monkeypatch, *base, "--out", tmp_path / "d", "--ca-file", keys.ca) == 0
    monkeypatch.delenv("PULSAR_BACKLOG_TOKEN")
    assert run(monkeypatch, *base, "--out", tmp_path / "e", "--ca-file", keys.ca,
               "--cert-file", keys.client_cert, "--key-file", keys.client_key) == 0  # fmt: skip


def test_a_role_that_administers_one_tenant_only(
    broker: Broker, admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.request("PUT", "/v2/tenants/one", {"adminRoles": ["one"], "allowedClusters": ["standalone"]})
    admin.request("PUT", "/v2/namespaces/one/space", {})
    publish(broker, "persistent://one/space/t", [message(0, b"x")])
    token = broker.identity.token("one")
    base = ("--admin-url", broker.admin_url, "--token-file", token)
    assert run(monkeypatch, *base, "--topic", "one/space/*", "--out", tmp_path / "s") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["saved"] == 1
    assert any("configuration/runtime" in sentence for sentence in said["unknown"])
    assert run(monkeypatch, *base, "--out", tmp_path / "all") == 4  # may not list tenants
    assert "/admin/v2/tenants" in capsys.readouterr().err


def test_settings_and_policies(broker: Broker, admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.request("PUT", "/v2/namespaces/lab/rules", {})
    admin.request("POST", "/v2/namespaces/lab/rules/retention", {"retentionTimeInMinutes": 7, "retentionSizeInMB": 8})
    admin.request("POST", "/v2/namespaces/lab/rules/messageTTL", 99)
    admin.request("POST", "/v2/namespaces/lab/rules/deduplication", True)
    admin.request("POST", "/v2/namespaces/lab/rules/offloadPolicies", {
        "managedLedgerOffloadDriver": "aws-s3", "managedLedgerOffloadBucket": "b",
        "s3ManagedLedgerOffloadCredentialId": "hidden", "s3ManagedLedgerOffloadCredentialSecret": "hidden",
        "s3ManagedLedgerOffloadRegion": "us-east-1",
    })  # fmt: skip
    publish(broker, "persistent://lab/rules/t", [message(0, b"x")])
    assert run(monkeypatch, "--admin-url", broker.admin_url, "--token-file", broker.token_file,
               "--topic", "lab/rules/t", "--out", tmp_path / "s") == 0  # fmt: skip
    cluster = json.loads((tmp_path / "s" / "cluster.json").read_bytes())
    assert cluster["version"] == "4.0.8"
    assert cluster["settings"]["managedLedgerMaxUnackedRangesToPersist"] == "10000"
    (policies,) = saved(tmp_path / "s", "policies").values()
    assert policies["retention"] == {"retentionTimeInMinutes": 7, "retentionSizeInMB": 8}
    assert (policies["messageTTL"], policies["deduplicationEnabled"]) == (99, True)
    assert policies["offloadPolicies"]["managedLedgerOffloadBucket"] == "b"
    everything = b"".join(path.read_bytes() for path in (tmp_path / "s").iterdir())
    assert b"hidden" not in everything
    assert broker.token_file.read_bytes() not in everything


def _settle(admin: Admin, topic: str, ledger: int) -> None:
    """Wait until the broker has seen the acknowledgements that the clients hold back for a moment."""
    for _ in range(50):
        cursors = admin.cursors(topic)
        if cursors["batch-index"][0] == f"{ledger}:3" and all(c != (f"{ledger}:-1", "[]") for c in cursors.values()):
            time.sleep(1.5)  # and written it to the cursors' ledgers
            return
        time.sleep(0.1)
    pytest.fail(f"acknowledgements did not arrive: {cursors}")


def _everything(admin: Admin, topics: list[str]) -> list[Any]:
    """What the broker says about topics, but for what changes with each question."""
    listing = [admin.request("GET", f"/v2/persistent/{NAMESPACE}"), admin.request("GET", f"/v2/namespaces/{NAMESPACE}")]
    stored = [admin.get(topic, "internal-info") for topic in topics]
    for info in stored:
        info["ledgers"][-1].pop("timestamp")  # of the open ledger: the time of the answer
    live = [admin.get(topic, "internalStats") for topic in topics]
    for cursor in (cursor for stats in live for cursor in stats["cursors"].values()):
        for reading in ("subscriptionHavePendingRead", "subscriptionHavePendingReplayRead", "waitingReadOp"):
            cursor.pop(reading)  # the dispatcher's own doing for the consumers that are connected
    return [*listing, *stored, *live]
