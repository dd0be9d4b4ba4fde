"""Rows that plans are made from: each with what is usual, so that a test names only what it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pulsar_backlog.repair.planning.values import (
    Entry,
    Exported,
    PublicationFacts,
    StallFacts,
    Subscription,
    TopicFacts,
)

TOPIC = "persistent://t/n/one"


def publication(uuid: str = "p-0", time_ms: int = 1000, **other: Any) -> PublicationFacts:
    """An orphan prefix that is certainly lost."""
    usual = PublicationFacts(
        chunk_uuid=uuid,
        publish_time_ms=time_ms,
        state="orphan_prefix",
        rebuildable=False,
        sureness="certain",
        reason="the log goes on",
        num_chunks=4,
        present_chunks=2,
        stored_bytes=20,
        encrypted=False,
    )
    return replace(usual, **other)


def whole(uuid: str = "p-0", time_ms: int = 1000, **other: Any) -> PublicationFacts:
    """A whole message that was not exported."""
    return publication(uuid, time_ms, **{"state": "whole", "rebuildable": True, "present_chunks": 4, **other})


def exported(position: tuple[int, int] = (1, 9), **other: Any) -> Exported:
    """A verified export."""
    return replace(Exported(position=position, verified=True, payload_sha256="ab" * 32, payload_bytes=40), **other)


def stall(
    *positions: tuple[int, int], uuid: str = "p-0", time_ms: int = 1000, role: str = "orphan", **other: Any
) -> StallFacts:
    """A stall of subscription `sub` with these entries unacknowledged, all of them its own."""
    usual = StallFacts(
        subscription="sub",
        chunk_uuid=uuid,
        publish_time_ms=time_ms,
        code="C24",
        kind="orphan_hole",
        also=(),
        entries=tuple(Entry(position, (uuid, time_ms), role, True, False) for position in positions),
        unacked_entries=len(positions),
        unacked_bytes=10 * len(positions),
        acked_entries=0,
        action="acknowledge",
        first_chunk=positions[0],
        sureness="certain",
        reason="",
        advice="It is lost for certain: acknowledge its entries.",
        can_complete=False,
    )
    return replace(usual, **other)


def topic(*rows: PublicationFacts | StallFacts | Subscription, name: str = TOPIC, **other: Any) -> TopicFacts:
    """A topic with these rows."""
    return TopicFacts(
        topic=name,
        publications=tuple(row for row in rows if isinstance(row, PublicationFacts)),
        stalls=tuple(row for row in rows if isinstance(row, StallFacts)),
        subscriptions=tuple(row for row in rows if isinstance(row, Subscription)),
        **other,
    )
