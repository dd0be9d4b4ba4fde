"""Unloading a topic: whether it still frees something, and how it is done.

A broker that unloads a topic closes it, and forgets pins, replay and permits. Clients connect again, and all that is
not acknowledged is sent again. Whether that is needed shows in the same counts that the plan was made from.
"""

from __future__ import annotations

from pulsar_backlog.cluster.admin_http import AdminHttp
from pulsar_backlog.cluster.admin_rest import parse_topic
from pulsar_backlog.repair.applying.live import LiveSubscription
from pulsar_backlog.repair.values import Action
from pulsar_backlog.subscriptions.holdups import holdups


def unloadable(subscription: LiveSubscription) -> tuple[str, ...]:
    """Evidence of what an unload would free now; empty when it would free nothing."""
    return tuple(one.evidence for one in holdups(subscription.saved) if one.remedy == "unload")


def unload(http: AdminHttp, action: Action) -> None:
    """Unload the action's topic.

    Raises:
        AdminError: the broker refused.
    """
    http.request("PUT", f"{parse_topic(action.topic).path}/unload")
