"""Digests of two sides as Arrow rows: buckets of a level, and the messages of such as differ. No JVM is started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import duckdb
import pyarrow as pa

from pulsar_backlog.replicas.buckets import LEVELS
from pulsar_backlog.sql.duck import opened
from pulsar_backlog.sql.duck_values import literal

_TABLES = "SELECT 1 FROM message_digests, digest_buckets, digest_ledgers"
_BUCKET_COLUMNS = (
    "ledger_id, bucket, replicated_from, messages, digest_xor, digest_sum, order_xor, order_sum, first_entry_id, "
    "last_entry_id, first_origin, last_origin"
)
_MESSAGE_COLUMNS = (
    "ledger_id, entry_id, batch_index, producer_name, sequence_id, publish_time_ms, broker_time_ms, "
    "coalesce(replicated_from, '') AS replicated_from, replicate_to, chunk_uuid, outcome, verified, is_repair, origin, "
    "ordinal, content"
)
_MOST_WINDOWS = 16
"""Groups of ranges that are asked for one by one: an engine skips what lies outside of one range, not of many."""
_MOST_RANGES = 64
"""Ranges that are asked for at once; of more the smallest that holds them all is read."""

Ranges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Digests:
    """The digests of one comparison.

    Attributes:
        connection: that knows its tables.
        cluster: of them.
        read: bytes of the rows that were asked for, by table.
    """

    connection: duckdb.DuckDBPyConnection
    cluster: str
    read: Counter[str] = field(default_factory=Counter)

    def buckets(self, side: str, topic: str | None, level: int, ranges: Ranges | None = None) -> pa.Table:
        """Rows of `digest_buckets` of one level; `ranges` are of buckets, both ends included, None for all."""
        chosen = f"{self._mine(side, topic)} AND level = {level} AND {_in('bucket', ranges, 0)}"
        return self._rows(f"SELECT {_BUCKET_COLUMNS} FROM digest_buckets WHERE {chosen}")  # noqa: S608 - quoted

    def highest(self, side: str, level: int) -> dict[str, pa.Table]:
        """All rows of one level, by topic."""
        mine = f"cluster = {literal(self.cluster)} AND side = {literal(side)} AND level = {level}"
        query = f"SELECT topic, {_BUCKET_COLUMNS} FROM digest_buckets WHERE {mine} AND topic IS NOT NULL ORDER BY topic"  # noqa: S608
        rows = self._rows(query).combine_chunks()
        topics = rows["topic"].to_pylist()
        begins = [at for at, topic in enumerate(topics) if at == 0 or topic != topics[at - 1]]
        ends = [*begins[1:], len(topics)]
        return {topics[start]: rows.slice(start, end - start) for start, end in zip(begins, ends, strict=False)}

    def no_buckets(self) -> pa.Table:
        """No row, in the columns of `buckets`."""
        return self._rows(f"SELECT {_BUCKET_COLUMNS} FROM digest_buckets WHERE FALSE")  # noqa: S608 - own words

    def times(self, side: str, topic: str) -> tuple[int | None, int | None]:
        """Publish time of the earliest and of the latest message of a topic."""
        mine = self._mine(side, topic)
        ends = (
            f"SELECT min(bucket) AS low, max(bucket) AS high FROM digest_buckets WHERE {mine} AND level = {LEVELS[-1]}"  # noqa: S608
        )
        (buckets,) = self._rows(ends).to_pylist()
        return self._time("min", mine, buckets["low"]), self._time("max", mine, buckets["high"])

    def _time(self, which: str, mine: str, bucket: int | None) -> int | None:
        """The earliest or latest publish time in a bucket of the lowest level; one range, so that few rows are read."""
        if bucket is None:
            return None
        within = _in("publish_time_ms", [(bucket << LEVELS[-1], (bucket + 1) << LEVELS[-1])], 1)
        chosen = f"{mine} AND content IS NOT NULL AND {within}"
        query = f"SELECT {which}(publish_time_ms) AS at_ms FROM message_digests WHERE {chosen}"  # noqa: S608 - quoted
        (row,) = self._rows(query).to_pylist()
        return None if row["at_ms"] is None else int(row["at_ms"])

    def messages(self, side: str, topic: str | None, times: Ranges | None) -> pa.Table:
        """Messages with a digest, in the order of the log; `times` are half-open ranges of publish times."""
        mine = f"{self._mine(side, topic)} AND content IS NOT NULL"
        parts = [
            f"SELECT {_MESSAGE_COLUMNS} FROM message_digests WHERE {mine} AND {_in('publish_time_ms', window, 1)}"  # noqa: S608
            for window in _windows(times)
        ]
        return self._rows(f"{' UNION ALL '.join(parts)} ORDER BY ledger_id, entry_id, batch_index")

    def unread(self, side: str, topic: str | None) -> pa.Table:
        """What of a topic could not be read or opened."""
        there = "content IS NULL" if self._counts(side, topic)[0] else "FALSE"  # else all of the column is read
        columns = f"{_MESSAGE_COLUMNS}, highest_sequence_id"
        return self._rows(f"SELECT {columns} FROM message_digests WHERE {self._mine(side, topic)} AND {there}")  # noqa: S608

    def unopened(self, side: str, topic: str | None) -> int:
        """How many messages of a topic are there and stay shut."""
        return self._counts(side, topic)[1]

    def _counts(self, side: str, topic: str | None) -> tuple[int, int]:
        """Rows of a topic without content, and of messages that stay shut."""
        sums = "sum(unreadable) AS unreadable, sum(unopened) AS unopened"
        query = f"SELECT {sums} FROM digest_ledgers WHERE {self._mine(side, topic)}"  # noqa: S608 - quoted
        (row,) = self._rows(query).to_pylist()
        return int(row["unreadable"] or 0), int(row["unopened"] or 0)

    def _mine(self, side: str, topic: str | None) -> str:
        named = "topic IS NULL" if topic is None else f"topic = {literal(topic)}"
        return f"cluster = {literal(self.cluster)} AND side = {literal(side)} AND {named}"

    def _rows(self, query: str) -> pa.Table:
        rows = self.connection.execute(query).to_arrow_table()
        self.read[query.partition(" FROM ")[2].partition(" ")[0]] += rows.nbytes
        return rows


@contextmanager
def digests_in(out: str, cluster: str, endpoint: str | None = None) -> Iterator[Digests]:
    """The digests in the tables of `out`."""
    with opened(out, _TABLES, endpoint) as connection:
        yield Digests(connection, cluster)


def _windows(ranges: Ranges | None) -> list[Ranges | None]:
    """Ranges in a few groups, cut where most lies between them: files and row groups there are not read."""
    if ranges is None or len(ranges) < 2:
        return [ranges]
    by_gap = sorted(range(1, len(ranges)), key=lambda at: ranges[at - 1][1] - ranges[at][0])
    cuts = [0, *sorted(by_gap[: _MOST_WINDOWS - 1]), len(ranges)]
    return [ranges[start:end] for start, end in pairwise(cuts)]


def _in(column: str, ranges: Ranges | None, open_end: int) -> str:
    """A condition: a number lies in one of the ranges."""
    if ranges is None:
        return "TRUE"
    if not ranges:
        return "FALSE"
    bounds = (
        f"{column} BETWEEN {ranges[0][0]} AND {ranges[-1][1] - open_end}"  # the files' statistics are asked of this
    )
    if len(ranges) == 1:
        return bounds
    if len(ranges) > _MOST_RANGES:
        pairs = ", ".join(f"({start}, {end - open_end})" for start, end in ranges)
        return (
            f"{bounds} AND EXISTS (SELECT 1 FROM (VALUES {pairs}) AS r(low, high) WHERE {column} BETWEEN low AND high)"  # noqa: S608
        )
    return f"{bounds} AND ({' OR '.join(f'{column} BETWEEN {start} AND {end - open_end}' for start, end in ranges)})"
