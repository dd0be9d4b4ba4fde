"""Entries of a ledger against subscriptions' states: runs of what is not acknowledged, and sums. Arrays only.

Entries come in pieces, ascending: one by one, or as a span of which only sums are known where all of it is acknowledged
or none. A run that a piece's edge cuts is carried over. Entries that are missing from the store do not end a run,
acknowledged ones do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

from pulsar_backlog.subscriptions.states import ACKED, PARTLY, OpenedState, Whole
from pulsar_backlog.wire.arrays import Int64s

MAX_INDEXES = 1000
_WORD = (1 << 64) - 1


def _no_time(_place: int) -> int | None:
    return None


@dataclass(frozen=True)
class Piece:
    """Some entries of one ledger, ascending.

    Attributes:
        entry_ids: ids.
        bytes: of each entry.
        messages: in each; 0 for a marker.
        publish_ms: of each.
        broker_ms: when the broker added the one at a place; None where it does not tell.
    """

    entry_ids: Int64s
    bytes: Int64s
    messages: Int64s
    publish_ms: Int64s
    broker_ms: Callable[[int], int | None] = _no_time


@dataclass(frozen=True)
class Span:
    """Neighbouring entries of one ledger in sums; `publish_ms` and `broker_ms` are those of the first one."""

    first: int
    last: int
    entries: int
    messages: int
    bytes: int
    publish_ms: int
    broker_ms: int | None = None


@dataclass(frozen=True)
class Oldest:
    """The first entry of a ledger that is not acknowledged."""

    entry_id: int
    publish_ms: int
    broker_ms: int | None


@dataclass
class Runs:
    """Runs that are finished, one array per column."""

    first: list[Int64s] = field(default_factory=list)
    last: list[Int64s] = field(default_factory=list)
    entries: list[Int64s] = field(default_factory=list)
    messages: list[Int64s] = field(default_factory=list)
    bytes: list[Int64s] = field(default_factory=list)

    def add(self, columns: Int64s) -> None:
        """Rows of first, last, entries, messages, bytes."""
        for runs, column in zip((self.first, self.last, self.entries, self.messages, self.bytes), columns, strict=True):
            runs.append(column)


@dataclass(frozen=True)
class BatchHole:
    """An entry of which a part of the batch is not acknowledged.

    Attributes:
        entry_id: the entry.
        messages: how many are not.
        bytes: of the entry.
        indexes: which, the first `MAX_INDEXES`.
        impossible: whether the state names indexes that the batch does not have.
    """

    entry_id: int
    messages: int
    bytes: int
    indexes: list[int]
    impossible: bool


@dataclass
class LedgerSums:
    """What adds up over a ledger for one subscription."""

    entries: int = 0
    messages: int = 0
    bytes: int = 0
    redelivered_bytes: int = 0
    rolled_back_entries: int = 0
    rolled_back_bytes: int = 0
    oldest: Oldest | None = None


class AckJoin:
    """One subscription, one ledger: give it the pieces in order, then take runs and sums."""

    def __init__(self, state: OpenedState) -> None:
        self._state = state
        self._open: Int64s | None = None
        self.runs = Runs()
        self.batch_holes: list[BatchHole] = []
        self.sums = LedgerSums()

    def add(self, piece: Piece) -> None:
        """Take the next entries."""
        labels = self._state.labels(piece.entry_ids)
        messages = piece.messages
        partly = np.flatnonzero(labels == PARTLY)
        if len(partly):
            messages = messages.copy()
            for at in partly.tolist():
                messages[at] = self._batch_hole(int(piece.entry_ids[at]), int(messages[at]), int(piece.bytes[at]))
        self._sum(piece, labels, messages)
        self._extend(piece, labels, messages)

    def add_span(self, span: Span, whole: Whole) -> None:
        """Take the next entries, for all of which the same holds."""
        sums = self.sums
        if whole.redelivered:
            sums.redelivered_bytes += span.bytes
        if whole.rolled_back:
            sums.rolled_back_entries += span.entries
            sums.rolled_back_bytes += span.bytes
        if whole.acked:
            self.finish()
            return
        sums.entries += span.entries
        sums.messages += span.messages
        sums.bytes += span.bytes
        if sums.oldest is None:
            sums.oldest = Oldest(span.first, span.publish_ms, span.broker_ms)
        if self._open is None:
            self._open = np.array([span.first, span.last, span.entries, span.messages, span.bytes])
        else:
            self._open[1] = span.last
            self._open[2:] += (span.entries, span.messages, span.bytes)

    def finish(self) -> None:
        """No more entries."""
        if self._open is not None:
            self.runs.add(self._open.reshape(5, 1))
            self._open = None

    def _batch_hole(self, entry_id: int, size: int, length: int) -> int:
        words = self._state.partly[entry_id]
        bits = sum((word & _WORD) << (64 * at) for at, word in enumerate(words))
        impossible = bits.bit_length() > size
        # Bits beyond the batch mean that none can be believed: all of it counts as not acknowledged.
        messages = max(size, 0) if impossible else bits.bit_count()
        indexes = range(messages) if impossible else (n for n in range(bits.bit_length()) if bits >> n & 1)
        self.batch_holes.append(BatchHole(entry_id, messages, length, list(islice(indexes, MAX_INDEXES)), impossible))
        return messages

    def _sum(self, piece: Piece, labels: npt.NDArray[np.int8], messages: Int64s) -> None:
        sums, unacked = self.sums, labels != ACKED
        if unacked.any():
            sums.entries += int(unacked.sum())
            sums.messages += int(messages[unacked].sum())
            sums.bytes += int(piece.bytes[unacked].sum())
            first = int(np.argmax(unacked))
            if sums.oldest is None:
                sums.oldest = Oldest(int(piece.entry_ids[first]), int(piece.publish_ms[first]), piece.broker_ms(first))
        if self._state.redelivered is not None:
            sums.redelivered_bytes += int(piece.bytes[self._state.is_redelivered(piece.entry_ids)].sum())
        rolled = self._state.is_rolled_back(piece.entry_ids)
        if rolled.any():
            sums.rolled_back_entries += int(rolled.sum())
            sums.rolled_back_bytes += int(piece.bytes[rolled].sum())

    def _extend(self, piece: Piece, labels: npt.NDArray[np.int8], messages: Int64s) -> None:
        edges = np.flatnonzero(labels[1:] != labels[:-1]) + 1
        starts = np.concatenate(([0], edges))
        ends = np.concatenate((edges, [len(labels)]))
        wanted = labels[starts] == 1
        if self._open is not None and labels[0] != 1:
            self.finish()
        if not wanted.any():
            return
        columns = np.array([
            piece.entry_ids[starts], piece.entry_ids[ends - 1], ends - starts,
            np.add.reduceat(messages, starts), np.add.reduceat(piece.bytes, starts),
        ])[:, wanted]  # fmt: skip
        if self._open is not None:
            columns[0, 0] = self._open[0]
            columns[2:, 0] += self._open[2:]
            self._open = None
        if labels[-1] == 1:
            self._open = columns[:, -1].copy()
            columns = columns[:, :-1]
        if columns.shape[1]:
            self.runs.add(columns)


def rows_of(join: AckJoin) -> Iterator[Int64s]:
    """Columns first, last, entries, messages, bytes of the finished runs."""
    if join.runs.first:
        yield np.array([
            np.concatenate(column) for column in
            (join.runs.first, join.runs.last, join.runs.entries, join.runs.messages, join.runs.bytes)
        ])  # fmt: skip
