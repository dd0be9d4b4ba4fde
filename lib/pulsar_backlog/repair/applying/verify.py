"""Looking again: what a plan did must be there, and nothing else may have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.errors import SourceError
from pulsar_backlog.repair.acked_entries import Entries, entries_of_runs
from pulsar_backlog.repair.applying.journal import Journal
from pulsar_backlog.repair.applying.live import LiveSubscription, LiveTopic, read_live
from pulsar_backlog.repair.applying.outgoing import found_again
from pulsar_backlog.repair.applying.unload import unloadable
from pulsar_backlog.repair.broker.cluster import Door
from pulsar_backlog.repair.values import NEVER_APPLIED, Action, Plan

VERIFIED_NAME = "verified.jsonl"
"""Beside the plan: what each look at the cluster said."""

_SHOWN = 3


@dataclass(frozen=True)
class Verdict:
    """What became of an action, seen from the broker.

    Attributes:
        verdict: `verified`; `not yet` when it was not applied, or its effect may still come; `failed`.
        note: why.
    """

    action: Action
    verdict: Literal["verified", "not yet", "failed"]
    note: str = ""


def verify_plan(door: Door, plan: Plan, journal: Journal) -> Iterator[Verdict]:
    """Compare each action of a plan with the live state. Changes nothing."""
    for action in plan.actions:
        if action.kind in NEVER_APPLIED:
            continue
        if not journal.is_finished(action):
            yield Verdict(action, "not yet", f"apply recorded: {journal.status(action) or 'not begun'}")
            continue
        try:
            yield _verified(door, plan, journal, action)
        except SourceError as error:
            yield Verdict(action, "not yet", str(error))


def _verified(door: Door, plan: Plan, journal: Journal, action: Action) -> Verdict:
    live = read_live(door.rest, action.topic)
    if live is None:
        return Verdict(action, "failed", "the topic no longer exists")
    if action.kind == "republish":
        return _read_back(door, plan, journal, action)
    subscription = live.subscriptions.get(action.subscription or "")
    if subscription is None:
        return Verdict(action, "failed", "the subscription no longer exists")
    if action.kind == "unload":
        return _unloaded(action, subscription)
    if action.kind == "reset_cursor":
        # Whoever reads on acknowledges: mark-delete at or after the place we reset to is all that can be asked.
        back = action.target is not None and subscription.mark_delete >= (action.target[0], action.target[1] - 1)
        return Verdict(action, "verified") if back else Verdict(action, "failed", "the cursor is before its target")
    wanted = entries_of_runs(action.runs).within(live.lengths)  # what was trimmed since is acknowledged
    missing = wanted - subscription.acked
    if missing:
        return Verdict(action, "failed", f"{_named(missing)} not acknowledged: the cursor was reset or rolled back")
    return _nothing_else(plan, journal, action, live, subscription.acked, subscription.consumers)


def _unloaded(action: Action, subscription: LiveSubscription) -> Verdict:
    """Whether nothing waits any more that an unload frees."""
    if evidence := unloadable(subscription):
        return Verdict(action, "failed", f"it does not drain: {'; '.join(evidence)}")
    backlog = subscription.saved.dispatch.backlog if subscription.saved and subscription.saved.dispatch else None
    if backlog and not subscription.consumers:
        return Verdict(action, "not yet", "nobody is connected, and the subscription has a backlog")
    return Verdict(action, "verified")


def _nothing_else(
    plan: Plan, journal: Journal, action: Action, live: LiveTopic, acked: Entries, consumers: int
) -> Verdict:
    """Whether the acknowledged entries differ from before exactly by the plan."""
    before = journal.original(action)
    if before is None:
        return Verdict(action, "verified", "everything was acknowledged already")
    own = Entries()
    for other in plan.actions:
        if (other.topic, other.subscription) == (action.topic, action.subscription) and journal.first_begun(other):
            if other.kind == "reset_cursor":
                return Verdict(action, "verified", "the plan also reset the cursor: nobody can tell what else changed")
            own = own | entries_of_runs(other.runs)
    if lost := before.lost(live, acked):
        return Verdict(action, "failed", f"{_named(lost)} acknowledged before the repair, but not now")
    others = before.by_others(acked) - own
    if others and not consumers:
        return Verdict(action, "failed", f"{_named(others)} acknowledged since, and not by this plan")
    return Verdict(action, "verified", f"connected consumers acknowledged {len(others)} more" if others else "")


def _read_back(door: Door, plan: Plan, journal: Journal, action: Action) -> Verdict:
    first = journal.first_begun(action)
    if first is None or first.last_confirmed is None:
        return Verdict(action, "not yet", "the journal does not say where to look")
    message = action.message
    as_stored = message is not None and message.as_stored is not None
    if message is not None and message.was_encrypted and not as_stored and door.keys is None:
        return Verdict(action, "not yet", "it is encrypted: give --encryption-key and its files to read it back")
    if as_stored and first.sealed_sha256 is None:
        return Verdict(action, "not yet", "the journal does not say what was sent")
    stored = found_again(door, plan, action, first.last_confirmed, first.sealed_sha256)
    if stored is None:
        return Verdict(action, "failed", "a reader does not find the message")
    if not stored.is_same:
        return Verdict(action, "failed", "what a reader gets has another hash")
    seen = f", as it was stored (sha256 {first.sealed_sha256})" if first.sealed_sha256 else ""
    return Verdict(action, "verified", f"read back from {stored.position[0]}:{stored.position[1]}{seen}")


def _named(entries: Entries) -> str:
    """The first few, and how many."""
    first = [
        f"{ledger_id}:{entry_id}" for (ledger_id, entry_id), _ in zip(entries.positions(), range(_SHOWN), strict=False)
    ]
    more = f" and {len(entries) - len(first)} more" if len(entries) > len(first) else ""
    return f"{', '.join(first)}{more}"
