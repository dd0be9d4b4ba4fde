"""Whether a message can be republished as it was, and as what: its exported payload, or its stored entries."""

from __future__ import annotations

from base64 import b64encode

from pulsar_backlog.messages.kinds import CANNOT_TELL, NOT_COMMITTED, TRANSACTIONS
from pulsar_backlog.messages.provenance import LOOP_PROPERTY
from pulsar_backlog.repair.planning.safety import IN_FLIGHT, NOT_EXPORTED, UNVERIFIED
from pulsar_backlog.repair.planning.values import PublicationFacts, Stored
from pulsar_backlog.repair.values import Message

_UNCLEAR = "another plan began to republish it, and nobody knows how that ended: apply that plan again"


def why_not_sendable(one: PublicationFacts) -> str | None:
    """What speaks against republishing a message; None when nothing does."""
    exported = one.exported
    if one.state == "in_flight":
        return IN_FLIGHT
    if exported is None:
        return NOT_EXPORTED
    if not exported.verified:
        return f"{UNVERIFIED}{exported.reason}"
    if exported.transaction in NOT_COMMITTED:
        return _of_transaction(exported.transaction)
    if exported.payload_sha256 is None or exported.payload_bytes is None:
        return "its export holds no payload"
    if one.republished == "unclear":
        return _UNCLEAR
    if LOOP_PROPERTY in exported.properties:
        return "a repair published it: republishing it would make a loop"
    return None


def why_not_chunks_as_stored(one: PublicationFacts) -> str | None:
    """What speaks against publishing an encrypted chunked message as it is stored; None when nothing does."""
    exported = one.exported
    if one.state == "in_flight":
        return IN_FLIGHT
    # Who had the key saw what is wrong with it: readers would see the same.
    if exported is not None and not exported.verified and exported.outcome != "no_key":
        return f"{UNVERIFIED}{exported.reason}"
    if one.stored is None:
        return "not every entry of it is stored whole, so it cannot be republished as stored"
    return why_not_as_stored(one.stored)


def why_not_as_stored(stored: Stored) -> str | None:
    """What speaks against publishing these entries as they are stored; None when nothing does."""
    if stored.fault:
        return stored.fault
    if stored.transaction in NOT_COMMITTED:
        return _of_transaction(stored.transaction)
    if stored.republished == "unclear":
        return _UNCLEAR
    return None


def _of_transaction(state: str | None) -> str:
    if state == TRANSACTIONS[CANNOT_TELL]:
        return "it belongs to a transaction, and the log does not tell whether that was committed"
    return f"it belongs to a transaction that is {state}"


def message_as_stored(stored: Stored, uuid: str | None, original_topic: str | None) -> Message:
    """The message as it is published without being opened; `uuid` of its chunks."""
    return Message(
        original=stored.position,
        sha256=None,
        size_bytes=stored.size_bytes,
        original_uuid=uuid,
        original_topic=original_topic,
        was_encrypted=True,
        as_stored=stored.as_stored,
    )


def message_of(one: PublicationFacts, original_topic: str | None) -> Message:
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
        key_is_base64=exported.key_is_bytes,
        ordering_key=_text(exported.ordering_key),
        event_time_ms=exported.event_time_ms,
        properties=dict(sorted(exported.properties.items())),
        schema_version=_text(exported.schema_version) if original_topic is None else None,
        schema_id=_text(exported.schema_id) if original_topic is None else None,
        replicate_to=exported.replicate_to,
        original_topic=original_topic,
        was_encrypted=exported.was_encrypted,
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()
