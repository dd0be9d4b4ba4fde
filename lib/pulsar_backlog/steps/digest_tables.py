"""Digests of both sides of a comparison: what is not there yet is read and written, ledger by ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.replicas.buckets import COLUMNS, bucket_rows
from pulsar_backlog.replicas.digests import DIGEST_VERSION
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.tableio.spark_rows import schema_of
from pulsar_backlog.tables import TABLES
from pulsar_backlog.workers import quiet

Task = TypeVar("Task")
_BOOKS, _MESSAGES, _BUCKETS = (TABLES[name] for name in ("digest_ledgers", "message_digests", "digest_buckets"))


@dataclass(frozen=True)
class Reader(Generic[Task]):
    """How ledgers are read: the tasks for some of a side's, and the rows of `message_digests` of one."""

    tasks: Callable[[str, AuditedSide, set[int]], Iterable[Task]]
    read: Callable[[Task], Iterator[pa.RecordBatch]]


def digest_side(context: JobContext, name: str, side: AuditedSide, reader: Reader[Any]) -> int:
    """Bring a side's digests up to date; how many bytes of ledgers were read for it."""
    booked = {row["ledger_id"]: row for row in _books(context) if row["side"] == name}
    wanted = {copy.ledger_id: copy for copy in side.copies}
    pending = {ledger_id for ledger_id, copy in wanted.items() if not _is_same(booked.get(ledger_id), copy, side)}
    replaced = sorted(pending | (booked.keys() - wanted.keys()))
    if not replaced:
        return 0
    part = context.slice.where(side=name, ledger_id=replaced)
    context.store.replace(_BOOKS, [], part)  # a run that is killed from here on leaves nothing that looks done
    context.store.replace(_MESSAGES, _digests(context, list(reader.tasks(name, side, pending)), reader), part)
    written = context.store.frame(_MESSAGES).filter(part.column())
    context.store.replace(_BUCKETS, _buckets(written, context.partitions), part)
    counts = {row["ledger_id"]: row for row in _counts(written)}
    rows = [_book(context, name, side, wanted[ledger_id], counts.get(ledger_id)) for ledger_id in sorted(pending)]
    context.store.replace(_BOOKS, rows, part)
    return sum(wanted[ledger_id].data_bytes or 0 for ledger_id in pending)


def _books(context: JobContext) -> list[dict[str, Any]]:
    rows = context.small_rows(_BOOKS.name)
    if rows is not None:
        return list(rows.to_pylist())
    return [row.asDict() for row in context.store.frame(_BOOKS).filter(context.slice.column()).toLocalIterator()]


def _is_same(book: Mapping[str, Any] | None, copy: PlannedCopy, side: AuditedSide) -> bool:
    if book is None or not book["complete"]:
        return False
    now = (side.source, copy.topic, copy.copy, copy.data_bytes, copy.data_etag, DIGEST_VERSION)
    names = ("source", "topic", "copy", "data_bytes", "data_etag", "digest_version")
    return now == tuple(book[name] for name in names)


def _digests(context: JobContext, tasks: Sequence[Any], reader: Reader[Any]) -> DataFrame:
    """Rows of `message_digests`, those of a ledger in the order of the log."""
    sent = context.spark.sparkContext.broadcast(tasks)
    read = reader.read

    def digests(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                yield from read(sent.value[number])

    frame = context.spark.range(0, len(tasks), 1, max(len(tasks), 1)).mapInArrow(quiet(digests), schema_of(_MESSAGES))
    return frame.repartition(context.partitions, "ledger_id").sortWithinPartitions(
        "ledger_id", "entry_id", "batch_index"
    )


def _buckets(digests: DataFrame, partitions: int) -> DataFrame:
    rows = digests.select(*COLUMNS, "batch_index").repartition(partitions, "ledger_id")
    ordered = rows.sortWithinPartitions("ledger_id", "entry_id", "batch_index").select(*COLUMNS)
    return ordered.mapInArrow(quiet(bucket_rows), schema_of(_BUCKETS))


def _counts(digests: DataFrame) -> list[dict[str, Any]]:
    unread = f.col("content").isNull()
    sums = digests.groupBy("ledger_id").agg(
        f.count_if(~unread).alias("messages"),
        f.count_if(unread).alias("unreadable"),
        f.count_if(~unread & f.col("payload_crc32c").isNull()).alias("unopened"),
        f.count_if(f.col("outcome") == "unreadable").alias("failed"),
    )
    return [row.asDict() for row in sums.toLocalIterator()]


def _book(
    context: JobContext, name: str, side: AuditedSide, copy: PlannedCopy, count: Mapping[str, Any] | None
) -> dict[str, Any]:
    count = count or dict.fromkeys(("messages", "unreadable", "unopened", "failed"), 0)
    return {
        "cluster": context.cluster, "side": name, "topic": copy.topic, "ledger_id": copy.ledger_id,
        "source": side.source, "copy": copy.copy, "data_bytes": copy.data_bytes, "data_etag": copy.data_etag,
        "messages": count["messages"], "unreadable": count["unreadable"],
        "unopened": count["unopened"], "complete": count["failed"] == 0,
        "digest_version": DIGEST_VERSION,
    }  # fmt: skip
