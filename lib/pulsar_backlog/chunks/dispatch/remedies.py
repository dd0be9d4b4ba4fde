"""Which remedy frees what stays: each is played, and the best is one that gains for certain and loses nothing more.

    unload              ends all pins; all clients come back
    restart             all consumers leave, then come back
    leave c1            one consumer goes; on Key_Shared it gives back the hashes that drain
    queue 10            receiver queues of 10 or more, or of 1,000: leaked permits hold up a large queue later
    broker 4.2          an upgrade; its dispatcher counts permits right
    without rust        where other clients read the subscription, too: Rust takes each chunk for a message
    ack timeout         instead of negative acknowledgements that end in dead letters: Java then acknowledges all chunks

A rolling restart is not among them: it frees nothing that one of these does not free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pulsar_backlog.chunks.clients.settings import DEFAULT_QUEUE
from pulsar_backlog.chunks.dispatch.forecast import ENTRIES_PLAYED, Stage, StoredEntry, by_ack_timeout, forecast
from pulsar_backlog.chunks.dispatch.settings import BrokerLine, ConsumerSettings, DispatchType

MOST_LEAVING = 4
"""Consumers of whom it is tried what becomes when one leaves."""
SMALL_QUEUE = 10
"""On a broker 4.0, smaller receiver queues of several consumers can stall for good."""


@dataclass(frozen=True)
class Remedy:
    """What was tried.

    Attributes:
        name: as in the module's table.
        stage: what came of it.
    """

    name: str
    stage: Stage


def needs_remedy(stage: Stage) -> bool:
    """Whether anything stays or is lost, in any play."""
    return stage.certain.backlog[1] > 0 or bool(stage.eaten or stage.endangered)


def tried_remedies(
    entries: Sequence[StoredEntry], consumers: dict[str, ConsumerSettings], broker: BrokerLine, dispatch: DispatchType,
    read_batches: Sequence[int | None] = (None,), entries_played: int = ENTRIES_PLAYED,
) -> Iterator[Remedy]:  # fmt: skip
    """Every remedy that the subscription can take, played: in all of them together about so many entries."""
    play = partial(forecast, dispatch=dispatch, read_batches=read_batches)
    names = list(consumers)[:MOST_LEAVING] if dispatch == "Key_Shared" and len(consumers) > 1 else []
    events = ["unload", "restart", *(f"leave {name}" for name in names)]
    budget = entries_played // (len(events) + 3)
    for event in events:
        stages = play(entries, consumers, [event], broker=broker, entries_played=budget)
        yield Remedy(event, stages[-1])
    rare = dispatch == "Shared" and broker == "4.0" and len(consumers) > 1
    smallest = min(one.queue for one in consumers.values())
    for queue in (SMALL_QUEUE, DEFAULT_QUEUE):
        if smallest < queue and (rare or queue == DEFAULT_QUEUE):
            larger = {name: replace(one, queue=max(one.queue, queue)) for name, one in consumers.items()}
            stages = play(entries, larger, (), broker=broker, entries_played=budget)
            yield Remedy(f"queue {queue}", stages[-1])
    others = {name: one for name, one in consumers.items() if one.client.profile is not None}
    if len(others) not in (0, len(consumers)):
        yield Remedy("without rust", play(entries, others, (), broker=broker, entries_played=budget)[-1])
    timed = _by_ack_timeout(consumers)
    if timed is not None:
        yield Remedy("ack timeout", play(entries, timed, (), broker=broker, entries_played=budget)[-1])
    if rare and 1 < smallest < SMALL_QUEUE:
        stages = play(entries, consumers, (), broker="4.2", entries_played=budget)
        yield Remedy("broker 4.2", stages[-1])


def _by_ack_timeout(consumers: dict[str, ConsumerSettings]) -> dict[str, ConsumerSettings] | None:
    """Consumers that reject messages until they are dead letters, with an ack timeout; None where none of Java does."""
    rejecting = {
        name
        for name, one in consumers.items()
        if one.dead_letter_max is not None and one.client.timeout_all and "nack" in one.policy.values()
    }
    if not rejecting:
        return None
    return {name: by_ack_timeout(one) if name in rejecting else one for name, one in consumers.items()}


def best_remedy(base: Stage, remedies: Sequence[Remedy]) -> Remedy | None:
    """The first of those that gain most; None when none gains for certain, or each that does loses more."""
    gaining = [remedy for remedy in remedies if _gains(base, remedy.stage)]
    return max(gaining, key=lambda remedy: _worth(remedy.stage)) if gaining else None


def _gains(base: Stage, stage: Stage) -> bool:
    lost, may_be_lost = set(base.eaten), {*base.eaten, *base.endangered}
    if not set(stage.eaten) <= lost or not set(stage.endangered) <= may_be_lost:
        return False
    freed = stage.certain.backlog[1] < base.certain.backlog[1] and stage.certain.backlog[0] <= base.certain.backlog[0]
    return (freed or stage.delivered[0] > base.delivered[0]) and _worth(stage) > _worth(base)


def _worth(stage: Stage) -> tuple[int, int, int]:
    """More messages for certain, less lost, less left."""
    undelivered = len(stage.undelivered)
    return -undelivered, -len(stage.eaten) - len(stage.endangered), -stage.certain.backlog[1]
