"""Who sent a message that another cluster holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulsar_backlog.terms import Position


@dataclass(frozen=True)
class Origin:
    """Who sent a message first, where it is published for the cluster that should have replicated it.

    Attributes:
        producer_name: of its producer.
        sequence_id: that this producer gave it.
        publish_time_ms: by that producer's clock.
        replicated_from: cluster that it comes from: brokers do not replicate what has one.
        log_end: last entry of the target's log that was compared: what is stored after it may be this message.
    """

    producer_name: str
    sequence_id: int
    publish_time_ms: int
    replicated_from: str
    log_end: Position


def origin_of(body: dict[str, Any] | None) -> Origin | None:
    """As a plan has it."""
    return None if body is None else Origin(**{**body, "log_end": tuple(body["log_end"])})
