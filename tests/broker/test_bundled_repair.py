"""From the audit of the bundled backlog to a drained subscription on a live broker that holds the same topic."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from pulsar_backlog.commands.repair_plan import run_plan
from tests.auditing import EXPECTED, OBJECTS, Audited, rows_of, run_job_of
from tests.broker.conftest import Admin
from tests.broker.process import Broker, running_broker
from tests.broker.repairing import repair
from tests.broker.twin import make_twin, unacked

LEDGER_ID = 20
GLOB = "*/brk-many-pending"
SUBSCRIPTION = "j-excl-e5-old"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that has given out few ledger ids."""
    with running_broker(tmp_path_factory.mktemp("fresh")) as broker:
        yield broker


def planned(bundled: Audited, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, Path]:
    """A copy of the audit with the topic's messages exported, and the plan for its subscription."""
    out = folder / "audit"
    shutil.copytree(bundled.out, out)
    run_job_of("export", "export_messages", OBJECTS, out, cluster="demo", topic=[GLOB], fail_on="never")
    capsys.readouterr()
    assert run_plan({"out": str(out), "topic": [GLOB], "subscription": [SUBSCRIPTION]}, None) == 0
    return out, Path(json.loads(capsys.readouterr().out.splitlines()[0])["folder"])


def test_a_bundled_subscription_drains_and_nothing_is_lost(
    fresh: Broker, bundled: Audited, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plan = planned(bundled, tmp_path, capsys)
    admin = Admin(fresh)
    client = pulsar.Client(
        fresh.service_url,
        authentication=pulsar.AuthenticationToken(fresh.token_file.read_text()),
        logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),
    )
    topic = make_twin(fresh, admin, client, out, LEDGER_ID, SUBSCRIPTION)
    assert admin.get(topic, "stats")["subscriptions"][SUBSCRIPTION]["msgBacklog"] == len(
        unacked(out, topic, SUBSCRIPTION)
    )
    admin.post(topic, "deduplicationEnabled", True)
    time.sleep(1)

    code, _ = repair(fresh, "apply", plan, "--yes")
    assert code == 0
    code, said = repair(fresh, "verify", plan)
    assert (code, {one["result"] for one in said}) == (0, {"verified"})

    received = []
    consumer = client.subscribe(topic, SUBSCRIPTION, consumer_type=pulsar.ConsumerType.Shared)
    while True:
        try:
            message = consumer.receive(3000)
        except pulsar.Timeout:
            break
        received.append(hashlib.sha256(message.data()).hexdigest())
        consumer.acknowledge(message)
    consumer.close()
    client.close()
    lines = map(json.loads, (EXPECTED / "sent" / "sent-broken.jsonl").read_text().splitlines())
    sent = {line["uuid"]: line["full_sha"] for line in lines if line.get("topic") == topic and "uuid" in line}
    assert received == [sent["many-0"], sent["many-1"], sent["many-2"]]
    assert admin.get(topic, "stats")["subscriptions"][SUBSCRIPTION]["msgBacklog"] == 0

    (row,) = (row for row in rows_of(out, "repair_plans") if row["plan_id"] == plan.name)
    assert row["state"] == "verified"
    trail = {row["action"]: row for row in rows_of(out, "repair_actions") if row["plan_id"] == plan.name}
    assert [step["status"] for step in trail[4]["trail"]] == ["begun", "done", "verified"]
    assert trail[4]["mark_delete_after"]["ledger_id"] == LEDGER_ID
