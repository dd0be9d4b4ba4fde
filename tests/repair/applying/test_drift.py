"""When an action is refused: one row for each reason, and the same action without it fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulsar_backlog.cluster.saved_cursors import SavedSubscription
from pulsar_backlog.cluster.saved_dispatch import SavedConsumer, SavedDispatch
from pulsar_backlog.repair.acked_entries import Entries, entries_of_runs
from pulsar_backlog.repair.applying.drift import Allowed, Baseline, check
from pulsar_backlog.repair.applying.live import LiveSubscription, LiveTopic
from pulsar_backlog.repair.values import Action, AsStored, Message, Run

TOPIC = "persistent://t/n/x"
NO = Allowed()
ACK = Action(0, "acknowledge", TOPIC, "r", "s", (Run(5, 3, 4),), expected_mark_delete=(5, 0))
SKIP = Action(0, "skip", TOPIC, "r", "s", (Run(5, 1, 1), Run(5, 3, 3)), expected_mark_delete=(5, 0))
CUMULATIVE = replace(SKIP, kind="acknowledge_cumulative", target=(5, 3))
RESET = Action(0, "reset_cursor", TOPIC, "r", "s", target=(5, 0), expected_mark_delete=(5, 0))
UNLOAD = Action(0, "unload", TOPIC, "r", "s", expected_mark_delete=(5, 0), expected_type="Shared")
REPUBLISH = Action(0, "republish", TOPIC, "r", message=Message((5, 3), "00", 1))


def subscription(**changes: Any) -> LiveSubscription:
    """Mark-delete 5:0, entry 5:2 acknowledged on its own."""
    acked = entries_of_runs([Run(5, 0, 0), Run(5, 2, 2)])
    return replace(LiveSubscription("s", (5, 0), acked, None, 0), **changes)


def live(of: LiveSubscription | None = None, **changes: Any) -> LiveTopic:
    """Ledgers 5 (ten entries) and 6 (open, two)."""
    one = subscription() if of is None else of
    return replace(LiveTopic(TOPIC, {5: 10, 6: 2}, (6, 1), False, True, {"s": one}), **changes)


def dispatching(unacked: int) -> LiveSubscription:
    """A Shared subscription with a backlog of four, of which its consumer has one and `unacked` count as sent."""
    counts = SavedDispatch(backlog=4, unacked=unacked, consumers=(SavedConsumer("c2", permits=999, unacked=1),))
    return subscription(type="Shared", consumers=1, saved=SavedSubscription("s", "Shared", 1, dispatch=counts))


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (live(dispatching(3)), "fits"),  # two of them are with nobody
        (live(dispatching(3), is_terminated=True), "fits"),  # no acknowledgement changes
        (live(dispatching(1)), "already"),
        (live(subscription(type=None)), "already"),  # nobody is connected, so nothing is pinned
        (live(dispatching(3), is_open=False), "refused"),
        (live(subscriptions={}), "refused"),
        (None, "refused"),
    ],
)
def test_an_unload_fits_while_it_frees_something(now: LiveTopic | None, verdict: str) -> None:
    assert check(UNLOAD, now, None, NO).verdict == verdict


@pytest.mark.parametrize("action", [ACK, SKIP, CUMULATIVE, RESET, REPUBLISH])
def test_what_fits(action: Action) -> None:
    assert check(action, live(), None, NO).verdict == "fits"


MOVED = subscription(mark_delete=(5, 2), acked=entries_of_runs([Run(5, 0, 2)]))
HALF = subscription(acked=entries_of_runs([Run(5, 0, 0), Run(5, 2, 3)]))
SHARED = subscription(type="Shared", consumers=2)
LOOP = replace(REPUBLISH, message=Message((5, 3), "00", 1, properties={"pulsar-backlog.plan": "p"}))


@pytest.mark.parametrize(
    ("action", "now", "words"),
    [
        (ACK, None, "the topic no longer exists"),
        (ACK, live(is_open=False), "log is not open"),
        (ACK, live(is_terminated=True), "the topic is terminated"),
        (REPUBLISH, live(is_terminated=True), "nothing can be published to it"),
        (ACK, live(subscriptions={}), "the subscription no longer exists"),
        (ACK, live(MOVED), "mark-delete moved from 5:0 to 5:2"),
        (ACK, live(HALF), "acknowledged since the plan was made: 1 of its 2 entries"),
        (ACK, live(SHARED), "2 consumers are connected: stop them, or say --allow-consumers"),
        (ACK, live(subscription(type="Failover", consumers=1)), "does not let our client connect beside them"),
        (SKIP, live(SHARED), "would move mark-delete while they read"),
        (ACK, live(lengths={6: 2}), "ledger 5 no longer belongs to the topic: it was trimmed"),
        (ACK, live(lengths={5: 4}), "beyond the end of the log"),
        (replace(ACK, runs=()), live(), "the plan names no entry"),
        (replace(SKIP, runs=(Run(5, 3, 3),)), live(), "skipping would skip others too"),
        (replace(CUMULATIVE, target=(5, 4)), live(), "is not its last entry"),
        (replace(CUMULATIVE, target=None), live(), "is not its last entry"),
        (replace(RESET, target=(5, 10)), live(), "no longer in the log"),  # a broker would go to the end: loss
        (replace(RESET, target=(7, 0)), live(), "no longer in the log"),
        (replace(RESET, target=(4, 0)), live(), "no longer in the log"),
        (replace(RESET, target=None), live(), "no longer in the log"),
        (LOOP, live(), "would make a loop"),
        (replace(REPUBLISH, message=None), live(), "names no message"),
        (replace(REPUBLISH, message=Message((5, 3), "00", 1, was_encrypted=True)), live(), "it was encrypted"),
        (replace(ACK, kind="settings"), live(), "never applied"),
        (replace(ACK, kind="file"), live(), "never applied"),
    ],
)
def test_what_is_refused(action: Action, now: LiveTopic | None, words: str) -> None:
    found = check(action, now, None, NO)
    assert found.verdict == "refused"
    assert words in " ".join(found.reasons)


def test_a_terminated_topic_may_be_allowed_but_not_to_publish() -> None:
    ended = live(is_terminated=True)
    assert check(ACK, ended, None, Allowed(terminated=True)).verdict == "fits"
    assert check(REPUBLISH, ended, None, Allowed(terminated=True)).verdict == "refused"


def test_what_is_published_as_it_is_stored_needs_no_key() -> None:
    sealed = Message((5, 3), None, 1, was_encrypted=True, as_stored=AsStored("s3://b", ()))
    assert check(replace(REPUBLISH, message=sealed), live(), None, NO).verdict == "fits"


def test_consumers_may_be_allowed_on_shared_only() -> None:
    yes = Allowed(consumers=True)
    assert check(ACK, live(SHARED), None, yes).verdict == "fits"
    assert check(ACK, live(subscription(type="Key_Shared", consumers=1)), None, yes).verdict == "refused"
    assert check(SKIP, live(SHARED), None, yes).verdict == "refused"


@pytest.mark.parametrize(
    ("action", "now"),
    [
        (ACK, subscription(acked=entries_of_runs([Run(5, 0, 0), Run(5, 3, 4)]))),
        (ACK, subscription(mark_delete=(5, 4), acked=entries_of_runs([Run(5, 0, 4)]), consumers=1)),
        (SKIP, subscription(mark_delete=(5, 3), acked=entries_of_runs([Run(5, 0, 3)]))),
        (RESET, subscription(mark_delete=(5, -1), acked=Entries())),
    ],
)
def test_what_is_done_already(action: Action, now: LiveSubscription) -> None:
    assert check(action, live(now), None, NO).verdict == "already"


def test_a_reset_is_not_done_while_later_acknowledgements_are_there() -> None:
    now = subscription(mark_delete=(5, -1), acked=entries_of_runs([Run(5, 7, 7)]))
    assert check(replace(RESET, expected_mark_delete=(5, -1)), live(now), None, NO).verdict == "fits"


BEFORE = entries_of_runs([Run(5, 0, 0), Run(5, 2, 2)])
OWN = entries_of_runs([Run(5, 6, 7)])


@pytest.mark.parametrize(
    ("acked", "verdict"),
    [
        ([Run(5, 0, 0), Run(5, 2, 2)], "fits"),  # nothing happened
        ([Run(5, 0, 0), Run(5, 2, 2), Run(5, 6, 6)], "fits"),  # the killed action did half of its own
        ([Run(5, 0, 0), Run(5, 2, 3)], "refused"),  # someone else acknowledged one of ours
        ([Run(5, 0, 0), Run(5, 2, 2), Run(6, 0, 0)], "refused"),  # or another, in a ledger of later
        ([Run(5, 0, 0)], "refused"),  # rolled back
    ],
)
def test_what_happened_since_this_plan_last_looked(acked: list[Run], verdict: str) -> None:
    now = live(subscription(acked=entries_of_runs(acked)))
    assert check(ACK, now, Baseline(5, BEFORE, OWN), NO).verdict == verdict


def test_ledgers_before_mark_delete_are_nobodys_doing() -> None:
    now = subscription(acked=entries_of_runs([Run(4, 0, 8), Run(5, 0, 0), Run(5, 2, 2)]))
    assert check(ACK, live(now, lengths={4: 9, 5: 10}), Baseline(5, BEFORE, OWN), NO).verdict == "fits"
