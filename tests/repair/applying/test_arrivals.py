"""What reached a topic after it was compared is not published again; the broker is a script on loopback."""

from __future__ import annotations

import pytest

from pulsar_backlog.messages.provenance import LOOP_PROPERTY
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.repair.applying.arrivals import Arrivals
from pulsar_backlog.repair.applying.live import LiveTopic
from pulsar_backlog.repair.broker.reading import RawEntry, entries_after
from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.values import Action, Message, Plan
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.repair.broker.test_reading import TOPIC, Served

END = (5, 0)
ORIGIN = Origin("eu-1", 7, 1000, "eu", END)
ACTION = Action(0, "republish", TOPIC, "r", message=Message((1, 1), "aa", 2, origin=ORIGIN))
PLAN = Plan("c", (ACTION,))
LIVE = LiveTopic(TOPIC, {5: 4}, (5, 3), is_terminated=False, is_open=True, subscriptions={})


def stored(producer: str, sequence_id: int, highest: int = 0, plan: str | None = None) -> RawEntry:
    metadata = MessageMetadata(producer_name=producer.encode(), sequence_id=sequence_id, publish_time=2000)
    if highest:
        metadata.highest_sequence_id = highest
    if plan is not None:
        metadata.properties.add(key=LOOP_PROPERTY.encode(), value=plan.encode())
    return RawEntry(metadata, b"x")


def why_not(*since: RawEntry, action: Action = ACTION, live: LiveTopic = LIVE) -> str | None:
    """What is said where these entries are stored after the end of the comparison."""
    entries = [((5, number), one) for number, one in enumerate([stored("eu-1", 7), *since])]
    served = Served(entries, (5, len(entries) - 1))
    return Arrivals(served.service, PLAN).why_not(action, live)


@pytest.mark.parametrize(
    "since",
    [
        stored("eu-1", 7),  # at another time too: whoever batches anew gives it one
        stored("eu-1", 5, highest=9),  # in a batch
        stored("eu-1", 7, plan="another"),  # from another plan of the same comparison
    ],
)
def test_what_came_since_is_not_published(since: RawEntry) -> None:
    said = why_not(stored("eu-1", 8), since)
    assert said is not None
    assert "stored at 5:2 since" in said


def test_what_did_not_come_is() -> None:
    """Neither its neighbours nor what this plan published itself; what lies before the end was compared."""
    others = [stored("eu-1", 8), stored("eu-2", 7), stored("eu-1", 1, highest=6), stored("eu-1", 7, plan=PLAN.plan_id)]
    assert why_not(*others) is None
    assert why_not() is None


def test_an_end_that_is_trimmed_says_nothing() -> None:
    said = why_not(live=LiveTopic(TOPIC, {6: 1}, (6, 0), is_terminated=False, is_open=True, subscriptions={}))
    assert said is not None
    assert "is trimmed" in said


def test_a_message_of_the_repair_itself_is_looked_for_elsewhere() -> None:
    own = Action(0, "republish", TOPIC, "r", message=Message((1, 1), "aa", 2))
    assert why_not(stored("eu-1", 7), action=own) is None


def test_an_end_that_is_not_reached_in_time_is_no_answer() -> None:
    served = Served([((5, 0), stored("eu-1", 8))], (5, 0))
    with pytest.raises(ClientError, match="not read to its end"):
        list(entries_after(served.service, TOPIC, (5, -1), 0, whole=True))
