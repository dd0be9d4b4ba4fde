"""What `repair apply` prints to type next is typed, against the broker that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pulsar
from pulsar import ConsumerType, InitialPosition

from pulsar_backlog.repair.values import Action
from tests.broker.process import Broker
from tests.broker.publishing import message, publish
from tests.broker.repairing import apply_on_a_terminal, make_plan, runs
from tests.cli.typed import typed


def test_the_verify_that_apply_prints(broker: Broker, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    """With a folder that a shell would take apart, and all that the brokers ask for."""
    client.subscribe(
        topic, "s", consumer_type=ConsumerType.Shared, initial_position=InitialPosition.Earliest
    ).close()  # fmt: skip
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(4)])
    plan = make_plan(tmp_path / "plan of 'today'", [Action(0, "acknowledge", topic, "r", "s", runs(positions[1:3]))])
    shown = apply_on_a_terminal(broker, plan)
    (command,) = re.findall(r"^Next: (pulsar-backlog .*?)\r?$", shown, re.MULTILINE)
    done = typed(command)
    assert (done.code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"] == "verified"
