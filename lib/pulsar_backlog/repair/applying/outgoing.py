"""What a `republish` action sends and how that is found again: a payload beside the plan, or entries as stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pulsar_backlog.errors import SourceError
from pulsar_backlog.repair.applying.republish import StoredCopy, find_published, find_stored, metadata_of, properties
from pulsar_backlog.repair.applying.sealed_entries import published_again, read_stored, sealed_sha256
from pulsar_backlog.repair.broker.client import Keys
from pulsar_backlog.repair.broker.cluster import Door, Ledgers
from pulsar_backlog.repair.broker.producer import Producer
from pulsar_backlog.repair.broker.reading import RawEntry
from pulsar_backlog.repair.values import Action, Message, Plan, payload_path
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

READ_BACK_SECONDS = 60.0

NOT_AS_PLANNED = "its payload is not the planned one: plan again"


class NotAsPlannedError(Exception):
    """What would be published is not there, or is not what the plan was made of; nothing was sent."""


@dataclass(frozen=True)
class Outgoing:
    """What one action publishes.

    Attributes:
        payload: of the application; None when `entries` are published as they are stored.
        entries: all of the message, in order; empty when there is a payload.
    """

    door: Door
    plan: Plan
    action: Action
    message: Message
    payload: bytes | None
    entries: tuple[RawEntry, ...] = ()

    @property
    def keys(self) -> Keys | None:
        """What it is encrypted with; None where it is sent as it is given."""
        return self.door.keys if self.message.was_encrypted and self.payload is not None else None

    @property
    def is_encrypted(self) -> bool:
        """Whether all that is sent is encrypted."""
        return self.keys is not None or (self.payload is None and self.message.was_encrypted)

    @cached_property
    def sealed_sha256(self) -> str | None:
        """For the journal, see `stored.sealed_sha256`; None of a payload."""
        return None if self.payload is not None else sealed_sha256(self.entries)

    def prepared(self, producer: Producer, sequence_id: int) -> Iterable[tuple[MessageMetadata, bytes]]:
        """The entries to send.

        Raises:
            ClientError: the broker would not take them.
        """
        now_ms = self.door.now_ms()
        if self.payload is not None:
            metadata = metadata_of(self.plan, self.action, self.message, producer.name, sequence_id, now_ms)
            return producer.entries(metadata, self.payload)
        origin = properties(self.plan, self.action, self.message)
        here, was_lost = self.message.original_topic is None, self.message.origin is not None
        again = published_again(
            self.entries, producer.name, sequence_id, now_ms, origin, same_topic=here, is_late=was_lost
        )
        return producer.as_stored(again)

    def stored_after(self, after: Position) -> StoredCopy | None:
        """What of it is stored after a position; None when it is not there.

        Raises:
            ClientError: the topic cannot be read.
        """
        return found_again(self.door, self.plan, self.action, after, self.sealed_sha256)


def outgoing(door: Door, plan: Plan, folder: Path, action: Action) -> Outgoing:
    """What an action publishes, looked at again.

    Raises:
        NotAsPlannedError: it is not there, or not as it was.
    """
    message = action.message
    if message is None:
        raise NotAsPlannedError(NOT_AS_PLANNED)
    if message.as_stored is not None:
        return Outgoing(door, plan, action, message, None, sound_entries(door.ledgers, message))
    payload = sound_payload(folder, action)
    if payload is None:
        raise NotAsPlannedError(NOT_AS_PLANNED)
    return Outgoing(door, plan, action, message, payload)


def found_again(door: Door, plan: Plan, action: Action, after: Position, sealed: str | None) -> StoredCopy | None:
    """The message of an action, looked for in what was stored after a position.

    Args:
        door: to the cluster.
        plan: of the action.
        action: that published it.
        after: where the log ended before.
        sealed: digest of what was published as it is stored; None of a payload.

    Raises:
        ClientError: the topic cannot be read.
    """
    if sealed is not None:
        return find_stored(door.service, plan, action, after, sealed, READ_BACK_SECONDS)
    return find_published(door.client_for(action.topic), plan, action, after, door.keys, READ_BACK_SECONDS)


def sound_entries(ledgers: Ledgers, message: Message) -> tuple[RawEntry, ...]:
    """The entries that are published as they are stored.

    Raises:
        NotAsPlannedError: one cannot be read, or is another one.
    """
    if message.as_stored is None:
        raise NotAsPlannedError(NOT_AS_PLANNED)
    try:
        return read_stored(ledgers, message.as_stored, encrypted=message.was_encrypted)
    except SourceError as error:
        raise NotAsPlannedError(f"nothing was sent: {error}; see --source, or audit and plan again") from None


def sound_payload(folder: Path, action: Action) -> bytes | None:
    """The payload beside the plan; None when it is missing or not the one that was planned."""
    try:
        payload = payload_path(folder, action.number).read_bytes()
    except OSError:
        return None
    is_sound = action.message is not None and hashlib.sha256(payload).hexdigest() == action.message.sha256
    return payload if is_sound else None
