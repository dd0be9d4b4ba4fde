"""Encrypted messages republished as they are stored, without a key, and read by who has one."""

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
from pulsar_backlog.repair.values import Action
from tests.broker.conftest import Admin
from tests.broker.live_audit import LiveAudit
from tests.broker.process import Broker
from tests.broker.repairing import killed_at, make_plan, repair
from tests.broker.sealed import (
    Crypto,
    as_stored,
    data_of,
    make_crypto,
    parts_of,
    plan_of,
    raw_of,
    send,
    send_batch,
    stored,
)
from tests.broker.test_repair_states import acknowledged_as, planned

STEPS = ("before-intent", "after-intent", "after-action", "torn-result", "after-result")


@pytest.fixture
def crypto(tmp_path: Path) -> Crypto:
    return make_crypto(tmp_path / "keys")


def deduplicated(admin: Admin, topic: str) -> None:
    admin.post(topic, "deduplicationEnabled", True)
    deadline = time.monotonic() + 10
    while admin.get(topic, "deduplicationEnabled?applied=true") is not True and time.monotonic() < deadline:
        time.sleep(0.1)


def results(told: list[dict[str, str]]) -> list[str]:
    return [row["result"] for row in told]


def _another_hash(plan: Path) -> None:
    """As if something else had been sent."""
    path = plan / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["sealed_sha256"] = line["sealed_sha256"] and "00" * 32
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def received(client: pulsar.Client, topic: str, crypto: Crypto, name: str) -> list[pulsar.Message]:
    """All that a new consumer with the private key gets."""
    consumer = client.subscribe(
        topic, name, consumer_type=ConsumerType.Exclusive, initial_position=InitialPosition.Earliest,
        crypto_key_reader=crypto.reader,
    )  # fmt: skip
    found = []
    while True:
        try:
            found.append(consumer.receive(1500))
        except pulsar.Timeout:
            break
    consumer.close()
    return found


def test_a_chunked_message_is_published_and_decrypted_once(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, tmp_path: Path
) -> None:
    payload = os.urandom(150_000)  # three chunks, random so that the codec makes them no smaller
    fields = {"properties": {"a": "ü"}, "partition_key": "k1", "ordering_key": "o1", "event_timestamp": 12}
    send(client, topic, crypto, payload, chunked=True, **fields)
    before = raw_of(broker, admin, topic)
    assert len(before) == 3
    deduplicated(admin, topic)
    objects = stored(tmp_path / "objects", topic, before)
    plan = plan_of(tmp_path / "plan", topic, as_stored(objects, before))

    code, told = repair(broker, "apply", plan)
    assert (code, results(told)) == (0, ["fits"]), told
    assert len(raw_of(broker, admin, topic)) == 3  # a dry run
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (0, ["done"]), told
    assert results(repair(broker, "apply", plan, "--yes")[1]) == ["already"]
    code, told = repair(broker, "verify", plan)
    assert (code, results(told)) == (0, ["verified"]), told
    _another_hash(plan)
    code, told = repair(broker, "verify", plan)
    assert (code, results(told), told[0]["note"]) == (1, ["failed"], "what a reader gets has another hash")

    first, again = received(client, topic, crypto, "s")
    assert (first.data(), again.data()) == (payload, payload)
    ours = {name: value for name, value in again.properties().items() if name.startswith("pulsar-backlog.")}
    assert {**first.properties(), **ours} == again.properties()
    plan_id = json.loads((plan / "plan.jsonl").read_text().splitlines()[0])["plan_id"]
    ledger, entry = before[-1][0]
    uuid = parts_of(before[0][1])[0].uuid.decode()
    assert ours == {
        "pulsar-backlog.plan": plan_id, "pulsar-backlog.action": f"{plan_id}-0",
        "pulsar-backlog.original-id": f"{ledger}:{entry}", "pulsar-backlog.original-uuid": uuid,
    }  # fmt: skip
    assert (again.partition_key(), again.ordering_key(), again.event_timestamp()) == ("k1", "o1", 12)

    copies = raw_of(broker, admin, topic)[3:]
    assert len(copies) == 3
    for chunk_id, ((_, old), (_, new)) in enumerate(zip(before, copies, strict=True)):
        (head, sealed), (head_again, sealed_again) = parts_of(old), parts_of(new)
        assert sealed_again == sealed
        for name in ("encryption_keys", "encryption_algo", "encryption_param", "compression", "uncompressed_size",
                     "total_chunk_msg_size", "num_chunks_from_msg", "chunk_id"):  # fmt: skip
            assert getattr(head_again, name) == getattr(head, name), name
        assert (head_again.chunk_id, head_again.producer_name) == (chunk_id, f"pulsar-backlog-{plan_id}".encode())
        assert head_again.uuid not in (head.uuid, b"")


def test_a_single_message_and_a_batch(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, tmp_path: Path
) -> None:
    payload = os.urandom(2000)
    send(client, topic, crypto, payload, properties={"of": "one"})
    send_batch(client, topic, crypto, [b"x" * 50, b"y" * 50, b"z" * 50])
    before = raw_of(broker, admin, topic)
    assert [parts_of(body)[0].num_messages_in_batch for _, body in before] == [0, 3]
    objects = stored(tmp_path / "objects", topic, before)
    counted = admin.get(topic, "stats")["msgInCounter"]
    for number, one in enumerate(before):
        plan = plan_of(tmp_path / f"plan-{number}", topic, as_stored(objects, [one]))
        code, told = repair(broker, "apply", plan, "--yes", "--allow-no-deduplication")
        assert (code, results(told)) == (0, ["done"]), told
        assert results(repair(broker, "verify", plan)[1]) == ["verified"]
    assert admin.get(topic, "internalStats")["entriesAddedCounter"] == 4
    assert admin.get(topic, "stats")["msgInCounter"] == counted + 4  # the broker knows how many the batch holds

    got = received(client, topic, crypto, "s")
    wanted = [payload, b"x" * 50, b"y" * 50, b"z" * 50]
    assert [one.data() for one in got] == [*wanted, *wanted]
    assert got[4].properties()["pulsar-backlog.original-id"] == f"{before[0][0][0]}:{before[0][0][1]}"
    # What stands on a batch no consumer shows: only the raw entry tells where it comes from.
    assert [one.properties() for one in got[5:]] == [{"of": "one"}] * 3
    names = [one.key for one in parts_of(raw_of(broker, admin, topic)[3][1])[0].properties]
    assert {b"pulsar-backlog.plan", b"pulsar-backlog.action", b"pulsar-backlog.original-id"} <= set(names)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("deduplication", [True, False])
def test_a_killed_publication_is_stored_once(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, step: str, deduplication: bool,
    tmp_path: Path,
) -> None:  # fmt: skip
    payload = os.urandom(100_000)
    send(client, topic, crypto, payload, chunked=True)
    before = raw_of(broker, admin, topic)
    if deduplication:
        deduplicated(admin, topic)
    flags = () if deduplication else ("--allow-no-deduplication",)
    objects = stored(tmp_path / "objects", topic, before)
    plan = plan_of(tmp_path / "plan", topic, as_stored(objects, before))
    assert killed_at(broker, plan, step, *flags) == -9
    _, told = repair(broker, "apply", plan, "--yes", *flags)
    assert results(told) == (["already"] if step == "after-result" else ["done"]), told
    assert results(repair(broker, "verify", plan)[1]) == ["verified"]
    assert len(raw_of(broker, admin, topic)) == 2 * len(before)
    assert [one.data() for one in received(client, topic, crypto, "s")] == [payload, payload]


def test_changed_bytes_at_the_source_are_refused(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, tmp_path: Path
) -> None:
    send(client, topic, crypto, os.urandom(100_000), chunked=True)
    before = raw_of(broker, admin, topic)
    deduplicated(admin, topic)
    objects = stored(tmp_path / "objects", topic, before)
    message = as_stored(objects, before)
    plan = plan_of(tmp_path / "plan", topic, message)
    assert message.as_stored is not None
    last = message.as_stored.entries[-1]
    path = data_of(objects)
    sound = path.read_bytes()
    for at in (last.offset + 2, last.offset + 40, last.offset + last.length - 1):  # checksum, metadata, ciphertext
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        for flags in ((), ("--yes",)):
            code, told = repair(broker, "apply", plan, *flags)
            assert (code, results(told)) == (1, ["refused"]), told
            assert "it is not what the plan was made from" in told[0]["note"]
    path.write_bytes(sound[: last.offset + last.length - 1])
    assert "is cut off" in repair(broker, "apply", plan, "--yes")[1][0]["note"]
    path.unlink()
    assert results(repair(broker, "apply", plan, "--yes")[1]) == ["refused"]
    assert raw_of(broker, admin, topic) == before  # nothing was sent

    elsewhere = tmp_path / "moved"
    elsewhere.mkdir()
    (elsewhere / path.name).write_bytes(sound)
    code, told = repair(broker, "apply", plan, "--yes", "--source", str(elsewhere))
    assert (code, results(told)) == (0, ["done"]), told


def test_what_a_repair_published_is_not_published_again(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, tmp_path: Path
) -> None:
    send(client, topic, crypto, b"x" * 100, properties={"pulsar-backlog.plan": "another"})
    before = raw_of(broker, admin, topic)
    plan = plan_of(tmp_path / "plan", topic, as_stored(stored(tmp_path / "objects", topic, before), before))
    _, told = repair(broker, "apply", plan, "--yes", "--allow-no-deduplication")
    assert results(told) == ["refused"]
    assert "make a loop" in told[0]["note"]
    assert raw_of(broker, admin, topic) == before


def test_an_unclear_publication_keeps_others_off_its_topic(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, tmp_path: Path
) -> None:
    send(client, topic, crypto, b"x" * 100)
    before = raw_of(broker, admin, topic)
    deduplicated(admin, topic)
    objects = stored(tmp_path / "objects", topic, before)
    message = as_stored(objects, before)
    actions = [Action(number, "republish", topic, "r", message=message) for number in range(2)]
    plan = make_plan(tmp_path / "plan", actions)
    assert killed_at(broker, plan, "after-action") == -9
    path = data_of(objects)
    hidden = path.rename(tmp_path / "hidden")
    # Whether the first was stored is not known while its source is away: the second would hide it.
    assert results(repair(broker, "apply", plan, "--yes")[1]) == ["refused", "stopped"]
    hidden.rename(path)
    assert results(repair(broker, "apply", plan, "--yes")[1]) == ["done", "done"]
    assert len(raw_of(broker, admin, topic)) == 3


def test_from_the_audit_of_a_live_topic_to_copies_that_are_read(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, crypto: Crypto, tmp_path: Path,
    spark: SparkSession, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    payload = os.urandom(150_000)
    client.subscribe(topic, "s", consumer_type=ConsumerType.Shared).close()
    send(client, topic, crypto, payload, chunked=True)
    send(client, topic, crypto, b"x" * 500)
    before = raw_of(broker, admin, topic)
    assert len(before) == 4
    ledger = before[0][0][0]
    acknowledged = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared, receiver_queue_size=0)
    acknowledged.acknowledge(pulsar.MessageId(-1, ledger, 1, -1))
    acknowledged.close()
    acknowledged_as(admin, topic, (f"{ledger}:-1", f"[({ledger}:0..{ledger}:1]]"))
    deduplicated(admin, topic)
    positions = [position for position, _ in before]
    out = LiveAudit(tmp_path / "live", broker, topic, [parts_of(body) for _, body in before], positions).audit("out")

    said = said_of(capsys, out)
    assert [one for one in said if one["record"] == "repair_action" and one["kind"] != "settings"] == []
    assert any("publish it unseen: plan with --as-stored" in one["next_step"] for one in said if "why" in one)
    plan, said = planned(capsys, out, as_stored=True, message=[f"{ledger}:3"])
    chunked, single = (one for one in said if one["record"] == "repair_action" and one["kind"] != "settings")
    assert (chunked["kind"], chunked["cause"], chunked["original"]["entry_id"]) == ("republish", "got_in_part", 2)
    assert (single["kind"], single["cause"], single["original"]["entry_id"]) == ("republish", "named", 3)
    for one in (chunked, single):
        assert "Nobody has seen its content here." in one["reason"]
        assert "all of them get it: 's'." in one["affects"]
        assert "need the key that the original was encrypted for" in one["affects"]
    assert any("its old entries stay, because no export verified it" in one["why"] for one in said if "why" in one)
    assert list((plan / "payloads").iterdir()) == []  # it holds nothing of the topic's content

    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)[:2]) == (0, ["done", "done"]), told
    assert results(repair(broker, "verify", plan)[1]) == ["verified", "verified"]
    got = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared, crypto_key_reader=crypto.reader)
    assert sorted(len(got.receive(5000).data()) for _ in range(3)) == [500, 500, 150_000]
    with pytest.raises(pulsar.Timeout):
        got.receive(500)
    got.close()

    # Neither this audit, by what its plans did, nor one of the log as it is now plans the same again.
    after = raw_of(broker, admin, topic)
    fresh = LiveAudit(
        tmp_path / "fresh", broker, topic, [parts_of(body) for _, body in after], [position for position, _ in after]
    ).audit("out")
    for where in (out, fresh):
        said = said_of(capsys, where, as_stored=True, message=[f"{ledger}:3"])
        assert [one for one in said if one["record"] == "repair_action" and one["kind"] == "republish"] == []
        assert any("it was republished already" in one["why"] for one in said if "why" in one)


def said_of(capsys: pytest.CaptureFixture[str], out: Path, **options: object) -> list[dict[str, Any]]:
    """What a plan says, whether there is anything in it or not."""
    capsys.readouterr()
    assert run_plan({"out": str(out), **options}, None) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]
