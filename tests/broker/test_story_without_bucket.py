"""docs/repair.md, "Without a bucket": its commands, as they are written, drain a stalled topic of a real broker."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pulsar
from pulsar import ConsumerType, InitialPosition

from tests.broker.conftest import Admin
from tests.broker.process import Broker
from tests.broker.publishing import batch, chunks, message, publish
from tests.broker.repairing import ROOT

TEN_MINUTES_MS = 600_000
PAGE = ROOT / "docs" / "repair.md"


def commands_of_page() -> list[list[str]]:
    section = PAGE.read_text().split("## Without a bucket\n", 1)[1].split("\n## ", 1)[0]
    return [shlex.split(line) for line in re.findall(r"^pulsar-backlog .*$", section, re.MULTILINE)]


def stall(broker: Broker, client: pulsar.Client, topic: str) -> None:
    """What a producer that died inside a message leaves to a subscription that acknowledged all it got."""
    entries = [
        message(0, b"zero"), batch(1, [b"a", b"b", b"c"]), *chunks(3, os.urandom(900), 3, [0, 1, 2]),
        *chunks(6, os.urandom(900), 3, [0, 1]), message(8, b"after"),
    ]  # fmt: skip
    for metadata, _ in entries:
        metadata.publish_time -= TEN_MINUTES_MS
    publish(broker, topic, entries)
    stalled = client.subscribe(
        topic, "billing", consumer_type=ConsumerType.Shared, initial_position=InitialPosition.Earliest
    )
    for _ in range(6):
        stalled.acknowledge(stalled.receive(5000))
    stalled.close()


def test_the_commands_of_the_page_drain_a_stalled_topic(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    stall(broker, client, topic)
    assert admin.get(topic, "stats")["subscriptions"]["billing"]["msgBacklog"] == 2
    named = {
        "persistent://shop/main/orders": topic, "pulsar://broker:6650": broker.service_url,
        "http://broker:8080": broker.admin_url,
    }  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "lib"), "PULSAR_BACKLOG_TOKEN": broker.token_file.read_text(),
    }  # fmt: skip
    commands = [words for _, *words in commands_of_page()]
    assert [words[:2] for words in commands] == [
        ["audit", "pulsar://broker:6650"], ["repair", "plan"], ["repair", "apply"], ["repair", "apply"],
        ["repair", "verify"],
    ]  # fmt: skip
    for words in commands:
        if plans := list(tmp_path.glob("audit/plans/*")):
            named["./audit/plans/PLAN"] = str(plans[0])
        done = subprocess.run(
            [sys.executable, "-m", "pulsar_backlog.cli", *(named.get(word, word) for word in words)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = int(words[0] == "audit")  # it says so by its exit code, too
        assert done.returncode == found, (words, done.stdout, done.stderr)
    assert admin.get(topic, "stats")["subscriptions"]["billing"]["msgBacklog"] == 0
