"""Ten nights of a topic that goes on: a subscription stalls in night 3, is mended in night 6; Airflow runs two more.

Each night a broker has taken messages, a consumer has acknowledged what it was sent, and closed ledgers were offloaded.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pulsar import ConsumerType, InitialPosition
from pyspark.sql import SparkSession

from pulsar_backlog.output.notifications import VARIABLE
from tests.auditing import Audited, rows_of, run_audit
from tests.broker.conftest import Admin, topic_path
from tests.broker.nightly_airflow import scheduler
from tests.broker.offloading import BUCKET, NAMESPACE, client_of, offload, offloading_broker
from tests.broker.process import Broker
from tests.broker.publishing import batch, chunks, message, publish
from tests.broker.repairing import repair, said_by
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.webhook import Receiver, receiver

__all__ = ["aws", "receiver", "s3_server"]

TOPIC = f"persistent://{NAMESPACE}/orders"
READER = "billing"
STALL = ("stall", "C24")
MESSAGES = 6
"""Of a day that a consumer can be sent."""
WAIT_MS = 20_000
OPTIONS = {"cluster": "live", "fail_on": "new-error", "grace_seconds": 1}


@dataclass(frozen=True)
class Evening:
    """What a night left.

    Attributes:
        changes: word in `problems` for each stall, the older first.
        backlog, exit_code: by the metrics.
    """

    changes: tuple[str, ...]
    backlog: int
    exit_code: int


class Story:
    """The broker, its topic and consumer, and a folder that holds what was offloaded."""

    def __init__(self, broker: Broker, s3_server: S3Server, folder: Path) -> None:
        self.broker, self.admin, self.folder = broker, Admin(broker), folder
        self.source, self.out, self.metrics = folder / "objects", folder / "out", folder / "audit.prom"
        self.source.mkdir()
        self._store = s3_server.client()
        client = client_of(broker)
        client.subscribe(TOPIC, READER, ConsumerType.Shared, initial_position=InitialPosition.Earliest).close()
        client.close()

    def day(self, number: int, is_broken: bool) -> Path:
        """Messages of a day, of one of which the first chunk never came; what was offloaded comes into `source`.

        Returns: a snapshot of what the broker says in the evening.
        """
        first = number * 100
        lost = chunks(first + 2, os.urandom(900), 3, [1, 2]) if is_broken else []
        entries = [message(first, b"zero"), batch(first + 1, [b"a", b"b"]), *lost]
        entries += chunks(first + 5, os.urandom(900), 3, [0, 1, 2])
        publish(self.broker, TOPIC, [*entries, message(first + 9, b"nine"), message(first + 10, b"end")])
        self._consume()
        self.admin.request("PUT", f"{topic_path(TOPIC)}/unload")
        offload(self.admin, TOPIC)
        for listed in self._store.list_objects_v2(Bucket=BUCKET)["Contents"]:
            path = self.source / listed["Key"]
            if not path.exists():
                path.write_bytes(self._store.get_object(Bucket=BUCKET, Key=listed["Key"])["Body"].read())
        return self._snapshot(f"admin-{number}")

    def _snapshot(self, name: str) -> Path:
        made = self.folder / name
        code, said = said_by([
            "snapshot", "--admin-url", self.broker.admin_url, "--token-file", str(self.broker.token_file),
            "--topic", TOPIC, "--out", str(made),
        ])  # fmt: skip
        assert code == 0, said
        return made

    def _consume(self) -> None:
        """Acknowledge what the broker delivers."""
        client = client_of(self.broker)
        consumer = client.subscribe(TOPIC, READER, ConsumerType.Shared)
        for _ in range(MESSAGES):
            consumer.acknowledge(consumer.receive(WAIT_MS))
        client.close()  # which sends acknowledgements that were held back
        time.sleep(1.2)  # the grace time

    def audit(self, admin: Path) -> Audited:
        """A night's audit from the command line."""
        return run_audit(self.source, self.out, admin=str(admin), metrics=str(self.metrics), **OPTIONS)

    def mend(self) -> None:
        """Plan the repair of the subscription from the last audit, and apply it."""
        code, said = said_by(["repair", "plan", str(self.out), "--topic", TOPIC, "--subscription", READER])
        assert code == 0, said
        plan = Path(said[0]["folder"])
        code, said = repair(self.broker, "apply", plan, "--yes")
        assert code == 0, said
        code, said = repair(self.broker, "verify", plan)
        assert (code, {one["result"] for one in said}) == (0, {"verified"}), said

    def evening(self) -> Evening:
        """What tables and metrics say after a night's audit, and whom it was told."""
        problems = sorted(rows_of(self.out, "problems"), key=lambda row: row["first_seen"])
        changes = [row["change"] for row in problems if (row["kind"], row["code"]) == STALL]
        backlog = self._number("subscription_backlog_entries", subscription=READER)
        return Evening(tuple(changes), int(backlog), int(self._number("audit_exit_code")))

    def _number(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(self.metrics.read_text())
        (value,) = (
            sample.value for family in families for sample in family.samples
            if sample.name == f"pulsar_backlog_{name}" and labels.items() <= sample.labels.items()
        )  # fmt: skip
        return float(value)


@pytest.fixture
def story(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Story]:
    with offloading_broker(s3_server, tmp_path / "broker") as broker:
        yield Story(broker, s3_server, tmp_path)


def test_ten_nights(
    story: Story, spark: SparkSession, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, receiver.address)
    evenings, titles = {}, {}
    for night in range(1, 9):
        if night == 6:
            story.mend()
        done = story.audit(story.day(night, is_broken=night == 3))
        evenings[night], titles[night] = story.evening(), [one["title"] for one in receiver.messages]
        receiver.messages.clear()
        assert done.exit_code == evenings[night].exit_code, done.stderr
    options = {**OPTIONS, "metrics": str(story.metrics)}
    airflow = scheduler(tmp_path / "home", story.source, story.out, options, {VARIABLE: receiver.address})
    failed = {}
    for night in (9, 10):
        states = airflow.night(story.day(night, is_broken=night == 9))
        failed[night] = {task for task, state in states.items() if state not in ("success", "skipped")}
        evenings[night], titles[night] = story.evening(), [one["title"] for one in receiver.messages]
        receiver.messages.clear()

    before, lasting, mended = Evening((), 0, 0), Evening(("still",), 2, 0), Evening(("healed",), 0, 0)
    assert evenings == {
        1: before, 2: before, 3: Evening(("new",), 2, 1), 4: lasting, 5: lasting, 6: mended, 7: mended, 8: mended,
        9: Evening(("healed", "new"), 2, 1), 10: Evening(("healed", "still"), 2, 0),
    }  # fmt: skip
    assert failed == {9: {"write_report"}, 10: set()}, "by Airflow only the night with news fails"
    assert {night: len(sent) for night, sent in titles.items()} == {
        night: int(night in (1, 3, 6, 9)) for night in evenings
    }, titles
    assert " healed" in titles[6][0]
    rows = sorted(rows_of(story.out, "changes"), key=lambda row: row["compared_at"])
    of_topic = [row["change"] for row in rows if (row["kind"], row["code"]) == ("finding", STALL[1])]
    assert of_topic == ["new", "healed", "back"]
