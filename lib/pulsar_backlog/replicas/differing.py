"""Which buckets of two sides differ, and how far the equal ones reach: from rows of `digest_buckets`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.replicas.buckets import LOW_HALF
from pulsar_backlog.replicas.digests import link_of
from pulsar_backlog.terms import Position

Int64s = npt.NDArray[np.int64]
Streams = dict[str, tuple[Position, Position]]
"""First and last position by the cluster that messages were replicated from."""

_SUMS = ("messages", "digest_xor", "digest_sum", "order_xor", "order_sum")


@dataclass(frozen=True)
class Edges:
    """Links over the edges of ledgers of one topic on one side: by ledger, stream and its first entry there."""

    links: Mapping[tuple[int, str, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: pa.Table) -> Edges:
        """The links that the rows of any one level tell of, which must be all of that level."""
        first: dict[tuple[int, str], tuple[int, int]] = {}
        last: dict[tuple[int, str], tuple[int, int]] = {}
        names = ("ledger_id", "replicated_from", "first_entry_id", "first_origin", "last_entry_id", "last_origin")
        for ledger, stream, begin, begins_with, end, ends_with in zip(
            *(rows[name].to_pylist() for name in names), strict=True
        ):
            key = (ledger, stream)
            first[key] = min(first.get(key, (begin, begins_with)), (begin, begins_with))
            last[key] = max(last.get(key, (end, ends_with)), (end, ends_with))
        links = {}
        before: dict[str, int] = {}
        for (ledger, stream), (entry, origin) in sorted(first.items()):
            if stream in before:
                link = link_of(np.array([before[stream]]), np.array([origin]))
                links[ledger, stream, entry] = int(link[0])
            before[stream] = last[ledger, stream][1]
        return cls(links)


def differing(a: pa.Table, b: pa.Table, edges: tuple[Edges, Edges]) -> Int64s:
    """The buckets of one level that the sides do not agree on, ascending."""
    buckets = np.union1d(_column(a, "bucket"), _column(b, "bucket"))
    sums = [_sums(rows, own, buckets) for rows, own in zip((a, b), edges, strict=True)]
    unequal = np.zeros(len(buckets), dtype=np.bool_)
    for here, there in zip(*sums, strict=True):
        unequal |= here != there
    return buckets[unequal]


def reach(rows: pa.Table, buckets: Int64s) -> Streams:
    """First and last position, by stream, of the rows of a level that are not of these buckets."""
    others = ~np.isin(_column(rows, "bucket"), buckets)
    streams: Streams = {}
    chosen = rows.filter(pa.array(others))
    names = ("replicated_from", "ledger_id", "first_entry_id", "last_entry_id")
    for stream, ledger, first, last in zip(*(chosen[name].to_pylist() for name in names), strict=True):
        streams = wider(streams, stream, (ledger, first), (ledger, last))
    return streams


def wider(streams: Streams, stream: str, first: Position, last: Position) -> Streams:
    """The same, reaching at least from `first` to `last`."""
    low, high = streams.get(stream, (first, last))
    return {**streams, stream: (min(low, first), max(high, last))}


def ranges_of(buckets: Int64s, level: int) -> list[tuple[int, int]]:
    """Half-open ranges of publish times, neighbours joined."""
    ranges: list[tuple[int, int]] = []
    for bucket in buckets.tolist():
        start, end = bucket << level, (bucket + 1) << level
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def within(ranges: Iterable[tuple[int, int]], level: int) -> list[tuple[int, int]]:
    """Ranges of times as ranges of buckets of a level, the last one included."""
    return [(start >> level, (end - 1) >> level) for start, end in ranges]


def _sums(rows: pa.Table, edges: Edges, buckets: Int64s) -> list[Int64s]:
    at = np.searchsorted(buckets, _column(rows, "bucket"))
    sums = []
    for name in _SUMS:
        total = np.zeros(len(buckets), dtype=np.int64)
        add = np.bitwise_xor if name.endswith("xor") else np.add
        add.at(total, at, _column(rows, name))
        sums.append(total)
    if edges.links:
        names = ("ledger_id", "replicated_from", "first_entry_id")
        for row, key in enumerate(zip(*(rows[name].to_pylist() for name in names), strict=True)):
            if (link := edges.links.get(key)) is not None:
                sums[3][at[row]] ^= np.uint64(link).view(np.int64)
                sums[4][at[row]] += int(np.uint64(link) & LOW_HALF)
    return sums


def _column(rows: pa.Table, name: str) -> Int64s:
    return np.asarray(rows[name].to_numpy(), dtype=np.int64)
