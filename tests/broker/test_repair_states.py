"""Plans from what a real broker says before and after something went wrong, applied to that broker."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pulsar
import pytest
from pulsar import ConsumerType, InitialPosition
from pyspark.sql import SparkSession

from pulsar_backlog.commands.repair_plan import run_plan
from tests.broker.conftest import Admin
from tests.broker.live_audit import LiveAudit
from tests.broker.process import Broker
from tests.broker.publishing import batch, chunks, message, publish
from tests.broker.repairing import repair


def planned(capsys: pytest.CaptureFixture[str], out: Path, **options: Any) -> tuple[Path, list[dict[str, Any]]]:
    """Make a plan; its folder, and what is said of it."""
    capsys.readouterr()
    assert run_plan({"out": str(out), **options}, None) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return Path(said[0]["folder"]), said


def results(told: list[dict[str, str]]) -> list[str]:
    return [row["result"] for row in told if row["kind"] != "settings"]


def acknowledged_as(admin: Admin, topic: str, state: tuple[str, str]) -> None:
    """Wait until the broker shows a state: clients hold acknowledgements back for a moment."""
    deadline = time.monotonic() + 10
    while admin.cursors(topic)["s"] != state and time.monotonic() < deadline:
        time.sleep(0.1)
    assert admin.cursors(topic)["s"] == state


def test_acknowledgements_that_a_rollback_lost_are_made_again(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = [
        *(message(n, b"%d" % n) for n in range(5)),
        batch(5, [b"5a", b"5b", b"5c"]), batch(6, [b"6a", b"6b", b"6c"]),
        *(message(n, b"%d" % n) for n in range(7, 10)),
    ]  # fmt: skip
    positions = publish(broker, topic, entries)
    consumer = client.subscribe(
        topic, "s", consumer_type=ConsumerType.Shared, initial_position=InitialPosition.Earliest,
        batch_index_ack_enabled=True,
    )  # fmt: skip
    for _ in range(14):
        one = consumer.receive(5000)
        if one.data() in (b"0", b"1", b"3", b"5a", b"5b", b"5c", b"6b", b"8"):
            consumer.acknowledge(one)
    consumer.close()
    ledger = positions[0][0]
    # The batch whose messages are acknowledged all, but not the other.
    earlier = (f"{ledger}:1", f"[({ledger}:2..{ledger}:3],({ledger}:4..{ledger}:5],({ledger}:7..{ledger}:8]]")
    acknowledged_as(admin, topic, earlier)
    live = LiveAudit(tmp_path, broker, topic, entries, positions)
    before = live.audit("before")

    admin.post(topic, "subscription/s/resetcursor", {"ledgerId": ledger, "entryId": 0, "partitionIndex": -1})
    acknowledged_as(admin, topic, (f"{ledger}:-1", "[]"))
    plan, said = planned(capsys, live.audit("after"), earlier=str(before))
    (action,) = (one for one in said if one["record"] == "repair_action")
    assert (action["kind"], action["cause"], action["entries"]) == ("acknowledge", "restore", 5)
    assert "The broker redelivers all of a batch of which only a part was acknowledged." in action["affects"]

    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (0, ["done"]), told
    assert results(repair(broker, "verify", plan)[1]) == ["verified"]
    assert admin.cursors(topic)["s"] == earlier
    again = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    got = [again.receive(3000).data() for _ in range(7)]
    assert got == [b"2", b"4", b"6a", b"6b", b"6c", b"7", b"9"]
    with pytest.raises(pulsar.Timeout):
        again.receive(500)
    again.close()


def test_a_cursor_inside_a_message_goes_back_to_its_first_chunk(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    payload = os.urandom(900)
    entries = [message(0, b"before"), *chunks(1, payload, 3, [0, 1, 2]), message(2, b"after")]
    positions = publish(broker, topic, entries)
    client.subscribe(
        topic, "s", consumer_type=ConsumerType.Exclusive, initial_position=InitialPosition.Earliest
    ).close()
    admin.post(topic, "subscription/s/skip/2")  # by count, as if chunks were messages
    ledger = positions[0][0]
    acknowledged_as(admin, topic, (f"{ledger}:1", "[]"))
    stuck = client.subscribe(topic, "s", consumer_type=ConsumerType.Exclusive)
    assert stuck.receive(3000).data() == b"after"  # and never the message
    stuck.close()

    plan, said = planned(capsys, LiveAudit(tmp_path, broker, topic, entries, positions).audit("out"))
    (action,) = (one for one in said if one["record"] == "repair_action" and one["kind"] != "settings")
    assert (action["kind"], action["subscription"]) == ("reset_cursor", "s")
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (0, ["done"]), told
    assert results(repair(broker, "verify", plan)[1]) == ["verified"]
    assert admin.cursors(topic)["s"] == (f"{ledger}:0", "[]")
    right = client.subscribe(topic, "s", consumer_type=ConsumerType.Exclusive)
    assert [right.receive(3000).data() for _ in range(2)] == [payload, b"after"]
    right.close()
