"""Whether an exported message can be published once more as it was, and as what."""

from __future__ import annotations

from pulsar_backlog.repair.drift import LOOP_PROPERTY
from pulsar_backlog.repair.planning_safety import IN_FLIGHT, NOT_EXPORTED, UNVERIFIED
from pulsar_backlog.repair.planning_values import Choices, Exported, Publication
from pulsar_backlog.repair.values import Message


def why_not_sendable(one: Publication, choices: Choices) -> str | None:
    """What speaks against publishing a message once more; None when nothing does."""
    exported = one.exported
    if one.state == "in_flight":
        return IN_FLIGHT
    if exported is None:
        return NOT_EXPORTED
    if not exported.verified:
        return f"{UNVERIFIED}{exported.reason}"
    if exported.transaction in ("aborted", "open"):
        return f"it belongs to a transaction that is {exported.transaction}"
    if exported.payload_sha256 is None or exported.payload_bytes is None:
        return "its export holds no payload"
    if exported.republished == "unclear":
        return "another plan began to publish it, and how that ended is not known: apply that plan again"
    if LOOP_PROPERTY in exported.properties:
        return "a repair published it: publishing it again would make a loop"
    return None if choices.republish_to == "file" else _why_not_as_it_was(exported)


def _why_not_as_it_was(exported: Exported) -> str | None:
    """What a plan cannot hold, or what would change who gets to see it."""
    if exported.key_is_bytes:
        return "its key is bytes, and a plan can only hold text"
    if exported.ordering_key is not None and not _is_text(exported.ordering_key):
        return "its ordering key is bytes, and a plan can only hold text"
    if exported.replicate_to:
        return "its producer chose the clusters it goes to, and a plan cannot"
    return None


def message_of(one: Publication, original_topic: str | None) -> Message:
    """The message as it is published.

    Raises:
        ValueError: `why_not_sendable` has a reason.
    """
    exported = one.exported
    if exported is None or exported.payload_sha256 is None or exported.payload_bytes is None:
        raise ValueError("nothing to publish")
    return Message(
        original=exported.position,
        sha256=exported.payload_sha256,
        size_bytes=exported.payload_bytes,
        original_uuid=one.chunk_uuid,
        key=exported.key,
        ordering_key=exported.ordering_key.decode(errors="replace") if exported.ordering_key is not None else None,
        event_time_ms=exported.event_time_ms,
        properties=dict(sorted(exported.properties.items())),
        original_topic=original_topic,
        was_encrypted=exported.was_encrypted,
    )


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
