"""How much of what is stored an audit reads: the newest ledgers of each topic first, so that what is seen is one piece.

Chunks of one message lie close together, and subscriptions stand near the end: a piece at the end of a topic says more
than ledgers here and there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


class Stored(Protocol):
    """What is asked of a ledger copy."""

    @property
    def topic(self) -> str | None:
        """Full topic name."""

    @property
    def ledger_id(self) -> int:
        """Ledger id."""

    @property
    def data_bytes(self) -> int | None:
        """Size of the data object."""


Copy = TypeVar("Copy", bound=Stored)


@dataclass(frozen=True)
class Budget:
    """Bounds of a run; None leaves one out.

    Attributes:
        data_bytes: of data objects that the run reads at most.
        ledgers: that the run reads at most.
        percent: of each topic's stored bytes that is read, what earlier runs have read included; the ledger in which
            the mark lies is read whole.
    """

    data_bytes: int | None = None
    ledgers: int | None = None
    percent: float | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self == Budget()

    def __str__(self) -> str:
        """As it is typed."""
        options = (("--budget-bytes", self.data_bytes), ("--limit", self.ledgers), ("--sample", self.percent))
        return ", ".join(
            f"{option} {value:g}%" if option == "--sample" else f"{option} {value}"
            for option, value in options
            if value is not None
        )


@dataclass(frozen=True)
class TopicBytes:
    """Of one topic: bytes of its data objects, and of those that are read already."""

    stored: int
    read: int


def within(budget: Budget, pending: Sequence[Copy], topics: Mapping[str | None, TopicBytes]) -> list[Copy]:
    """The copies that a run reads, in the order of their ids. Where one of a topic is left out, all older ones are.

    Args:
        budget: bounds of the run.
        pending: copies that are not read yet.
        topics: what there is of each topic; asked for a percentage only.
    """
    if budget.is_everything:
        return list(pending)
    taken: list[Copy] = []
    ended: set[str | None] = set()
    read = {topic: topic_bytes.read for topic, topic_bytes in topics.items()}
    room, percent = budget.data_bytes, None if budget.percent == 100 else budget.percent
    for copy in sorted(pending, key=lambda one: one.ledger_id, reverse=True):
        size = copy.data_bytes or 0
        is_full = budget.ledgers is not None and len(taken) >= budget.ledgers
        is_sampled = percent is not None and read[copy.topic] >= topics[copy.topic].stored * percent / 100
        if copy.topic in ended or is_full or is_sampled or (room is not None and size > room):
            ended.add(copy.topic)
            continue
        taken.append(copy)
        room = None if room is None else room - size
        if percent is not None:
            read[copy.topic] += size
    return sorted(taken, key=lambda one: one.ledger_id)
