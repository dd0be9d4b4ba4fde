"""Why subscriptions do not drain: by statistics that real brokers gave, and a row for each rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.fields import Fields
from pulsar_backlog.cluster.saved_cursors import SavedSubscription, subscriptions_of_stats
from pulsar_backlog.cluster.topic_states import SavedTopic
from pulsar_backlog.cluster.values import TopicState
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.subscriptions.findings import findings_of_holdups
from pulsar_backlog.subscriptions.holdup_words import HOLDUP_KINDS
from pulsar_backlog.subscriptions.holdups import NO_EVIDENCE, LogEvidence, dead_letter_topics, holdups

RECORDED = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "consumers" / "statistics.json").read_text(encoding="utf-8")
)
CAUSES = {
    "A-stall": {"small_queue_stall"}, "A-live": {"small_queue_stall"}, "B-kill": {"pinned_to_dead"},
    "B-plan": {"pinned_to_dead"}, "B-k4": {"pinned_to_dead"}, "B-evict": {"with_consumers"},
    "F-auto": {"draining_hashes"}, "D-F-trio": {"draining_hashes"}, "G-nack3": {"last_chunk_only"},
    "G-dlq2-nack": {"last_chunk_only"}, "H-orphan": {"headless_chunk"}, "H-plan": {"headless_chunk"},
    "H-reset": {"with_consumers"},
}  # fmt: skip
"""What the setting did to its subscription, where something is left in the backlog."""


def saved(stats: dict[str, Any]) -> SavedSubscription:
    return next(subscriptions_of_stats(Fields({"subscriptions": {"s": stats}}, [])))


def shared(type_: str = "Shared", consumers: int = 1, **counts: Any) -> SavedSubscription:
    """A subscription with a backlog of 9 whose consumers have 1,000 permits and nothing else."""
    one = {"consumerName": "c1", "availablePermits": 1000, "unackedMessages": 0}
    own = {name: counts.pop(name) for name in [*counts] if name in ("availablePermits", "unacked", "blocked", "drains")}
    names = {"unacked": "unackedMessages", "blocked": "blockedConsumerOnUnackedMsgs", "drains": "drainingHashesCount"}
    one |= {names.get(name, name): value for name, value in own.items()}
    return saved({"type": type_, "msgBacklog": 9, "unackedMessages": 0, "consumers": [one] * consumers, **counts})


def kinds(subscription: SavedSubscription, log: LogEvidence = NO_EVIDENCE, broker: Any = (4, 0)) -> list[str]:
    return [reason.kind for reason in holdups(subscription, log, broker)]


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one['cell']}-{one['broker']}-{one['when']}")
def test_real_statistics_tell_what_the_setting_did(one: dict[str, Any]) -> None:
    found = set(kinds(saved(one["subscription"]), broker=tuple(map(int, one["broker"].split(".")[:2]))))
    if not one["subscription"].get("msgBacklog"):
        assert found == set()
    elif one["when"] == "closed":
        assert found == {"no_consumers"}
    elif one["when"] == "held":
        assert found <= {"no_permits", "with_consumers"}
    else:
        (cause,) = [causes for start, causes in CAUSES.items() if one["cell"].startswith(start)]
        assert cause <= found <= {*cause, "pinned_to_dead"}


@pytest.mark.parametrize(
    ("subscription", "log", "found"),
    [
        # whoever reset the cursor gets counts that contradict each other; nothing is concluded from them
        (shared(unackedMessages=12), NO_EVIDENCE, ["statistics_wrong"]),
        (shared(consumers=0), NO_EVIDENCE, ["no_consumers"]),
        (shared(consumers=0, isReplicated=True), NO_EVIDENCE, ["replicated_behind"]),
        (shared(unackedMessages=3, unacked=3, blocked=True), NO_EVIDENCE, ["unacked_limit"]),
        (shared(blockedSubscriptionOnUnackedMsgs=True), NO_EVIDENCE, ["unacked_limit"]),
        (shared(unackedMessages=3), NO_EVIDENCE, ["pinned_to_dead"]),
        (shared(unackedMessages=3, unacked=3), NO_EVIDENCE, []),  # under way
        (shared(), LogEvidence(headless_at=(4, 7)), ["headless_chunk"]),
        (shared("Exclusive"), LogEvidence(headless_at=(4, 7)), ["with_consumers"]),  # blocks nobody there
        (shared("Key_Shared", drainingHashesCount=2, drains=2, msgInReplay=4), NO_EVIDENCE, ["draining_hashes"]),
        (shared(availablePermits=0), NO_EVIDENCE, ["no_permits"]),
        (shared(availablePermits=-1), LogEvidence(dropped_last_chunks=4), ["leaked_permits"]),
        (shared(availablePermits=None), NO_EVIDENCE, []),  # not said
        (shared(unackedMessages=9, unacked=9), NO_EVIDENCE, ["with_consumers"]),
        (shared(msgDelayed=9), NO_EVIDENCE, ["delayed"]),
        (shared(), LogEvidence(last_only=2, dead_letter_topic="t-s-DLQ"), ["dead_letters_left"]),
        (shared(), LogEvidence(last_only=2), []),
        (shared(msgBacklog=0, unackedMessages=3), NO_EVIDENCE, []),
    ],
)
def test_each_rule(subscription: SavedSubscription, log: LogEvidence, found: list[str]) -> None:
    assert kinds(subscription, log) == found


@pytest.mark.parametrize(
    ("permits", "consumers", "broker", "behind", "kind", "sureness"),
    [
        (4, 2, (4, 0), 5, "small_queue_stall", "likely"),
        (4, 2, None, 5, "small_queue_stall", "likely"),
        (4, 2, (4, 2), 5, "last_chunk_only", "likely"),  # its assignor counts right
        (4, 1, (4, 0), 5, "last_chunk_only", "likely"),  # needs two
        (8, 2, (4, 0), 5, "small_queue_stall", "cannot_tell"),  # of a queue of 8, or of 10 that is in use
        (8, 2, (4, 0), 0, "last_chunk_only", "cannot_tell"),
        (900, 2, (4, 0), 5, "last_chunk_only", "likely"),
    ],
)
def test_a_chunk_without_a_pin_has_two_causes(
    permits: int, consumers: int, broker: Any, behind: int, kind: str, sureness: str
) -> None:
    stats = {"unackedMessages": 2 * consumers, "unacked": 2, "msgInReplay": 9 - 2 * consumers - behind or 1}
    (reason,) = holdups(shared(consumers=consumers, availablePermits=permits, **stats), NO_EVIDENCE, broker)
    assert (reason.kind, reason.sureness) == (kind, sureness)


def test_the_owner_of_draining_hashes_is_named_whatever_its_name_holds() -> None:
    named = shared("Key_Shared", drainingHashesCount=1, drains=1, consumerName="x")
    (reason,) = holdups(named)
    assert "Let it leave" in reason.advice and "1 hash of c1 drain" in reason.evidence
    hostile = saved({
        "type": "Key_Shared", "msgBacklog": 2, "drainingHashesCount": 1,
        "consumers": [{"consumerName": "\x1b[31m{who}", "availablePermits": 5, "drainingHashesCount": 1}],
    })  # fmt: skip
    assert "\x1b" not in holdups(hostile)[0].advice + holdups(hostile)[0].evidence


def test_statistics_that_are_odd_say_nothing() -> None:
    assert holdups(None) == holdups(SavedSubscription("s", "Shared")) == ()
    odd = saved({"msgBacklog": "many", "unackedMessages": -4, "consumers": [7, {"availablePermits": []}]})
    assert holdups(odd) == ()


def test_findings_are_one_for_each_code() -> None:
    reasons = {("t", "s"): holdups(shared(unackedMessages=3), LogEvidence(headless_at=(4, 7)))}
    (finding,) = findings_of_holdups(reasons)
    assert (finding.code, finding.subject, finding.sureness) == ("C46", "t s", "likely")
    assert finding.message.startswith("3 entries of 3 unacknowledged are with no connected consumer. They are chunks")
    assert not list(findings_of_holdups({("t", "s"): holdups(shared(consumers=0))}))
    assert {kind.code for kind in HOLDUP_KINDS.values() if kind.code} <= CATALOGUE.keys()


def test_a_rolling_restart_is_never_advised() -> None:
    for kind in HOLDUP_KINDS.values():
        if "rolling restart" in kind.advice:
            assert "a rolling restart frees nothing" in kind.advice or "do not rely on a rolling restart" in kind.advice


def test_counts_outlive_the_folder() -> None:
    state = TopicState("t", subscriptions={"s": shared(unackedMessages=3)})
    again = SavedTopic.from_json(SavedTopic("t", state).to_json())
    assert again.state == state


def test_dead_letter_topics_of_a_partition() -> None:
    topic = "persistent://t/n/orders-partition-3"
    assert dead_letter_topics(topic, "s") == (f"{topic}-s-DLQ", "persistent://t/n/orders-s-DLQ")


def test_a_cursor_inside_a_message_is_a_reason_on_every_type() -> None:
    for type_ in ("Shared", "Exclusive", "Failover"):
        assert "cursor_inside" in kinds(shared(type_), LogEvidence(inside=1))
    assert "cursor_inside" not in kinds(shared(), LogEvidence(inside=0))
    (reason,) = (one for one in holdups(shared(), LogEvidence(inside=2)) if one.kind == "cursor_inside")
    assert (reason.code, reason.evidence) == ("C50", "mark-delete lies inside 2 messages")


def test_whether_a_join_would_block_is_an_answer() -> None:
    holding = shared("Key_Shared", unacked=2, unackedMessages=2)
    assert "join_would_block" in kinds(holding, LogEvidence(arriving=1))
    assert "join_would_block" not in kinds(holding)  # nothing is under way
    assert "join_would_block" not in kinds(shared("Key_Shared"), LogEvidence(arriving=1))  # and nobody holds anything
    assert "join_would_block" not in kinds(shared("Shared", unacked=2, unackedMessages=2), LogEvidence(arriving=1))
    draining = shared("Key_Shared", unacked=2, drainingHashesCount=1)
    assert kinds(draining, LogEvidence(arriving=1))[0] == "draining_hashes"


def test_compaction_is_no_subscription_that_wants_a_consumer() -> None:
    of_broker = next(subscriptions_of_stats(Fields({"subscriptions": {"__compaction": {"msgBacklog": 7}}}, [])))
    (reason,) = holdups(of_broker)
    assert (reason.kind, reason.sureness, reason.remedy) == ("compaction", "certain", "compact")
    assert reason.evidence == "7 entries since the topic was compacted last"
    drained = next(subscriptions_of_stats(Fields({"subscriptions": {"__compaction": {"msgBacklog": 0}}}, [])))
    assert holdups(drained) == ()


@pytest.mark.parametrize(
    ("subscription", "log", "sureness"),
    [
        (shared(), LogEvidence(open_transaction_at=(4, 7), read_position=(4, 7)), "likely"),
        (shared("Exclusive"), LogEvidence(open_transaction_at=(4, 7), read_position=(4, 7)), "likely"),
        (shared(), LogEvidence(open_transaction_at=(4, 7), read_position=(4, 6)), "cannot_tell"),
        (shared(), LogEvidence(open_transaction_at=(4, 7)), "cannot_tell"),
        (shared(), NO_EVIDENCE, None),
        (shared(availablePermits=0), LogEvidence(open_transaction_at=(4, 7)), None),  # that is why
        (shared(msgInReplay=2), LogEvidence(open_transaction_at=(4, 7)), None),  # chunks without a pin
        (shared(unackedMessages=9, unacked=9), LogEvidence(open_transaction_at=(4, 7)), None),  # all was sent
        (shared(consumers=0), LogEvidence(open_transaction_at=(4, 7)), None),
    ],
)
def test_an_open_transaction(subscription: SavedSubscription, log: LogEvidence, sureness: str | None) -> None:
    found = [reason for reason in holdups(subscription, log) if reason.kind == "open_transaction"]
    assert [reason.sureness for reason in found] == ([sureness] if sureness else [])
    assert all("from 4:7 on" in reason.evidence and reason.remedy == "end_transaction" for reason in found)
