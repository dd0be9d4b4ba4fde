"""Unloading a topic whose subscription does not drain: what the plan says of it."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.repair.planning.values import Subscription, Unloadable
from pulsar_backlog.repair.values import Action

REASON = "An unload ends the pins of this topic: its broker sends again what is not acknowledged, to whoever is there."
AFFECTS = (
    "All producers and consumers of the topic are disconnected for a moment, and every subscription gets again what it "
    "has not acknowledged. A Python or C++ client drops a message that it has half when its first chunk comes again: "
    "that half stays until the client connects anew."
)
UNDO = "Nothing needs to be undone: no message and no acknowledgement changes."


def unload_action(topic: str, subscription: Subscription, reasons: Sequence[Unloadable]) -> Action:
    """The action, without its number; `reasons` is not empty."""
    return Action(
        number=0,
        kind="unload",
        topic=topic,
        reason=REASON,
        subscription=subscription.name,
        expected_mark_delete=subscription.mark_delete,
        expected_type=subscription.type,
        cause=reasons[0].kind,
        codes=tuple(sorted({one.code for one in reasons})),
        evidence=tuple(f"{one.kind.replace('_', ' ')}: {one.evidence}. {one.advice}" for one in reasons),
        affects=AFFECTS,
        undo=UNDO,
    )
