"""Digests of buckets: ranges of publish times, each with numbers that do not depend on the order of its messages.

Levels are powers of two of milliseconds. A bucket of level 22 holds 64 of level 16, and one of these 64 of level 10:
whoever compares two logs reads the few of the highest level first, and below them only where they differ.

The order of a log is part of the digests too: each message makes a link with the one before it that came from the same
cluster, and the links of a bucket are added up like its messages. Links over the edge of two ledgers are made when
sides are compared, from the first and last message of each (`differing.Edges`): two clusters cut their ledgers at
other places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.replicas.digests import Hashes, digests_of, link_of
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

LEVELS = (22, 16, 10)
SCHEMA = arrow_schema(TABLES["digest_buckets"])
COLUMNS = (
    "cluster", "side", "topic", "ledger_id", "entry_id", "publish_time_ms", "replicated_from", "origin", "content",
)  # fmt: skip
"""Columns of `message_digests` that buckets are made from."""

LOW_HALF = np.uint64(0xFFFFFFFF)


def bucket_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `message_digests`, sorted by ledger, entry and batch index -> rows of `digest_buckets`.

    One ledger's digests are in memory at a time.
    """
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        for part in _of_ledgers(batch):
            if waiting and waiting[-1].column("ledger_id")[0] != part.column("ledger_id")[0]:
                yield from of_ledger(pa.Table.from_batches(waiting))
                waiting = []
            waiting.append(part)
    if waiting:
        yield from of_ledger(pa.Table.from_batches(waiting))


def of_ledger(digests: pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows of one ledger's buckets."""
    matched = digests.filter(pc.and_(pc.is_valid(digests["origin"]), pc.is_valid(digests["content"]))).combine_chunks()
    if not matched.num_rows:
        return
    origin, content, time, entry = (
        matched[name].to_numpy().astype(np.int64) for name in ("origin", "content", "publish_time_ms", "entry_id")
    )
    names = pc.fill_null(matched["replicated_from"].combine_chunks(), "").dictionary_encode()
    stream = names.indices.to_numpy().astype(np.int64)
    digest, link = digests_of(origin, content), _links(stream, origin)
    given = {name: matched[name][0].as_py() for name in ("cluster", "side", "topic", "ledger_id")}
    for level in LEVELS:
        yield _at_level(level, given, names.dictionary, (stream, time >> level, entry, origin, digest, link))


def _links(stream: np.ndarray, origin: np.ndarray) -> Hashes:
    """The link of each message with the one before it in its stream; 0 of the first."""
    order = np.argsort(stream, kind="stable")
    before = np.concatenate((origin[order][:1], origin[order][:-1]))
    links = link_of(before, origin[order])
    links[np.concatenate((np.ones(1, dtype=np.bool_), np.diff(stream[order]) != 0))] = 0
    of_rows = np.empty_like(links)
    of_rows[order] = links
    return of_rows


def _at_level(level: int, given: dict[str, object], names: pa.Array, columns: tuple[np.ndarray, ...]) -> pa.RecordBatch:
    order = np.lexsort((np.arange(len(columns[0])), columns[1], columns[0]))
    stream, bucket, entry, origin, digest, link = (column[order] for column in columns)
    changes = (np.diff(stream) != 0) | (np.diff(bucket) != 0)
    begins = np.concatenate((np.zeros(1, dtype=np.int64), np.flatnonzero(changes) + 1))
    ends = np.append(begins[1:], len(order)) - 1
    low, low_link = (digest & LOW_HALF).view(np.int64), (link & LOW_HALF).view(np.int64)
    rows = len(begins)
    made = {
        **{name: pa.repeat(pa.scalar(value, SCHEMA.field(name).type), rows) for name, value in given.items()},
        "level": pa.repeat(pa.scalar(level, pa.int32()), rows),
        "bucket": pa.array(bucket[begins]),
        "replicated_from": names.take(pa.array(stream[begins])),
        "messages": pa.array(ends - begins + 1),
        "digest_xor": pa.array(np.bitwise_xor.reduceat(digest, begins).view(np.int64)),
        "digest_sum": pa.array(np.add.reduceat(low, begins)),
        "order_xor": pa.array(np.bitwise_xor.reduceat(link, begins).view(np.int64)),
        "order_sum": pa.array(np.add.reduceat(low_link, begins)),
        "first_entry_id": pa.array(np.minimum.reduceat(entry, begins)),
        "last_entry_id": pa.array(np.maximum.reduceat(entry, begins)),
        "first_origin": pa.array(origin[begins]),
        "last_origin": pa.array(origin[ends]),
    }
    return pa.RecordBatch.from_arrays([made[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA)


def _of_ledgers(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    changes = np.flatnonzero(np.diff(batch.column("ledger_id").to_numpy())) + 1
    for start, stop in zip([0, *changes.tolist()], [*changes.tolist(), batch.num_rows], strict=True):
        if stop > start:
            yield batch.slice(start, stop - start)
