"""One side of a topic as a judge sees it: messages that may differ, how far others reach, what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.replicas.differing import Streams
from pulsar_backlog.replicas.digests import sender_hashes
from pulsar_backlog.replicas.matching import Copies
from pulsar_backlog.terms import Position, Sureness

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ENTRY_BITS = 40
_LAST_ENTRY = (1 << _ENTRY_BITS) - 1


@dataclass(frozen=True)
class Places:
    """Positions of a topic as single numbers in the same order: a ledger's rank among the topic's, then the entry."""

    ledgers: Int64s

    @classmethod
    def of(cls, ledgers: Iterable[int]) -> Places:
        """Numbers for entries of these ledgers."""
        return cls(np.unique(np.fromiter(ledgers, dtype=np.int64)))

    def numbers(self, ledger: Int64s, entry: Int64s) -> Int64s:
        """The number of each position; of an entry -1 the ledger's beginning."""
        rank = np.searchsorted(self.ledgers, ledger).astype(np.int64)
        return (rank << _ENTRY_BITS) + np.clip(entry, -1, _LAST_ENTRY - 1) + 1

    def number(self, position: Position) -> int:
        """The number of one position."""
        return int(self.numbers(np.array([position[0]]), np.array([position[1]]))[0])

    def whole(self, ledger: int) -> tuple[int, int]:
        """First and last number of a ledger."""
        begin = self.number((ledger, -1))
        return begin, begin + _LAST_ENTRY


@dataclass(frozen=True)
class Cursor:
    """A replicator's cursor: all up to `acked` is passed on; up to `touched` some of it is."""

    acked: int
    touched: int
    name: str


@dataclass(frozen=True)
class Fault:
    """What is wrong with a message that a side holds in part, or damaged.

    Attributes:
        state: of its chunks, or the outcome of reading it.
        sureness: as the side's own log tells.
        reason: why, in words.
        begin: its first chunk on the other side; None where that is not known, or it is not chunked.
    """

    state: str
    sureness: Sureness
    reason: str
    begin: Position | None = None


@dataclass(frozen=True)
class Half:
    """One side of a topic.

    Attributes:
        name: `a` or `b`.
        cluster: its name, as the audit was told.
        rows: messages of buckets that differ, with the columns of `Digests.messages`, in the order of the log.
        places: numbers for its positions.
        streams: first and last position of messages in buckets that agree, by the cluster they came from.
        doubts: first and last number of stretches that could not be read, ascending.
        broken: what is there and not whole, or cannot be read, by origin.
        cursor: of the replicator to the other side; None where nothing is known of it.
        messages: how many messages the topic has there.
        first_ms: publish time of the earliest message there; None without any.
        last_ms: of the latest.
        is_partial: whether the audit was asked for a part of the log only.
    """

    name: str
    cluster: str
    rows: pa.Table
    places: Places
    streams: Streams
    doubts: list[tuple[int, int]]
    broken: Mapping[int, Fault]
    cursor: Cursor | None
    messages: int
    first_ms: int | None
    last_ms: int | None
    is_partial: bool = False

    def numbers(self) -> Int64s:
        """The number of each row's position."""
        return self.places.numbers(self.column("ledger_id"), self.column("entry_id"))

    def column(self, name: str) -> Int64s:
        """A column of whole numbers."""
        return np.asarray(self.rows[name].to_numpy(), dtype=np.int64)

    def of_repairs(self) -> Bools:
        """Which rows a repair published."""
        return np.asarray(self.rows["is_repair"].fill_null(False).to_numpy(zero_copy_only=False), dtype=np.bool_)

    def copies(self) -> Copies:
        """The rows as they are matched."""
        origin, content, ordinal = (self.column(name) for name in ("origin", "content", "ordinal"))
        return Copies(origin, content, ordinal, sender_hashes(self.rows).view(np.int64))

    def stream_numbers(self) -> tuple[Int64s, list[str]]:
        """The cluster that each row came from, as a number, and the names."""
        encoded = self.rows["replicated_from"].combine_chunks().dictionary_encode()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def near_doubts(numbers: Int64s, here: Int64s, there: Int64s, doubts: list[tuple[int, int]]) -> Bools:
    """Whether something could not be read on the other side where each message would lie: between its neighbours."""
    if not doubts or not len(numbers):
        return np.zeros(len(numbers), dtype=np.bool_)
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    at = np.searchsorted(here, numbers)
    padded = np.concatenate(([lowest], there, [highest]))
    low, high = padded[at], padded[at + 1]
    starts, stops = (np.array(column, dtype=np.int64) for column in zip(*doubts, strict=True))
    near = np.zeros(len(numbers), dtype=np.bool_)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        near |= (start <= high) & (stop >= low)
    return near
