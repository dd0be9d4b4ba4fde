"""What the joins need of each subscription, small enough to be sent to every task: bitmaps as roaring's own bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import MAX_ENTRY_ID, AckedSet, Bools, members
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.terms import Position

ACKED, UNACKED, PARTLY = 0, 1, 2


@dataclass(frozen=True)
class Whole:
    """What holds for all entries of a span.

    Attributes:
        acked: whether they are acknowledged.
        redelivered: whether a restart now would deliver them again though they are.
        rolled_back: whether forced recovery would.
    """

    acked: bool
    redelivered: bool
    rolled_back: bool


@dataclass(frozen=True)
class SubscriptionState:
    """One subscription of one topic.

    Attributes:
        view: what stalls are judged by.
        ledgers: individually acknowledged entries by ledger, serialized.
        partly: words of what is not acknowledged of a batch, by ledger and entry.
        redelivered: acknowledged entries that a restart now would deliver again, by ledger, serialized.
        rollback: what forced recovery would go back to; None when not known.
    """

    view: SubscriptionView
    ledgers: Mapping[int, bytes]
    partly: Mapping[int, Mapping[int, tuple[int, ...]]]
    redelivered: Mapping[int, bytes] = field(default_factory=dict)
    rollback: Position | None = None

    def opened(self, ledger_id: int) -> OpenedState:
        """What is known of one ledger."""
        return OpenedState(
            self,
            ledger_id,
            _opened(self.ledgers.get(ledger_id)),
            _opened(self.redelivered.get(ledger_id)),
            self.partly.get(ledger_id, {}),
        )


@dataclass(frozen=True)
class OpenedState:
    """A subscription's state in one ledger, ready to be asked."""

    subscription: SubscriptionState
    ledger_id: int
    acked: BitMap | None
    redelivered: BitMap | None
    partly: Mapping[int, tuple[int, ...]]

    def whole(self, first: int, last: int) -> Whole | None:
        """What holds for every entry from `first` to `last`; None where it differs among them."""
        in_part = bisect_left(self._partly_ids, first) < bisect_right(self._partly_ids, last)
        view, rollback = self.subscription.view, self.subscription.rollback
        acked = _either(self._up_to_both(view.mark_delete, first, last), _covered(self.acked, first, last))
        redelivered = _covered(self.redelivered, first, last)
        both = None if rollback is None else self._up_to_both(rollback, first, last)
        rolled = False if rollback is None or acked is False else None if both is None else not both
        if in_part or acked is None or redelivered is None or rolled is None:
            return None
        return Whole(acked, redelivered, rolled)

    @cached_property
    def _partly_ids(self) -> list[int]:
        return sorted(self.partly)

    def labels(self, entry_ids: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """For each of the ascending entry ids `ACKED`, `UNACKED` or `PARTLY`."""
        return np.where(self.is_acked(entry_ids), ACKED, self._unacked(entry_ids)).astype(np.int8)

    def is_acked(self, entry_ids: npt.NDArray[Any]) -> Bools:
        """For each of the ascending entry ids whether all of it is acknowledged."""
        return self._up_to(self.subscription.view.mark_delete, entry_ids) | members(self.acked, entry_ids)

    def is_redelivered(self, entry_ids: npt.NDArray[Any]) -> Bools:
        """For each of the ascending entry ids whether a restart now would deliver it again."""
        return members(self.redelivered, entry_ids)

    def is_rolled_back(self, entry_ids: npt.NDArray[Any]) -> Bools:
        """For each whether it is acknowledged, and forced recovery would deliver it again."""
        rollback = self.subscription.rollback
        if rollback is None:
            return np.zeros(len(entry_ids), dtype=np.bool_)
        return self.is_acked(entry_ids) & ~self._up_to(rollback, entry_ids)

    def _up_to(self, position: Position, entry_ids: npt.NDArray[Any]) -> Bools:
        ledger_id, entry_id = position
        if self.ledger_id == ledger_id:
            return np.asarray(entry_ids <= entry_id)
        return np.full(len(entry_ids), self.ledger_id < ledger_id)

    def _up_to_both(self, position: Position, first: int, last: int) -> bool | None:
        """Whether both entries lie up to a position; None where it lies between them."""
        ends = self._up_to(position, np.array([first, last]))
        return bool(ends[0]) if ends[0] == ends[1] else None

    def _unacked(self, entry_ids: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        if not self.partly:
            return np.full(len(entry_ids), UNACKED, dtype=np.int8)
        return np.where(np.isin(entry_ids, list(self.partly)), PARTLY, UNACKED).astype(np.int8)


States = Mapping[str, tuple[SubscriptionState, ...]]
"""By topic, in the order of mark-delete, the furthest last."""


def state_of(
    view: SubscriptionView, acked: AckedSet, redelivered: Mapping[int, BitMap], rollback: Position | None
) -> SubscriptionState:
    """The state that tasks need."""
    partly: dict[int, dict[int, tuple[int, ...]]] = {}
    for (ledger_id, entry_id), words in acked.partly.items():
        partly.setdefault(ledger_id, {})[entry_id] = words
    return SubscriptionState(view, _closed(acked.ledgers), partly, _closed(redelivered), rollback)


def by_topic(states: Iterable[tuple[str, SubscriptionState]]) -> States:
    """States grouped by topic and ordered."""
    grouped: dict[str, list[SubscriptionState]] = {}
    for topic, state in states:
        grouped.setdefault(topic, []).append(state)
    return {topic: tuple(sorted(of, key=lambda s: (s.view.mark_delete, s.view.name))) for topic, of in grouped.items()}


def _covered(bitmap: BitMap | None, first: int, last: int) -> bool | None:
    """Whether all entries from `first` to `last` are in a bitmap; None where some are."""
    if bitmap is None or not 0 <= first <= MAX_ENTRY_ID:
        return False
    count = bitmap.range_cardinality(first, min(last, MAX_ENTRY_ID) + 1)
    return False if not count else True if count == last - first + 1 else None


def _either(one: bool | None, other: bool | None) -> bool | None:
    """Whether one of two holds for all: true when one is, false when both are, else not known."""
    if one or other:
        return True
    return None if one is None or other is None else False


def _closed(ledgers: Mapping[int, BitMap]) -> dict[int, bytes]:
    return {ledger_id: bitmap.serialize() for ledger_id, bitmap in ledgers.items()}


def _opened(data: bytes | None) -> BitMap | None:
    return None if data is None else BitMap.deserialize(data)
