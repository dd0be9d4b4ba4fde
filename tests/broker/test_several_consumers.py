"""Several consumers on one subscription of a real broker: what it does, what the audit, forecast and plan say of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulsar
import pytest
from pulsar import ConsumerType, InitialPosition
from pyspark.sql import SparkSession

from pulsar_backlog.chunks.dispatch.forecast import StoredEntry, consumers_of, forecast
from pulsar_backlog.report.outlook import consumer_words
from pulsar_backlog.terms import EXIT_UNCHANGED, Position
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.broker.conftest import Admin
from tests.broker.live_audit import LiveAudit
from tests.broker.process import Broker
from tests.broker.publishing import chunks, message, publish
from tests.broker.repairing import repair, said_by
from tests.broker.test_repair_states import planned, results

TYPES = {"Shared": ConsumerType.Shared, "Key_Shared": ConsumerType.KeyShared}
LONGEST_S = 12
QUIET_S = 1.0

Entry = tuple[MessageMetadata, bytes]


def entries_of(tokens: str) -> list[Entry]:
    """`A0/3` is chunk 0 of 3 of message A, `.B` a message that is no chunk; each with its name as its key."""
    whole: dict[str, list[Entry]] = {}
    entries = []
    for number, token in enumerate(tokens.split()):
        if token.startswith("."):
            entry = message(100 + number, token[1:].encode())
        else:
            label, chunk, count = token[0], int(token[1]), int(token[3])
            if label not in whole:
                whole[label] = chunks(ord(label), label.encode() * 300, count, range(count))
            entry = whole[label][chunk]
        entry[0].partition_key = token.lstrip(".")[0].encode()
        entries.append(entry)
    return entries


def stored_entries(entries: list[Entry]) -> list[StoredEntry]:
    """The same for a forecast."""
    return [
        StoredEntry(m.uuid.decode(), m.chunk_id, m.num_chunks_from_msg, m.partition_key.decode())
        if m.num_chunks_from_msg
        else StoredEntry("", None, None, m.partition_key.decode())
        for m, _ in entries
    ]


def incomplete(entries: list[Entry]) -> int:
    """Chunks of messages whose last chunk is not stored."""
    ends = {m.uuid for m, _ in entries if m.num_chunks_from_msg and m.chunk_id == m.num_chunks_from_msg - 1}
    return sum(bool(m.num_chunks_from_msg) and m.uuid not in ends for m, _ in entries)


class Group:
    """Python consumers of one subscription, each of which acknowledges what it gets.

    Attributes:
        got: messages by their first letter, and how often each came.
    """

    def __init__(self, client: pulsar.Client, admin: Admin, topic: str, dispatch: str) -> None:
        self.got: Counter[str] = Counter()
        self._client = client
        self._admin = admin
        self._topic = topic
        self._type = TYPES[dispatch]
        self._consumers: dict[str, pulsar.Consumer] = {}

    def join(self, name: str) -> None:
        self._consumers[name] = self._client.subscribe(
            self._topic, "s", consumer_type=self._type, consumer_name=name, message_listener=self._take,
            initial_position=InitialPosition.Earliest,
        )  # fmt: skip

    def leave(self, name: str) -> None:
        self._consumers.pop(name).close()

    def close(self) -> None:
        for name in list(self._consumers):
            self.leave(name)

    def event(self, event: str) -> None:
        verb, _, who = event.partition(" ")
        if event == "unload":
            self._admin.request("PUT", f"/v2/persistent/{self._topic.removeprefix('persistent://')}/unload")
        elif event == "restart":
            names = list(self._consumers)
            self.close()
            for name in names:
                self.join(f"new-{name}")
        elif verb == "join":
            self.join(f"c{len(self._consumers) + 1}")
        else:
            self.leave(who)

    def _take(self, consumer: pulsar.Consumer, received: pulsar.Message) -> None:
        self.got[received.data()[:1].decode()] += 1
        consumer.acknowledge(received)

    def settled(self) -> tuple[int, int]:
        """Messages that came, and the backlog, when neither changes any more."""
        seen, since, ends = (-1, -1), time.monotonic(), time.monotonic() + LONGEST_S
        while time.monotonic() < ends and time.monotonic() - since < QUIET_S:
            now = sum(self.got.values()), self.backlog()
            if now != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.05)
        return seen

    def backlog(self) -> int:
        return int(self._admin.get(self._topic, "stats")["subscriptions"]["s"]["msgBacklog"])


@pytest.fixture
def group(client: pulsar.Client, admin: Admin, topic: str) -> Iterator[Callable[[str], Group]]:
    made: list[Group] = []

    def new(dispatch: str) -> Group:
        client.subscribe(topic, "s", consumer_type=TYPES[dispatch], initial_position=InitialPosition.Earliest).close()
        made.append(Group(client, admin, topic, dispatch))
        return made[-1]

    yield new
    for one in made:
        one.close()


@pytest.mark.parametrize(
    ("dispatch", "tokens", "consumers", "event"),
    [
        pytest.param("Shared", "A0/2 .B C0/2 A1/2 C1/2 .D", 1, "", id="whole messages"),
        pytest.param("Shared", "A0/3 B0/3 A1/3 B1/3 C0/2 A2/3 B2/3 C1/2", 3, "", id="interleaved, three consumers"),
        pytest.param("Shared", "A1/3 A2/3 .B C0/2 C1/2", 2, "", id="headless, one batch"),
        pytest.param("Shared", "A0/3 A1/3 .B", 2, "unload", id="open message, unload"),
        pytest.param("Shared", "A0/3 A1/3 .B", 2, "restart", id="open message, restart"),
        pytest.param("Shared", "A0/3 A2/3 .B", 1, "", id="gap"),
        pytest.param("Shared", "A1/2 .B", 2, "join python", id="headless, one joins"),
        pytest.param("Shared", "A0/3 .B A1/3", 2, "leave c1", id="open message, one leaves"),
        pytest.param("Key_Shared", "A0/2 B0/2 A1/2 .C B1/2", 2, "", id="Key_Shared"),
        pytest.param("Key_Shared", "A0/3 .A A1/3 .B", 2, "leave c1", id="Key_Shared, one leaves"),
    ],
)
def test_a_broker_does_what_a_forecast_says(
    broker: Broker, topic: str, group: Callable[[str], Group], dispatch: str, tokens: str, consumers: int, event: str
) -> None:
    entries = entries_of(tokens)
    members = group(dispatch)
    publish(broker, topic, entries)
    stages = forecast(
        stored_entries(entries), consumers_of(f"python x {consumers}", 1000), [event] if event else [],
        broker="4.0", dispatch=dispatch,  # type: ignore[arg-type]
    )  # fmt: skip
    for number in range(consumers):
        members.join(f"c{number + 1}")
    seen = [members.settled()]
    if event:
        members.event(event)
        seen.append(members.settled())
    still_open = incomplete(entries)  # a forecast waits until clients give them up, a test does not
    for stage, (came, left) in zip(stages, seen, strict=True):
        assert stage.delivered[0] <= came <= stage.delivered[1], (stage.event, members.got)
        assert stage.certain.backlog[0] <= left <= stage.certain.backlog[1] + still_open, (stage.event, members.got)


def held_up(out: Path) -> list[dict[str, Any]]:
    """What the audit says of the subscription."""
    code, rows = said_by(["sql", str(out), "SELECT * FROM held_up_subscriptions", "--format", "jsonl"])
    assert code == 0, rows
    return [row for row in rows if row]  # no row is an empty line


def applied(broker: Broker, plan: Path, *flags: str) -> None:
    """The dry run changes nothing; then it is done and verified."""
    code, told = repair(broker, "apply", plan, *flags)
    assert (code, set(results(told))) == (0, {"fits"}), told
    code, told = repair(broker, "apply", plan, "--yes", *flags)
    assert (code, set(results(told))) == (0, {"done"}), told


def sent_while_c1_leaves(broker: Broker, topic: str, members: Group, entries: list[Entry]) -> list[Position]:
    """c1 leaves in mid-message, and c2 stays: what c1 began is pinned to the dead."""
    members.join("c1")
    positions = publish(broker, topic, entries[:1])
    members.settled()
    members.join("c2")
    members.leave("c1")
    return positions + publish(broker, topic, entries[1:], "by-hand-2")


def test_chunks_pinned_to_the_dead_are_named_and_an_unload_frees_them(
    broker: Broker, admin: Admin, topic: str, group: Callable[[str], Group], tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/3 A1/3 A2/3 B0/2 B1/2")
    members = group("Shared")
    positions = sent_while_c1_leaves(broker, topic, members, entries)
    assert members.settled() == (1, 3)  # B; A is with nobody
    (connected,) = admin.get(topic, "stats")["subscriptions"]["s"]["consumers"]
    words, whose = consumer_words([connected["clientVersion"]], 1)  # as a report forecasts it
    assert (words.split()[0], whose) == ("cpp", "saved"), connected["clientVersion"]
    live = LiveAudit(tmp_path, broker, topic, entries, positions)
    out = live.audit("before")
    assert [(row["kind"], row["remedy"]) for row in held_up(out)] == [("pinned_to_dead", "unload")]
    code, rows = said_by(
        ["forecast", str(out), "--topic", topic, "--subscription", "s", "--consumers", "python", "--event", "unload"]
    )
    assert (code, rows[0]["verdict"].startswith("After unload: it drains")) == (0, True), rows

    plan, said = planned(capsys, out)
    (action,) = (one for one in said if one["record"] == "repair_action" and one["kind"] != "settings")
    assert (action["kind"], action["cause"], action["subscription"]) == ("unload", "pinned_to_dead", "s")
    applied(broker, plan)
    assert members.settled() == (2, 0)
    code, told = repair(broker, "verify", plan)
    assert (code, results(told)) == (0, ["verified"]), told
    assert held_up(live.audit("after")) == []


def test_an_unload_that_frees_nothing_any_more_is_not_done(
    broker: Broker, topic: str, group: Callable[[str], Group], tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/2 A1/2")
    members = group("Shared")
    positions = sent_while_c1_leaves(broker, topic, members, entries)
    assert members.settled() == (0, 2)
    plan, _said = planned(capsys, LiveAudit(tmp_path, broker, topic, entries, positions).audit("out"))
    members.leave("c2")
    members.join("c3")  # all had left, so all comes again
    assert members.settled() == (1, 0)
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (EXIT_UNCHANGED, ["already"]), told


def test_a_headless_chunk_that_blocks_is_acknowledged_by_the_plan_and_the_rest_comes(
    broker: Broker, topic: str, group: Callable[[str], Group], tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of(".P A1/2 .B C0/2 C1/2")
    members = group("Shared")
    for name in ("c1", "c2"):
        members.join(name)
    positions = []
    for number, entry in enumerate(entries):  # one by one, so that none is read together with another
        positions += publish(broker, topic, [entry], f"by-hand-{number}")
        members.settled()
    assert members.settled() == (1, 4)
    out = LiveAudit(tmp_path, broker, topic, entries, positions).audit("out")
    assert "headless_chunk" in [row["kind"] for row in held_up(out)]
    plan, said = planned(capsys, out, accept_unsure="cannot_tell")
    actions = [one for one in said if one["record"] == "repair_action" and one["kind"] != "settings"]
    assert actions, said
    (action,) = actions
    assert (action["kind"], action["entries"]) == ("acknowledge", 1)
    applied(broker, plan, "--allow-consumers")
    assert members.settled() == (3, 0)


def test_a_join_in_mid_message_holds_up_key_shared_until_the_owner_leaves(
    broker: Broker, topic: str, group: Callable[[str], Group], tmp_path: Path, spark: SparkSession
) -> None:
    labels = "ABCDEFGH"
    entries = entries_of(" ".join([*(f"{one}0/2" for one in labels), *(f"{one}1/2" for one in labels)]))
    members = group("Key_Shared")
    members.join("c1")
    positions = publish(broker, topic, entries[:8])
    members.settled()
    members.join("c2")
    positions += publish(broker, topic, entries[8:], "by-hand-2")
    came, left = members.settled()
    assert 0 < came < 8  # keys that stayed with c1
    assert left == 2 * (8 - came)
    out = LiveAudit(tmp_path, broker, topic, entries, positions).audit("out")
    (reason,) = (row for row in held_up(out) if row["kind"] == "draining_hashes")
    assert (reason["remedy"], "of c1 drain" in reason["evidence"]) == ("let_leave", True)
    members.leave("c1")
    assert members.settled() == (8, 0)


def audited(broker: Broker, out: Path, topics: str) -> None:
    """Audit live topics and export their messages, by the commands that users type."""
    token = ["--token-file", str(broker.token_file)]
    live = ["--admin-url", broker.admin_url, "--topic", topics, "--out", str(out), "--fail-on", "never"]
    code, said = said_by(["audit", broker.service_url, *live, *token])
    assert code == 0, said
    code, said = said_by(["export", str(out), "--admin-url", broker.admin_url, *token])
    assert code == 0, said


def test_dead_letters_that_left_chunks_at_the_source_are_acknowledged_when_their_copy_is_whole(
    broker: Broker, client: pulsar.Client, topic: str, group: Callable[[str], Group], tmp_path: Path,
    spark: SparkSession, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/3 A1/3 A2/3 .B")
    members = group("Shared")
    positions = publish(broker, topic, entries)
    consumer = client.subscribe(topic, "s", consumer_type=TYPES["Shared"], receiver_queue_size=0)
    for ledger, entry in positions[2:]:  # as Java 4.2 leaves it: the last chunk alone
        consumer.acknowledge(pulsar.MessageId(-1, ledger, entry, -1))
    consumer.close()
    origin = ";".join(f"{ledger}:{entry}:-1" for ledger, entry in (positions[0], positions[2]))
    properties = {"ORIGIN_MESSAGE_ID": origin, "REAL_SUBSCRIPTION": "s", "REAL_TOPIC": topic}
    dead_letters = client.create_producer(f"{topic}-s-DLQ")
    dead_letters.send(b"another message", properties=properties)
    audited(broker, tmp_path / "before", f"{topic}*")
    assert "dead_letters_left" in [row["kind"] for row in held_up(tmp_path / "before")]
    _plan, said = planned(capsys, tmp_path / "before")
    assert [one for one in said if one["record"] == "repair_action" and one["kind"] != "settings"] == []
    assert any("may be a dead letter" in one["why"] for one in said if one["record"] == "held_back")

    dead_letters.send(b"A" * 300, properties=properties)
    audited(broker, tmp_path / "after", f"{topic}*")
    plan, said = planned(capsys, tmp_path / "after")
    actions = [one for one in said if one["record"] == "repair_action" and one["kind"] != "settings"]
    assert len(actions) == 1, said
    (action,) = actions
    assert (action["kind"], action["cause"], action["entries"]) == ("acknowledge", "dead_lettered", 2)
    applied(broker, plan, "--allow-consumers")
    assert members.backlog() == 0
    assert results(repair(broker, "verify", plan)[1]) == ["verified"]
