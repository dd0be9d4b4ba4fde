"""Whether an action still fits what is true now. Pure; whatever is not certain refuses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

from pulsar_backlog.counting import counted
from pulsar_backlog.messages.provenance import LOOP_PROPERTY
from pulsar_backlog.repair.acked_entries import Entries, entries_of_runs
from pulsar_backlog.repair.applying.live import LiveSubscription, LiveTopic
from pulsar_backlog.repair.applying.unload import unloadable
from pulsar_backlog.repair.values import NEVER_APPLIED, Action, Message
from pulsar_backlog.terms import Position

_TERMINATED = (
    "the topic is terminated, and the plan does not say whether it was before: if that is intended, say "
    "--allow-terminated"
)


@dataclass(frozen=True)
class Allowed:
    """What the caller takes responsibility for.

    Attributes:
        consumers: acting while consumers are connected to a Shared subscription.
        no_deduplication: republishing to a topic whose broker does not drop duplicates.
        has_keys: whether what is republished can be encrypted.
        terminated: acknowledging on a topic that is terminated; the tables do not say whether it was before the plan.
    """

    consumers: bool = False
    no_deduplication: bool = False
    has_keys: bool = False
    terminated: bool = False


@dataclass(frozen=True)
class Baseline:
    """How a subscription stood when this plan last looked, and what it may have done to it since.

    Attributes:
        first_ledger_id: ledger of mark-delete then; everything before it was acknowledged and is not in `acked`.
        acked: acknowledged then.
        own: entries of an action that was begun then and whose end is not known, because apply was killed.
    """

    first_ledger_id: int
    acked: Entries
    own: Entries

    def lost(self, live: LiveTopic, now: Entries) -> Entries:
        """What was acknowledged then, is still stored, and is not acknowledged now."""
        return self.acked.within(live.lengths) - now

    def by_others(self, now: Entries) -> Entries:
        """What is acknowledged now, was not then, and is not the plan's own doing."""
        rest = now.within(ledger_id for ledger_id in now.ledgers if ledger_id >= self.first_ledger_id)
        return rest - self.acked - self.own


@dataclass(frozen=True)
class Check:
    """The answer.

    Attributes:
        verdict: `fits`; `already` when there is nothing left to do; `refused`.
        reasons: why it is refused, a sentence each.
    """

    verdict: Literal["fits", "already", "refused"]
    reasons: tuple[str, ...] = ()


def check(action: Action, live: LiveTopic | None, baseline: Baseline | None, allowed: Allowed) -> Check:
    """Whether the action may be done now."""
    if action.kind in NEVER_APPLIED:
        return Check("refused", (f"{action.kind} is never applied",))
    if live is None:
        return Check("refused", ("the topic no longer exists",))
    if not live.is_open:
        return Check("refused", ("the topic's log is not open: its broker is closing, fencing or recovering it",))
    if live.is_terminated and action.kind not in ("republish", "unload") and not allowed.terminated:
        return Check("refused", (_TERMINATED,))
    if action.kind == "republish":
        reasons = _republish(action.message, live, allowed)
    else:
        subscription = live.subscriptions.get(action.subscription or "")
        if subscription is None:
            return Check("refused", ("the subscription no longer exists",))  # connecting would make it anew
        if _is_done(action, subscription):
            return Check("already")
        if action.kind == "unload":
            return Check("fits")
        reasons = [
            *_consumers(action, subscription, allowed),
            *_moved(action, live, subscription, baseline, allowed),
            *_positions(action, live, subscription),
        ]
    return Check("refused", tuple(reasons)) if reasons else Check("fits")


def _republish(message: Message | None, live: LiveTopic, allowed: Allowed) -> list[str]:
    if message is None:
        return ["the plan names no message"]
    reasons = []
    if live.is_terminated:
        reasons.append("the topic is terminated: nothing can be published to it")
    if message.was_encrypted and message.as_stored is None and not allowed.has_keys:
        reasons.append("it was encrypted: give --encryption-key, --public-key-file and --private-key-file")
    if LOOP_PROPERTY in message.properties:
        reasons.append("a plan has republished this message already; republishing it again would make a loop")
    return reasons


def _is_done(action: Action, subscription: LiveSubscription) -> bool:
    if action.kind == "unload":
        return not unloadable(subscription)
    if action.kind == "reset_cursor":
        return subscription.mark_delete == _before(action.target) and not _beyond(subscription)
    wanted = entries_of_runs(action.runs)
    return len(wanted) > 0 and not wanted - subscription.acked


def _beyond(subscription: LiveSubscription) -> bool:
    """Whether entries after mark-delete are acknowledged one by one."""
    positions = subscription.acked.positions()
    return any(position > subscription.mark_delete for position in positions)


def _before(target: Position | None) -> Position | None:
    return None if target is None else (target[0], target[1] - 1)


def _consumers(action: Action, subscription: LiveSubscription, allowed: Allowed) -> list[str]:
    if not subscription.consumers:
        return []
    what = counted(subscription.consumers, "consumer is connected", "consumers are connected")
    if action.kind == "acknowledge" and subscription.type == "Shared":
        return [] if allowed.consumers else [f"{what}: stop them, or say --allow-consumers"]
    if action.kind == "acknowledge":
        return [f"{what}, and {subscription.type} does not let our client connect beside them: stop them first"]
    return [f"{what}: the action would move mark-delete while they read; stop them first"]


def _moved(
    action: Action, live: LiveTopic, subscription: LiveSubscription, baseline: Baseline | None, allowed: Allowed
) -> list[str]:
    reasons = []
    if baseline is None:
        expected, found = action.expected_mark_delete, subscription.mark_delete
        if expected is not None and expected != found:
            reasons.append(f"mark-delete moved from {_text(expected)} to {_text(found)} since the plan was made")
        wanted = entries_of_runs(action.runs)
        if acked := len(wanted) - len(wanted - subscription.acked):
            reasons.append(f"acknowledged since the plan was made: {acked:,} of its {counted(len(wanted), 'entry')}")
        return reasons
    if lost := baseline.lost(live, subscription.acked):
        were = counted(len(lost), "entry was", "entries were")
        reasons.append(f"{were} acknowledged before, but not now: the cursor was reset or rolled back")
    others = baseline.by_others(subscription.acked)
    if others and not (allowed.consumers and action.kind == "acknowledge"):
        reasons.append(f"someone else acknowledged {counted(len(others), 'entry')} since this plan last looked")
    return reasons


def _positions(action: Action, live: LiveTopic, subscription: LiveSubscription) -> list[str]:
    if action.kind == "reset_cursor":
        return _reset(action.target, live)
    wanted = entries_of_runs(action.runs)
    if not wanted:
        return ["the plan names no entry"]
    gone = sorted(set(wanted.ledgers) - set(live.lengths))
    if gone:
        return [f"ledger {gone[0]} no longer belongs to the topic: it was trimmed"]
    if wanted - live.entries:
        return ["the plan names entries beyond the end of the log"]
    if action.kind == "acknowledge":
        return []
    open_entries = (live.entries - subscription.acked).positions()
    first = list(islice(open_entries, len(wanted)))
    if first != list(wanted.positions()):
        return ["its entries are not the first unacknowledged ones: skipping would skip others too"]
    if action.kind == "acknowledge_cumulative" and (not action.target or action.target != first[-1]):
        return ["the position to acknowledge up to is not its last entry"]
    return []


def _reset(target: Position | None, live: LiveTopic) -> list[str]:
    # A broker takes any position, and moves one it does not have to the beginning or the end of the log.
    if target is None or not 0 <= target[1] < live.lengths.get(target[0], 0):
        return ["the position to reset to is no longer in the log"]
    return []


def _text(position: Position) -> str:
    return f"{position[0]}:{position[1]}"
