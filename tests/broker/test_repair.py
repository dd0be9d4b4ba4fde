"""Repairs of a real broker's topics: what was stuck moves, nothing is done twice, and nothing else changes."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pulsar
import pytest
from pulsar import ConsumerType, InitialPosition

from pulsar_backlog.repair.values import Action
from pulsar_backlog.terms import Position
from tests.broker.conftest import NAMESPACE, Admin
from tests.broker.identity import encryption_keys
from tests.broker.process import Broker
from tests.broker.publishing import chunks, message, publish
from tests.broker.repairing import killed_at, make_plan, message_of, repair, runs, started

STEPS = ("before-intent", "after-intent", "after-action", "torn-result", "after-result")


def subscribed(client: pulsar.Client, topic: str, kind: ConsumerType = ConsumerType.Shared, name: str = "s") -> None:
    """Make a subscription, and leave it without consumers."""
    client.subscribe(topic, name, consumer_type=kind, initial_position=InitialPosition.Earliest).close()


def drained(consumer: pulsar.Consumer, timeout_ms: int = 1500) -> list[bytes]:
    """Receive and acknowledge until nothing comes."""
    received = []
    while True:
        try:
            one = consumer.receive(timeout_ms)
        except pulsar.Timeout:
            return received
        received.append(one.data())
        consumer.acknowledge(one)


def words(told: list[dict[str, str]]) -> list[str]:
    return [row["result"] for row in told]


def test_a_stalled_shared_subscription_drains(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic)
    positions = publish(broker, topic, [
        message(0, b"before"), *chunks(1, b"x" * 300, 3, [0, 1]),
        *chunks(2, b"y" * 300, 3, [1, 2]), message(3, b"after"),
    ])  # fmt: skip
    consumer = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    got = drained(consumer)
    assert admin.get(topic, "stats")["subscriptions"]["s"]["msgBacklog"] >= 4  # stuck
    ledger = positions[0][0]
    where = admin.cursors(topic)["s"][0].split(":")
    plan = make_plan(tmp_path / "plan", [
        Action(0, "acknowledge", topic, "its producer was killed", "s", runs(positions[1:3]),
               expected_mark_delete=(int(where[0]), int(where[1]))),
        Action(1, "acknowledge", topic, "its first chunk is gone", "s", runs(positions[3:5])),
        Action(2, "settings", topic, "raise the send timeout"),
    ])  # fmt: skip

    code, told = repair(broker, "apply", plan)
    assert (code, words(told)[:2]) == (1, ["refused", "refused"])
    assert "1 consumer is connected: stop them, or say --allow-consumers" in told[0]["note"]
    code, told = repair(broker, "apply", plan, "--allow-consumers")
    assert (code, words(told)) == (0, ["fits", "fits", "advice"])
    assert not (plan / "journal.jsonl").exists()  # a dry run
    assert repair(broker, "verify", plan)[0] == 1  # not yet

    code, told = repair(broker, "apply", plan, "--allow-consumers", "--yes")
    assert words(told)[:2] == ["done", "done"]
    assert sorted(got + drained(consumer)) == [b"after", b"before"]
    assert admin.cursors(topic)["s"] == (f"{ledger}:{positions[-1][1]}", "[]")
    code, told = repair(broker, "verify", plan)
    assert (code, words(told)) == (0, ["verified", "verified"])
    assert words(repair(broker, "apply", plan, "--allow-consumers", "--yes")[1])[:2] == ["already", "already"]


@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Failover, ConsumerType.KeyShared])
def test_single_entries_of_every_subscription_type(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, kind: ConsumerType, tmp_path: Path
) -> None:
    subscribed(client, topic, kind)
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(6)])
    type_ = {ConsumerType.KeyShared: "Key_Shared"}.get(kind, kind.name)
    plan = make_plan(tmp_path / "plan", [
        Action(0, "acknowledge", topic, "r", "s", runs([positions[2], positions[4]]), expected_type=type_)
    ])  # fmt: skip
    consumer = client.subscribe(topic, "s", consumer_type=kind)
    code, told = repair(broker, "apply", plan, "--yes", "--allow-consumers")
    assert (code, words(told)) == (1, ["refused"])
    assert f"{type_} does not let our client connect beside them" in told[0]["note"]
    consumer.close()
    assert words(repair(broker, "apply", plan, "--yes")[1]) == ["done"]
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    admin.request("PUT", f"/v2/persistent/{topic.removeprefix('persistent://')}/unload")
    consumer = client.subscribe(topic, "s", consumer_type=kind)
    assert drained(consumer) == [b"0", b"1", b"3", b"5"]


def test_skip_cumulative_and_reset(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic, ConsumerType.Failover)
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(9)])
    ledger = positions[0][0]
    one = client.subscribe(topic, "s", consumer_type=ConsumerType.Failover, receiver_queue_size=1)
    one.acknowledge(pulsar.MessageId(-1, *positions[1], -1))
    one.close()
    plan = make_plan(tmp_path / "plan", [
        Action(0, "skip", topic, "r", "s", runs([positions[1], positions[2]])),  # 0 comes first
        Action(1, "skip", topic, "r", "s", runs([positions[0], positions[2]])),  # over the hole
        Action(2, "acknowledge_cumulative", topic, "r", "s", runs(positions[3:5]), target=positions[5]),
        Action(3, "acknowledge_cumulative", topic, "r", "s", runs(positions[3:6]), target=positions[5]),
        Action(4, "reset_cursor", topic, "r", "s", target=(ledger, 99)),
        Action(5, "reset_cursor", topic, "r", "s", target=(ledger + 5000, 0)),
        Action(6, "reset_cursor", topic, "r", "s", target=positions[4]),
    ])  # fmt: skip
    _, told = repair(broker, "apply", plan, "--yes")
    assert words(told) == ["refused", "done", "refused", "done", "refused", "refused", "done"]
    assert "skipping would skip others too" in told[0]["note"]
    assert admin.cursors(topic)["s"] == (f"{ledger}:3", "[]")
    again = repair(broker, "apply", plan, "--yes")[1]
    assert [word for word in words(again) if word == "done"] == []
    assert admin.cursors(topic)["s"] == (f"{ledger}:3", "[]")


def test_a_message_that_python_clients_lose_is_received_once(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic)
    payload = os.urandom(200_000)  # more than one entry takes
    positions = publish(broker, topic, [*chunks(1, payload, 4, [0, 1]), *chunks(1, payload, 4, [0, 1, 2, 3])])
    consumer = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    assert drained(consumer) == []  # the repeated prefix
    consumer.close()
    sent = message_of(
        payload, positions[-1], original_uuid="by-hand-1", key="a2V5", key_is_base64=True, ordering_key="b3JkZXI=",
        event_time_ms=12, properties={"a": "ü"}, schema_version="AAAAAAAAAAc=",
    )  # fmt: skip
    plan = make_plan(tmp_path / "plan", [Action(0, "republish", topic, "r", message=sent)], {0: payload})

    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, words(told)) == (1, ["refused"])
    assert "does not drop duplicates" in told[0]["note"]
    admin.post(topic, "deduplicationEnabled", True)
    deadline = time.monotonic() + 10
    while admin.get(topic, "deduplicationEnabled?applied=true") is not True and time.monotonic() < deadline:
        time.sleep(0.1)
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, words(told)) == (0, ["done"])
    reader = client.subscribe(topic, "fresh", consumer_type=ConsumerType.Exclusive, receiver_queue_size=10)
    reader.seek(pulsar.MessageId(-1, *positions[-1], -1))
    one = reader.receive(5000)
    assert one.data() == payload
    assert (one.partition_key(), one.ordering_key(), one.event_timestamp()) == ("a2V5", "order", 12)
    assert one.schema_version() == "\0\0\0\0\0\0\0\7"
    plan_id = json.loads((plan / "plan.jsonl").read_text().splitlines()[0])["plan_id"]
    assert one.properties() == {
        "a": "ü", "pulsar-backlog.plan": plan_id, "pulsar-backlog.action": f"{plan_id}-0",
        "pulsar-backlog.original-id": f"{positions[-1][0]}:{positions[-1][1]}",
        "pulsar-backlog.original-uuid": "by-hand-1",
    }  # fmt: skip
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    assert repair(broker, "apply", plan, "--yes")[0] == 99
    assert drained(reader, 1000) == []
    reader.close()


def test_originals_are_acknowledged_only_after_their_message_is_stored(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic)
    payload = os.urandom(900)
    positions = publish(broker, topic, [*chunks(1, payload, 3, [0]), *chunks(1, payload, 3, [0, 1, 2])])
    sent = message_of(payload, positions[-1], original_topic="persistent://lab/live/elsewhere")
    plan = make_plan(tmp_path / "plan", [
        Action(0, "republish", topic, "r", message=sent),
        Action(1, "acknowledge", topic, "r", "s", runs(positions), requires=(0,)),
        Action(2, "file", topic, "r", message=sent),
        Action(3, "acknowledge", topic, "r", "s", runs(positions[:1]), requires=(2,)),
    ], {0: payload, 2: b"something else"})  # fmt: skip
    before = admin.cursors(topic)
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, words(told)) == (1, ["refused", "stopped", "refused", "stopped"])
    assert told[1]["note"] == "action 0 must be done first, and is not"
    assert admin.cursors(topic) == before
    flag = "--allow-no-deduplication"
    assert words(repair(broker, "apply", plan, flag)[1]) == ["fits", "fits", "refused", "stopped"]
    code, told = repair(broker, "apply", plan, flag, "--yes")
    assert (code, words(told)) == (1, ["done", "done", "refused", "stopped"])
    consumer = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    one = consumer.receive(3000)
    assert one.data() == payload
    assert one.properties()["pulsar-backlog.original-topic"] == "persistent://lab/live/elsewhere"
    assert drained(consumer) == []
    consumer.close()
    assert words(repair(broker, "verify", plan)[1]) == ["verified", "verified", "not yet"]
    verdicts = [json.loads(line) for line in (plan / "verified.jsonl").read_text().splitlines()]
    assert [(line["number"], line["verdict"]) for line in verdicts] == [
        (0, "verified"),
        (1, "verified"),
        (3, "not yet"),
    ]


def test_what_was_encrypted_is_encrypted_again(
    broker: Broker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    positions = publish(broker, topic, [message(0, b"x")])
    payload = os.urandom(100_000)
    sent = message_of(payload, positions[0], was_encrypted=True)
    plan = make_plan(tmp_path / "plan", [Action(0, "republish", topic, "r", message=sent)], {0: payload})
    flags = ("--yes", "--allow-no-deduplication")
    _, told = repair(broker, "apply", plan, *flags)
    assert words(told) == ["refused"]
    assert "it was encrypted: give --encryption-key" in told[0]["note"]
    public, private = encryption_keys(tmp_path)
    (tmp_path / "other").mkdir()
    other_public, other_private = encryption_keys(tmp_path / "other")
    key = ("--encryption-key", "k", "--public-key-file", str(public), "--encryption-key", "other")
    assert repair(broker, "apply", plan, *flags, *key)[0] == 2  # of the other name there is no key
    key = (*key, "--public-key-file", str(other_public))
    assert repair(broker, "apply", plan, *flags, *key)[0] == 2  # a key to read it back is missing
    key = (*key, "--private-key-file", str(private))
    assert words(repair(broker, "apply", plan, *flags, *key)[1]) == ["done"]
    _, told = repair(broker, "verify", plan, *key)
    assert words(told) == ["verified"], told
    assert words(repair(broker, "verify", plan)[1]) == ["not yet"]
    blind = client.create_reader(topic, pulsar.MessageId(-1, *positions[0], -1))
    with pytest.raises(pulsar.Timeout):
        blind.read_next(1000)  # nothing is there in the clear
    for of_one in (pulsar.CryptoKeyReader(str(public), str(private)),
                   pulsar.CryptoKeyReader(str(other_public), str(other_private))):  # fmt: skip
        seeing = client.create_reader(topic, pulsar.MessageId(-1, *positions[0], -1), crypto_key_reader=of_one)
        assert seeing.read_next(3000).data() == payload


def test_what_was_republished_once_is_not_republished(broker: Broker, topic: str, tmp_path: Path) -> None:
    positions = publish(broker, topic, [message(0, b"x")])
    sent = message_of(b"x", positions[0], properties={"pulsar-backlog.plan": "another"})
    plan = make_plan(tmp_path / "plan", [Action(0, "republish", topic, "r", message=sent)], {0: b"x"})
    code, told = repair(broker, "apply", plan, "--yes", "--allow-no-deduplication")
    assert (code, words(told)) == (1, ["refused"])
    assert "make a loop" in told[0]["note"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("deduplication", [True, False])
def test_a_killed_republication_is_stored_once(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, step: str, deduplication: bool, tmp_path: Path
) -> None:
    positions = publish(broker, topic, [message(0, b"x")])
    flags = () if deduplication else ("--allow-no-deduplication",)
    if deduplication:
        admin.post(topic, "deduplicationEnabled", True)
        time.sleep(0.5)
    payload = os.urandom(100_000)
    sent = message_of(payload, positions[0])
    plan = make_plan(tmp_path / "plan", [Action(0, "republish", topic, "r", message=sent)], {0: payload})
    assert killed_at(broker, plan, step, *flags) == -9
    _, told = repair(broker, "apply", plan, "--yes", *flags)
    assert words(told) == (["already"] if step == "after-result" else ["done"]), told
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    reader = client.create_reader(topic, pulsar.MessageId(-1, *positions[0], -1))
    stored = []
    while reader.has_message_available():
        stored.append(reader.read_next(2000).data())
    assert stored == [payload]


def test_a_republication_killed_between_two_chunks(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic)
    positions = publish(broker, topic, [message(0, b"x")])
    admin.post(topic, "deduplicationEnabled", True)
    time.sleep(0.5)
    payload = os.urandom(150_000)
    sent = message_of(payload, positions[0])
    plan = make_plan(tmp_path / "plan", [Action(0, "republish", topic, "r", message=sent)], {0: payload})
    assert killed_at(broker, plan, "after-intent") == -9
    intent = json.loads((plan / "journal.jsonl").read_text())
    name = f"pulsar-backlog-{intent['action_id'].split('-')[0]}"
    publish(broker, topic, chunks(intent["sequence_id"], payload, 3, [0, 1], name), name)
    _, told = repair(broker, "apply", plan, "--yes")
    assert words(told) == ["done"], told[0]["note"]
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    # A Python client drops a message whose first chunk comes twice; this one has another uuid.
    consumer = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    assert drained(consumer) == [b"x", payload]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["acknowledge", "skip", "reset_cursor"])
def test_a_killed_action_is_done_once(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, step: str, kind: str, tmp_path: Path
) -> None:
    subscribed(client, topic, ConsumerType.Exclusive)
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(6)])
    ledger = positions[0][0]
    actions = {
        "acknowledge": Action(
            0, "acknowledge", topic, "r", "s", runs(positions[1:3]), expected_mark_delete=(ledger, -1)
        ),
        "skip": Action(0, "skip", topic, "r", "s", runs(positions[:3]), expected_mark_delete=(ledger, -1)),
        "reset_cursor": Action(
            0, "reset_cursor", topic, "r", "s", target=positions[2], expected_mark_delete=(ledger, -1)
        ),
    }
    after = {
        "acknowledge": (f"{ledger}:-1", f"[({ledger}:0..{ledger}:2]]"),
        "skip": (f"{ledger}:2", "[]"),
        "reset_cursor": (f"{ledger}:1", "[]"),
    }
    plan = make_plan(tmp_path / "plan", [actions[kind]])  # type: ignore[list-item]
    assert killed_at(broker, plan, step) == -9
    _, told = repair(broker, "apply", plan, "--yes")
    assert words(told)[0] in ("done", "already")
    assert admin.cursors(topic)["s"] == after[kind]
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    assert repair(broker, "apply", plan, "--yes")[0] == 99
    assert admin.cursors(topic)["s"] == after[kind]


def _move(admin: Admin, client: pulsar.Client, topic: str, at: list[Position]) -> None:
    admin.post(topic, "subscription/s/skip/1")


def _acknowledge_one(admin: Admin, client: pulsar.Client, topic: str, at: list[Position]) -> None:
    one = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared, receiver_queue_size=0)
    one.acknowledge(pulsar.MessageId(-1, *at[2], -1))
    one.close()


def _terminate(admin: Admin, client: pulsar.Client, topic: str, at: list[Position]) -> None:
    admin.post(topic, "terminate")


def _delete_topic(admin: Admin, client: pulsar.Client, topic: str, at: list[Position]) -> None:
    admin.request("DELETE", f"/v2/persistent/{topic.removeprefix('persistent://')}?force=true")


def _delete_subscription(admin: Admin, client: pulsar.Client, topic: str, at: list[Position]) -> None:
    admin.request("DELETE", f"/v2/persistent/{topic.removeprefix('persistent://')}/subscription/s?force=true")


def test_a_terminated_topic_is_drained_and_not_published_to(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic)
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(4)])
    sent = message_of(b"x", positions[0])
    plan = make_plan(tmp_path / "plan", [
        Action(0, "acknowledge", topic, "r", "s", runs(positions[1:3]), expected_mark_delete=(positions[0][0], -1)),
        Action(1, "republish", topic, "r", message=sent),
    ], {1: b"x"})  # fmt: skip
    admin.post(topic, "terminate")
    flags = ("--yes", "--allow-no-deduplication")
    code, told = repair(broker, "apply", plan, *flags)
    assert (code, words(told)) == (1, ["refused", "refused"])
    assert "say --allow-terminated" in told[0]["note"]
    code, told = repair(broker, "apply", plan, *flags, "--allow-terminated")
    assert words(told) == ["done", "refused"]
    assert "nothing can be published to it" in told[1]["note"]
    assert words(repair(broker, "verify", plan)[1]) == ["verified", "not yet"]
    assert drained(client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)) == [b"0", b"3"]


@pytest.mark.parametrize(
    ("change", "words_"),
    [
        (_move, "mark-delete moved from"),
        (_acknowledge_one, "acknowledged since the plan was made: 1 of its 2 entries"),
        (_terminate, "the topic is terminated"),
        (_delete_topic, "the topic no longer exists"),
        (_delete_subscription, "the subscription no longer exists"),
    ],
)
def test_drift_between_plan_and_apply(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path,
    change: Callable[[Admin, pulsar.Client, str, list[Position]], None], words_: str,
) -> None:  # fmt: skip
    subscribed(client, topic)
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(6)])
    plan = make_plan(tmp_path / "plan", [
        Action(0, "acknowledge", topic, "r", "s", runs(positions[2:4]), expected_mark_delete=(positions[0][0], -1))
    ])  # fmt: skip
    change(admin, client, topic, positions)
    time.sleep(0.3)
    exists = topic in admin.request("GET", f"/v2/persistent/{NAMESPACE}")
    before = admin.cursors(topic) if exists else None
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, words(told)) == (1, ["refused"])
    assert words_ in told[0]["note"]
    assert (topic in admin.request("GET", f"/v2/persistent/{NAMESPACE}")) == exists
    assert (admin.cursors(topic) if exists else None) == before


def test_someone_else_acts_between_two_actions(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribed(client, topic)
    positions = publish(broker, topic, [message(n, b"%d" % n) for n in range(6)])
    plan = make_plan(tmp_path / "plan", [
        Action(0, "acknowledge", topic, "r", "s", runs(positions[:1]), expected_mark_delete=(positions[0][0], -1)),
        Action(1, "acknowledge", topic, "r", "s", runs(positions[3:4]), expected_mark_delete=(positions[0][0], -1)),
    ])  # fmt: skip
    code, told = repair(broker, "apply", plan, "--yes", "--max-actions", "1")
    assert (code, words(told)) == (1, ["done", "stopped"])
    _acknowledge_one(admin, client, topic, positions)
    time.sleep(0.3)
    code, told = repair(broker, "apply", plan, "--yes")
    assert words(told) == ["already", "refused"]
    assert "someone else acknowledged 1 entry" in told[1]["note"]
    _, told = repair(broker, "verify", plan)
    assert words(told) == ["failed", "not yet"]
    assert "acknowledged since, and not by this plan" in told[0]["note"]
    admin.post(topic, "subscription/s/resetcursor", {"ledgerId": positions[0][0], "entryId": 0, "partitionIndex": -1})
    _, told = repair(broker, "verify", plan)
    assert "not acknowledged: the cursor was reset or rolled back" in told[0]["note"]


def test_a_role_that_may_not(broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    subscribed(client, topic)
    positions = publish(broker, topic, [message(0, b"x")])
    plan = make_plan(tmp_path / "plan", [Action(0, "acknowledge", topic, "r", "s", runs(positions))])
    before = admin.cursors(topic)
    code, told = repair(broker, "apply", plan, "--yes", token=broker.identity.token("nobody"))
    assert (code, words(told)) == (1, ["failed"])
    assert "its role has no permission for this (401)" in told[0]["note"]
    assert admin.cursors(topic) == before


def test_an_unload_while_we_acknowledge_in_a_part(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    admin.request("PUT", f"/v2/persistent/{topic.removeprefix('persistent://')}/partitions", 2)
    subscribed(client, topic)
    part = f"{topic}-partition-1"
    positions = publish(broker, part, [message(n, b"x") for n in range(120)])
    wanted = positions[::2]
    plan = make_plan(tmp_path / "plan", [Action(0, "acknowledge", part, "r", "s", runs(wanted))])
    unload = threading.Timer(
        2.0, lambda: admin.request("PUT", f"/v2/persistent/{part.removeprefix('persistent://')}/unload")
    )
    unload.start()
    _, told = repair(broker, "apply", plan, "--yes", "--per-second", "30")
    unload.join()
    assert words(told) == ["done"], told  # what was on its way when the connection broke was sent again
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    consumer = client.subscribe(part, "s", consumer_type=ConsumerType.Shared)
    assert len(drained(consumer)) == 60


def test_one_apply_at_a_time(broker: Broker, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    subscribed(client, topic)
    positions = publish(broker, topic, [message(n, b"x") for n in range(40)])
    plan = make_plan(tmp_path / "plan", [Action(0, "acknowledge", topic, "r", "s", runs(positions))])
    with started(broker, plan, "--per-second", "8") as first:
        while not (plan / "journal.jsonl").exists() or not (plan / "journal.jsonl").read_bytes():
            time.sleep(0.05)
        code, said = repair(broker, "apply", plan, "--yes")
        assert first.wait(60) == 0
    assert code == 2
    assert "another apply of this plan is running" in said[0]
