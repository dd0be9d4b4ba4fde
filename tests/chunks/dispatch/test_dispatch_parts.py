"""The dispatcher's parts, one rule each."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.dispatch.assignor import SharedAssignor
from pulsar_backlog.chunks.dispatch.auditor import Auditor, BrokenPromiseError
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.clock import Clock, Link
from pulsar_backlog.chunks.dispatch.cursor import Topic
from pulsar_backlog.chunks.dispatch.hashing import active_of, murmur3_32, owner_of, sticky_hash
from pulsar_backlog.chunks.dispatch.policy import action_for
from pulsar_backlog.chunks.dispatch.settings import READ_BATCHES, client_named


def chunk(at: int, uuid: str, chunk_id: int, chunks: int) -> LogEntry:
    return LogEntry(
        (0, at), 0, uuid, (uuid, 0), 0, chunk_id, chunks, 10 * chunks, 10,
        batched=False, checksum="valid", codec=None, uncompressed_bytes=None, payload="fits", marker=False,
    )  # fmt: skip


def consumer(name: str, permits: int) -> BrokerConsumer:
    made = BrokerConsumer(name, Link(Clock(0)), lambda at, count: None, Auditor())
    made.permits = permits
    return made


def test_the_hash_is_that_of_pulsar() -> None:
    assert murmur3_32(b"hello") == 0x248BFA47 & 0x7FFFFFFF  # of the reference implementation
    # as two brokers dealt these keys to consumers c1 and c2
    owners = {"k1": 1, "k2": 1, "k3": 0, "k4": 1, "pA-0": 1, "pB-0": 0, "pC-0": 0, "pD-0": 0, "pE-0": 1, "pF-0": 1}
    assert {key: owner_of(sticky_hash(key), ["c1", "c2"]) for key in owners} == owners
    assert active_of("persistent://t/n/topic", ["only"]) == 0


@pytest.mark.parametrize(("broker", "second"), [("4.0", [2, 3]), ("4.2", [2]), ("5.0", [2])])
def test_4_0_gives_a_pinned_consumer_more_than_its_permits(broker: str, second: list[int]) -> None:
    # c1 has one permit left and the pin of A; c2, whose turn it is, has five. In 4.0 the first chunk of A sets
    # c1's permits to c2's, so that the second is assigned too.
    first, other = consumer("c1", 1), consumer("c2", 5)
    aside: list[int] = []
    assignor = SharedAssignor(broker, lambda: other, aside.append)  # type: ignore[arg-type]
    assignor.pins["A"] = first
    log = [chunk(0, "A", 0, 4), chunk(1, "A", 1, 4), chunk(2, "A", 2, 4), chunk(3, "A", 3, 4)]
    assignment = assignor.assign([2, 3], log, 2)
    assert [(target.name, batch) for target, batch in assignment] == [("c1", second)]
    assert aside == [at for at in (2, 3) if at not in second]
    assert ("A" in assignor.pins) == (broker != "4.0")  # the last chunk took the pin along


def test_a_chunk_without_pin_is_put_aside_and_the_rest_of_the_batch_goes_on() -> None:
    only = consumer("c1", 10)
    aside: list[int] = []
    assignor = SharedAssignor("4.2", lambda: only, aside.append)
    log = [chunk(0, "A", 1, 2), chunk(1, "B", 0, 2), chunk(2, "B", 1, 2)]
    assert [batch for _target, batch in assignor.assign([0, 1, 2], log, 1)] == [[1, 2]]
    assert aside == [0]
    assert assignor.pins == {}


def test_ranges_begin_before_their_first_entry_and_the_mark_moves_on() -> None:
    topic = Topic(READ_BATCHES["4.2"])
    topic.entries = [chunk(at, "A", at, 6) for at in range(6)]
    for at in (2, 3, 5):
        topic.acknowledge(at)
    assert (topic.mark_delete, topic.deleted_ranges(), topic.backlog) == (-1, ((1, 3), (4, 5)), 3)
    topic.acknowledge(0)
    topic.acknowledge(1)
    assert (topic.mark_delete, topic.deleted_ranges(), topic.backlog) == (3, ((4, 5),), 1)


def test_skipping_counts_unacknowledged_entries() -> None:
    topic = Topic(READ_BATCHES["4.2"])
    topic.entries = [chunk(at, "A", at, 5) for at in range(5)]
    topic.acknowledge(1)
    topic.skip(2)
    assert topic.mark_delete == 2


@pytest.mark.parametrize(
    ("rule", "count", "seen", "action"),
    [
        ("nack:2", 1, 9, "nack"),
        ("nack:2", 2, 1, "ack"),
        ("reject:1", 7, 1, "nack"),
        ("reject:1", 7, 2, "ack"),
        ("forget:1", 0, 1, "none"),
        ("later", 0, 5, "later"),
    ],
)
def test_policies(rule: str, count: int, seen: int, action: str) -> None:
    assert action_for({"default": "ack", "A": rule}, "A", count, seen) == action
    assert action_for({"default": "ack", "A": rule}, "B", count, seen) == "ack"


def test_a_policy_or_client_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="no policy 'shrug'"):
        action_for({"default": "shrug"}, "A", 0, 1)
    with pytest.raises(ValueError, match="no model of the client 'cobol-1'"):
        client_named("cobol-1")
    assert client_named("java 4.2") == client_named("java-4.2.4") != client_named("java-4.0.8")


def test_the_auditor_finds_broken_promises() -> None:
    auditor = Auditor()
    auditor.dispatched(0, connected=True)
    auditor.dispatched(1, connected=False)
    auditor.acknowledged("c1", [0])
    assert auditor.eaten == (0,)
    with pytest.raises(BrokenPromiseError, match="acknowledged entry 1, which was never dispatched"):
        auditor.acknowledged("c1", [1])
    with pytest.raises(BrokenPromiseError, match="delivered entry 1"):
        auditor.delivered("c1", [1])
    with pytest.raises(BrokenPromiseError, match="has -1 permits"):
        auditor.permits("c1", -1)
    with pytest.raises(BrokenPromiseError, match=r"entries \[2\] of a consumer that left or gave back are nowhere"):
        auditor.given_back([0, 1, 2], [1])


def test_the_auditor_wants_what_the_last_consumer_had_to_be_read_again() -> None:
    auditor = Auditor()
    for at in (3, 4):
        auditor.dispatched(at, connected=True, to="c1")
    auditor.departed("c1", None)
    auditor.acknowledged("c1", [3])  # it arrives late
    auditor.rewound(4)
    auditor.dispatched(4, connected=True, to="c2")
    auditor.departed("c2", None)
    with pytest.raises(BrokenPromiseError, match=r"entries \[4\] are not read again"):
        auditor.rewound(5)


def test_the_auditor_wants_what_was_read_to_be_somewhere() -> None:
    auditor = Auditor()
    auditor.dispatched(0, connected=True)
    auditor.dispatched(1, connected=False)
    auditor.settled(range(3), {2})
    with pytest.raises(BrokenPromiseError, match=r"entries \[2\] were read and are nowhere"):
        auditor.settled(range(3), set())
    auditor.moved(2)
    auditor.settled(range(3), set())
