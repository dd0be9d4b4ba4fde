"""Chunk entries folded into publications by tasks, which write them and the roles of their copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.frames.chunks.fold import FoldContext, fold_batches, tables_of
from pulsar_backlog.steps.chunk_rows import fold_rows
from pulsar_backlog.storage.asking import Asking
from pulsar_backlog.storage.context import JobContext
from pulsar_backlog.storage.task_tables import replace_by_tasks


def fold(context: JobContext, asked: Asking, edges: Mapping[str, LogEdge]) -> dict[str, int]:
    """Write `chunked_messages` and `chunks` of the cluster; how many rows each has.

    Rows of one topic and uuid meet in one task, in position order, however ledgers and runs cut them.

    Args:
        context: of the job.
        asked: knows `chunk_entries` and `producers`.
        edges: topic -> what is known about the ends of its log.
    """
    known = FoldContext(cluster=context.cluster, edges=edges, source=context.source())
    shared = context.spark.sparkContext.broadcast(known)

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for folded in fold_batches(batches, shared.value):
            yield from tables_of(folded)

    return replace_by_tasks(context, asked, fold_rows(), make, ("chunked_messages", "chunks"))
