"""Subscriptions and clients in result.json: exact values, names as in the tables. The shape: docs/result.md."""

from __future__ import annotations

from dataclasses import asdict

from pulsar_backlog.report.acks import Acks, SubscriptionFacts, TopicAcks
from pulsar_backlog.report.clients import ModelSum, TopicClients


def acks_json(acks: Acks) -> dict[str, object]:
    """All subscriptions, and those that are blocked."""
    return {
        "total": acks.total,
        "stalled": acks.stalled,
        "blocked": acks.blocked,
        "blocked_by_sureness": dict(acks.sureness),
        "listed": len(acks.rows),
        "rows": [{**asdict(row), "advice": row.advice.label, "need": row.advice.need} for row in acks.rows],
    }


def topic_acks_json(acks: TopicAcks) -> dict[str, object]:
    """The subscriptions of a topic, the worst first as far as the report shows them."""
    return {
        "total": acks.total,
        "blocked": acks.blocked,
        "blocked_by_sureness": dict(acks.sureness),
        "listed": len(acks.subscriptions),
        "rows": [_subscription_json(one) for one in acks.subscriptions],
    }


def _subscription_json(one: SubscriptionFacts) -> dict[str, object]:
    at = one.blocked_at
    return {
        **one.row,
        "blocked_at": {"ledger_id": at[0], "entry_id": at[1]} if at else None,
        "blocked_sureness": one.blocked_sureness,
        "advice": one.advice.label,
        "need": one.advice.need,
        "forecast": None if one.outlook is None else asdict(one.outlook),
        "chunk_sets": {"total": one.stall_total, "listed": len(one.stalls), "rows": [dict(s) for s in one.stalls]},
    }


def model_json(one: ModelSum) -> dict[str, object]:
    """One model over all topics."""
    at = None if one.damage is None else {"topic": one.topic, "ledger_id": one.ledger_id, "entry_id": one.entry_id}
    return {"model": one.model, **one.counts, "stopped_topics": one.stopped, "damage": one.damage, "first": at}


def topic_clients_json(clients: TopicClients) -> list[dict[str, object]]:
    """What each model makes of a topic, with the first message of each dangerous outcome."""
    return [
        {**row, "examples": [asdict(one) for one in clients.examples if one.model == row["model"]]}
        for row in clients.forecasts
    ]
