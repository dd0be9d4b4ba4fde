"""What lay behind a ledger's recorded end, republished: under its producer's own name, and by the plan's producer."""

from __future__ import annotations

import json
from pathlib import Path

import pulsar
import pytest

from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.values import Action, AsStored, Message, StoredEntry
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.broker.conftest import Admin
from tests.broker.process import Broker
from tests.broker.repairing import killed_at, make_plan, repair
from tests.broker.sealed import parts_of, raw_of
from tests.broker.test_repair_sealed import deduplicated, results
from tests.wire.encode import entry

LEDGER = 770077  # no ledger of this broker: what was cut off is in no topic
STEPS = ("before-intent", "after-intent", "after-action", "torn-result", "after-result")


def plan_of(folder: Path, topic: str, is_own: bool, producer: str, numbers: range) -> Path:
    """A plan for a message each, whose entries lie in a file as a bookie's entry log holds them."""
    source = folder / "source"
    source.mkdir(parents=True)
    content, actions = b"", []
    for at, number in enumerate(numbers):
        metadata = MessageMetadata(
            producer_name=producer.encode(), sequence_id=number, publish_time=1000 + number, partition_key=b"k",
        )  # fmt: skip
        body = entry(metadata.SerializeToString(), f"order {number}".encode())
        content += bytes(12)
        crc = int.from_bytes(body[2:6], "big")
        stored = StoredEntry((LEDGER, number), "0.log", len(content), len(body), crc)
        content += body
        message = Message(
            (LEDGER, number), None, 7, as_stored=AsStored(str(source), (stored,)),
            origin=Origin(producer, number, is_own),
        )  # fmt: skip
        actions.append(
            Action(at, "republish", topic, "r", message=message, cause="cut_off", requires=(at - 1,) if at else ())
        )
    (source / "0.log").write_bytes(content)
    return make_plan(folder / "plan", actions)


def made(client: pulsar.Client, admin: Admin, topic: str) -> None:
    """The topic, whose broker drops duplicates from the first message on."""
    client.create_producer(topic).close()
    deduplicated(admin, topic)


def sent(client: pulsar.Client, topic: str, name: str, numbers: range) -> None:
    """Messages of the real client, numbered by the application."""
    producer = client.create_producer(topic, producer_name=name, initial_sequence_id=numbers[0] - 1)
    for number in numbers:
        producer.send(f"order {number}".encode())
    producer.close()


def received(client: pulsar.Client, topic: str) -> list[str]:
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(5000).data().decode())
    reader.close()
    return found


def orders(numbers: range) -> list[str]:
    return [f"order {number}" for number in numbers]


@pytest.mark.parametrize("step", [None, *STEPS])
def test_under_its_own_name_the_broker_goes_on_behind_it(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path, step: str | None
) -> None:
    made(client, admin, topic)
    sent(client, topic, "shop", range(4))
    plan = plan_of(tmp_path, topic, True, "shop", range(4, 7))
    code, told = repair(broker, "apply", plan)
    assert (code, results(told)) == (0, ["fits"] * 3), told
    assert received(client, topic) == orders(range(4))  # a dry run
    if step is not None:
        assert killed_at(broker, plan, step) != 0
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, set(results(told)) <= {"done", "already"}) == (0, True), told
    assert received(client, topic) == orders(range(7))
    code, told = repair(broker, "verify", plan)
    assert (code, results(told)) == (0, ["verified"] * 3), told
    heads = [parts_of(body)[0] for _, body in raw_of(broker, admin, topic)[4:]]
    assert [(head.producer_name, head.sequence_id, head.partition_key) for head in heads] == [
        (b"shop", number, b"k") for number in (4, 5, 6)
    ]
    assert min(head.publish_time for head in heads) > 1_700_000_000_000  # of today, or it would expire at once
    # A producer that is started anew goes on behind them; what was told to be stored is not taken twice.
    sent(client, topic, "shop", range(6, 8))
    assert received(client, topic) == orders(range(8))


def test_a_producer_that_went_on_is_refused_and_so_is_all_behind(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    made(client, admin, topic)
    sent(client, topic, "shop", range(4))
    sent(client, topic, "shop", range(9, 10))
    plan = plan_of(tmp_path, topic, True, "shop", range(4, 7))
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (1, ["refused", "stopped", "stopped"]), told
    assert "sequence id 9" in told[0]["note"]
    assert "--cut-off new" in told[0]["note"]
    assert received(client, topic) == [*orders(range(4)), "order 9"]


def test_a_connected_producer_is_in_the_way(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    made(client, admin, topic)
    sent(client, topic, "shop", range(4))
    plan = plan_of(tmp_path, topic, True, "shop", range(4, 5))
    producer = client.create_producer(topic, producer_name="shop")
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (1, ["failed"]), told
    producer.close()
    assert received(client, topic) == orders(range(4))


@pytest.mark.parametrize("step", [None, *STEPS])
def test_by_the_producer_of_the_plan_whatever_the_other_did_since(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path, step: str | None
) -> None:
    made(client, admin, topic)
    sent(client, topic, "shop", range(4))
    sent(client, topic, "shop", range(9, 10))
    plan = plan_of(tmp_path, topic, False, "shop", range(4, 7))
    if step is not None:
        assert killed_at(broker, plan, step) != 0
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, set(results(told)) <= {"done", "already"}) == (0, True), told
    assert results(repair(broker, "verify", plan)[1]) == ["verified"] * 3
    assert received(client, topic) == [*orders(range(4)), "order 9", *orders(range(4, 7))]
    plan_id = json.loads((plan / "plan.jsonl").read_text().splitlines()[0])["plan_id"]
    heads = [parts_of(body)[0] for _, body in raw_of(broker, admin, topic)[5:]]
    assert {head.producer_name for head in heads} == {f"pulsar-backlog-{plan_id}".encode()}
    names = ("original-producer", "original-sequence-id", "original-id")
    properties = [{one.key.decode(): one.value.decode() for one in head.properties} for head in heads]
    assert [[some[f"pulsar-backlog.{name}"] for name in names] for some in properties] == [
        ["shop", str(number), f"{LEDGER}:{number}"] for number in (4, 5, 6)
    ]
    sent(client, topic, "shop", range(10, 11))  # its own numbers were not touched
    assert received(client, topic)[-1] == "order 10"


def test_what_changed_in_the_source_is_not_sent(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    made(client, admin, topic)
    sent(client, topic, "shop", range(4))
    plan = plan_of(tmp_path, topic, False, "shop", range(4, 6))
    log = tmp_path / "source" / "0.log"
    log.write_bytes(log.read_bytes().replace(b"order 4", b"order X"))
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (1, ["refused", "stopped"]), told
    assert received(client, topic) == orders(range(4))
