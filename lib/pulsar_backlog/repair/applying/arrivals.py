"""Messages that reached a topic after it was compared: what a plan wants to fill in may have come by itself.

A replicator that was rewound, another plan of the same comparison, or somebody by hand may have stored it meanwhile.
Entries are taken by producer name and sequence ids alone: a chunk that comes, and a batch that was made anew at another
time, count too. Whoever is in doubt compares again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsar_backlog.messages.provenance import LOOP_PROPERTY
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.repair.applying.live import LiveTopic
from pulsar_backlog.repair.broker.reading import entries_after
from pulsar_backlog.repair.values import Action, Plan
from pulsar_backlog.terms import Position, position_text
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

_READ_SECONDS = 300.0


@dataclass
class _Tail:
    """What a topic holds after its end in the comparison.

    Attributes:
        wanted: sequence ids of messages that a plan would publish, by producer name.
        end: last entry that was read.
        stored: where messages of these were stored since, by producer name and sequence id.
    """

    wanted: Mapping[str, frozenset[int]]
    end: Position
    stored: dict[tuple[str, int], Position] = field(default_factory=dict)

    def add(self, position: Position, metadata: MessageMetadata) -> None:
        """Look at an entry."""
        self.end = position
        name = metadata.producer_name.decode(errors="replace")
        for sequence_id in self.wanted.get(name, ()):
            last = max(metadata.sequence_id, metadata.highest_sequence_id)
            if metadata.sequence_id <= sequence_id <= last:
                self.stored.setdefault((name, sequence_id), position)


class Arrivals:
    """What came to the topics of a plan since they were compared; each topic's end is read once, then what is new."""

    def __init__(self, service: Service, plan: Plan) -> None:
        self._service, self._plan = service, plan
        self._tails: dict[str, _Tail] = {}

    def why_not(self, action: Action, live: LiveTopic) -> str | None:
        """What speaks against publishing an action's message; None when nothing does, or it is the repair's own.

        Raises:
            ClientError: the topic cannot be read.
        """
        origin = action.message.origin if action.message else None
        if origin is None:
            return None
        if origin.log_end[0] not in live.lengths:
            return "the end of the log that was compared is trimmed: audit both sides and compare again"
        tail = self._tails.setdefault(action.topic, _Tail(self._wanted(action.topic), origin.log_end))
        self._read(action.topic, tail)
        position = tail.stored.get((origin.producer_name, origin.sequence_id))
        if position is None:
            return None
        return (
            f"its producer's message of that sequence id was stored at {position_text(position)} since: "
            "audit both sides and compare again"
        )

    def _wanted(self, topic: str) -> Mapping[str, frozenset[int]]:
        wanted: dict[str, set[int]] = {}
        for origin in (one.message.origin for one in self._plan.actions if one.topic == topic and one.message):
            if origin is not None:
                wanted.setdefault(origin.producer_name, set()).add(origin.sequence_id)
        return {name: frozenset(ids) for name, ids in wanted.items()}

    def _read(self, topic: str, tail: _Tail) -> None:
        entries = entries_after(self._service, topic, tail.end, _READ_SECONDS, whole=True)
        own = LOOP_PROPERTY.encode(), self._plan.plan_id.encode()
        for position, entry in entries:
            if any((one.key, one.value) == own for one in entry.metadata.properties):
                tail.end = position
            else:
                tail.add(position, entry.metadata)
