"""What-if questions about a saved subscription: its unacknowledged entries, consumers that connect, and events.

    consumers   java 4.2 x 2, python     named c1, c2, c3, in this order; java, python, cpp, node, go, rust, websocket
                java 4.2 rejects 2       every message is negatively acknowledged, a dead letter after 2 redeliveries
                java 4.2 times out 2     the same by an ack timeout
    events      unload                   the topic is unloaded, and all come back
                leave c1                 c1 closes; `kill c1` dies, `cut c1` loses its connection and comes back
                join go                  one more consumer, named after the others
                restart                  all leave, then new ones of the same kinds come
                rolling restart          one after the other is replaced

All consumers begin to connect to the saved state, one after the other: what the running broker has pinned or dispatched
is in no saved state. A chunk whose first chunk is acknowledged has no pin then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pulsar_backlog.chunks.dispatch.outcomes import Certain, Outcome, Prediction
from pulsar_backlog.chunks.dispatch.play import play
from pulsar_backlog.chunks.dispatch.settings import (
    BrokerLine,
    ConsumerSettings,
    DispatchType,
    Setting,
    Slice,
    Step,
    client_named,
)

MAX_ENTRIES = 2000
"""Most unacknowledged entries that are played: a play takes time for each."""
MAX_PLAYS = 84
ENTRIES_PLAYED = 16_000
"""Entries of all plays of one forecast: about two seconds."""

_CLIENT = re.compile(r"[a-zA-Z+]+([ -]+[\d.]+)?", re.ASCII)
_COUNTED = re.compile(
    r"(?P<client>.+?)(?:\s+(?P<verb>rejects|times out)\s+(?P<most>\d{1,2}))?\s*(?:x\s*(?P<count>\d{1,2}))?$"
)
_SETTLE = Step("wait", (200_000,))
"""Long enough for clients to give up open messages: Java and C++ look once in 60 s for what is older than that."""
_SETTLE_REJECTED = Step("wait", (45_000,))
"""With dead letters: until the last is there, and not until the chunks that they leave behind expire in the client."""


class StoredEntry(NamedTuple):
    """One unacknowledged entry, in order of storing.

    Attributes:
        uuid: of its chunk; empty for a message that is none.
        chunk_id: None for a message that is no chunk.
        num_chunks: None for a message that is no chunk.
        key: message key; None for none.
        compressed: whether its payload is.
    """

    uuid: str
    chunk_id: int | None
    num_chunks: int | None
    key: str | None
    compressed: bool = False

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> StoredEntry:
        """An entry as it is selected from the tables."""
        number = row["num_chunks_from_msg"]
        return cls(row["uuid"] or "", row["chunk_id"], number, row["partition_key"], row["is_compressed"])


@dataclass(frozen=True)
class Stage:
    """What is forecast after an event and all before it.

    Attributes:
        event: as the user wrote it; empty for the consumers' first connecting.
        prediction: all outcomes seen.
        certain: what holds in all of them.
        delivered: least and most messages delivered to anyone.
        undelivered: uuids that no outcome delivers.
        eaten: uuids that every outcome acknowledges without delivering them.
        endangered: uuids that some outcomes, and not all, acknowledge without delivering them.
        dead_letters: least and most messages that went to the dead-letter topic.
    """

    event: str
    prediction: Prediction
    certain: Certain
    delivered: tuple[int, int]
    undelivered: tuple[str, ...]
    eaten: tuple[str, ...]
    endangered: tuple[str, ...]
    dead_letters: tuple[int, int] = (0, 0)


def consumers_of(text: str, queue: int) -> dict[str, ConsumerSettings]:
    """Consumers from words such as `java 4.2 x 2, python`.

    Raises:
        ValueError: one is not known, or there is none.
    """
    made: list[ConsumerSettings] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _COUNTED.match(part)
        if match is None:
            raise ValueError(f"no consumer {part!r}")
        made.extend([_consumer(match, queue)] * int(match["count"] or 1))
    if not made:
        raise ValueError("no consumer is named")
    return {f"c{number}": settings for number, settings in enumerate(made, 1)}


def _consumer(match: re.Match[str], queue: int) -> ConsumerSettings:
    """The settings of one consumer, and what its application does.

    Raises:
        ValueError: the client is not known, or what stands behind it is no version.
    """
    if _CLIENT.fullmatch(match["client"]) is None:
        raise ValueError(f"{match[0]!r} is no client with a version, and perhaps 'rejects N' or 'times out N', 'x N'")
    made = ConsumerSettings(client_named(match["client"]), queue=queue)
    if match["verb"] and made.client.family == "rust":
        raise ValueError(f"what {match[0]!r} does cannot be told: no run of Rust with dead letters was recorded")
    if match["verb"] == "rejects":
        return replace(made, policy={"default": "nack"}, nack_delay_ms=1_000, dead_letter_max=int(match["most"]))
    return by_ack_timeout(replace(made, dead_letter_max=int(match["most"]))) if match["verb"] else made


def by_ack_timeout(consumer: ConsumerSettings) -> ConsumerSettings:
    """The same consumer, whose application acknowledges nothing, so that an ack timeout asks again.

    Raises:
        ValueError: its client has none.
    """
    if not consumer.client.has_ack_timeout:
        raise ValueError(f"{consumer.client.family} has no ack timeout")
    return replace(consumer, policy={"default": "none"}, ack_timeout_ms=2_000)


class _Events:
    """Events as steps; consumers are added as events bring them."""

    def __init__(self, consumers: dict[str, ConsumerSettings], settle: Step) -> None:
        self._settle = settle
        self.consumers = dict(consumers)
        self._connected = list(consumers)

    def steps(self, event: str) -> tuple[Step, ...]:
        """The steps of one event.

        Raises:
            ValueError: the event is not known, or its consumer is not connected.
        """
        verb, _, who = event.strip().lower().partition(" ")
        if event.strip().lower() == "rolling restart":
            return tuple(self._rolling())
        if verb == "unload" and not who:
            return (Step("unload"), self._settle)
        if verb == "restart" and not who:
            old, self._connected = self._connected, []
            again = [self._join(self.consumers[name]) for name in old]
            return (*(Step("close", (name,)) for name in old), Step("wait", (300,)), *again, self._settle)
        if verb == "join" and who:
            queue = next(iter(self.consumers.values())).queue
            return (self._join(ConsumerSettings(client_named(who), queue=queue)), self._settle)
        if verb in ("leave", "kill", "cut") and who:
            if who not in self._connected:
                raise ValueError(f"{event!r}: {who} is not connected; there are {', '.join(self._connected) or 'none'}")
            if verb != "cut":
                self._connected.remove(who)
            return (Step("close" if verb == "leave" else verb, (who,)), self._settle)
        raise ValueError(
            f"no event {event!r}: there are unload, leave NAME, kill NAME, cut NAME, join CLIENT, restart and rolling "
            "restart"
        )

    def _join(self, settings: ConsumerSettings) -> Step:
        name = f"c{len(self.consumers) + 1}"
        self.consumers[name] = settings
        self._connected.append(name)
        return Step("start", (name,))

    def _rolling(self) -> Iterator[Step]:
        for name in list(self._connected):
            yield self._join(self.consumers[name])
            self._connected.remove(name)
            yield Step("close", (name,))
            yield Step("wait", (300,))
        yield self._settle


def forecast(
    entries: Sequence[StoredEntry],
    consumers: dict[str, ConsumerSettings],
    events: Iterable[str],
    *,
    broker: BrokerLine,
    dispatch: DispatchType,
    entries_played: int = ENTRIES_PLAYED,
    read_batches: Sequence[int | None] = (None,),
) -> list[Stage]:
    """What the consumers' connecting, and each event after it, delivers, loses and leaves.

    Args:
        entries: unacknowledged ones, in order.
        consumers: that connect.
        events: after that.
        broker: release line.
        dispatch: subscription type.
        entries_played: in all plays of one stage; fewer plays where there are more entries.
        read_batches: what one read may take at most: several where it is not known; None is the line's default.

    Raises:
        ValueError: there are more entries than are played, an event is not known, or what a client does cannot be told.
    """
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"{len(entries):,} unacknowledged entries; a forecast plays at most {MAX_ENTRIES:,}")
    if dispatch in ("Exclusive", "Failover") and any(one.dead_letter_max is not None for one in consumers.values()):
        raise ValueError(f"an {dispatch} subscription has no dead letters: Shared and Key_Shared have")
    settle = _SETTLE if all(one.dead_letter_max is None for one in consumers.values()) else _SETTLE_REJECTED
    translation = _Events(consumers, settle)
    slices = tuple(
        Slice(entry.uuid or f"entry {at}", entry.chunk_id if entry.uuid else None, entry.num_chunks or 1)
        for at, entry in enumerate(entries)
    )
    keys = {slice_.label: entry.key for slice_, entry in zip(slices, entries, strict=True) if entry.key is not None}
    steps: tuple[Step, ...] = (Step("stored", slices), *(Step("start", (name,)) for name in consumers), settle)
    setting = Setting(broker, dispatch, translation.consumers, steps, keys=keys)
    settings = [replace(setting, read_batch=one) for one in read_batches]
    _refuse_compressed(entries, consumers)
    stages = [_stage("", settings, slices, entries_played)]
    for event in events:
        steps = (*steps, *translation.steps(event))
        _refuse_compressed(entries, translation.consumers)
        settings = [replace(one, consumers=translation.consumers, steps=steps) for one in settings]
        stages.append(_stage(event, settings, slices, entries_played))
    return stages


def _refuse_compressed(entries: Sequence[StoredEntry], consumers: dict[str, ConsumerSettings]) -> None:
    """A slice of a compressed message is an error to Rust: what its application does then is a ValueError here."""
    if any(one.client.family == "rust" for one in consumers.values()) and any(one.compressed for one in entries):
        raise ValueError(
            "what Rust does cannot be told: messages are compressed, and it decompresses each chunk alone, which fails"
        )


def _stage(event: str, settings: Sequence[Setting], slices: Sequence[Slice], entries_played: int) -> Stage:
    """Plays of a setting; of several that may be, in turn."""
    plays = min(MAX_PLAYS, max(7, entries_played // (1 + len(slices) * len(settings[0].steps))))
    outcomes: dict[Outcome, int] = {}
    for seed in range(plays):
        outcome = play(settings[seed % len(settings)], seed)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    prediction = Prediction(outcomes)
    most = {label: most for label, _least, most in prediction.certain.deliveries}
    undelivered = tuple(dict.fromkeys(slice_.label for slice_ in slices if not most.get(slice_.label)))
    counts = [sum(count for _label, count in outcome.delivered) for outcome in outcomes]
    losses = [_acknowledged_undelivered(outcome, slices) for outcome in outcomes]
    every, some = set.intersection(*losses), set.union(*losses)
    return Stage(
        event,
        prediction,
        prediction.certain,
        (min(counts), max(counts)),
        undelivered,
        _in_order(every, slices),
        _in_order(some - every, slices),
        _dead_letters(outcomes),
    )


def _dead_letters(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Least and most messages in the dead-letter topic."""
    topic = ConsumerSettings.dead_letter_topic
    counts = [sum(len(messages) for name, messages in outcome.other_topics if name == topic) for outcome in outcomes]
    return min(counts), max(counts)


def _in_order(labels: set[str], slices: Sequence[Slice]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(slice_.label for slice_ in slices if slice_.label in labels))


def _acknowledged_undelivered(outcome: Outcome, slices: Sequence[Slice]) -> set[str]:
    """Messages that nobody got and of which nothing is left."""
    waiting = {slices[at].label for at in _unacknowledged(outcome, len(slices))}
    return {slice_.label for slice_ in slices} - waiting - {label for label, count in outcome.delivered if count}


def _unacknowledged(outcome: Outcome, entries: int) -> Iterator[int]:
    for at in range(outcome.mark_delete + 1, entries):
        if not any(before < at <= last for before, last in outcome.deleted):
            yield at
