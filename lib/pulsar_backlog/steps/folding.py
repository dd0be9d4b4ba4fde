"""Chunk entries folded into publications by tasks, which write them and the roles of their copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.frames.chunks.fold import FoldContext, FoldTask, SendKey
from pulsar_backlog.progress import Meter, progress
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.sql.task_tables import replace_by_tasks
from pulsar_backlog.steps.chunk_rows import fold_rows, payload_bytes
from pulsar_backlog.tableio.table_logs import tasks_share_disk


def fold(context: JobContext, engine: QueryEngine, edges: Mapping[str, LogEdge]) -> dict[str, int]:
    """Write `chunked_messages` and `chunks` of the cluster; how many rows each has.

    Rows of one topic and uuid meet in one task, in position order, however ledgers and runs cut them.

    Args:
        context: of the job.
        engine: knows `chunk_entries` and `producers`.
        edges: topic -> what is known about the ends of its log.
    """
    with _shown(engine) as meter:
        fold_context = FoldContext(context.cluster, edges, context.source(), meter, _resent_in_children(engine))
        make = FoldTask(engine.share(fold_context))
        return replace_by_tasks(context, engine, fold_rows(engine), make, ("chunked_messages", "chunks"))


def _resent_in_children(engine: QueryEngine) -> dict[SendKey, str]:
    """Unfinished sends in segments whose message is whole in another segment, and where; most clusters have none."""
    segments = "SELECT count(*) AS entries FROM chunk_entries WHERE topic LIKE 'segment://%'"
    if not engine.rows({"": segments})[""][0]["entries"]:
        return {}
    rows = engine.rows({"": engine.sql("chunks", "resent_in_children", {})})[""]
    return {
        (row["topic"], row["chunk_uuid"], row["publish_time_ms"]): (
            "by checksum its chunks hold the bytes of those of the message stored whole in "
            f"{row['whole_topic']} from {row['whole_ledger_id']}:{row['whole_entry_id']} on: the segment was sealed, "
            "and the producer sent it again"
        )
        for row in rows
    }


@contextmanager
def _shown(engine: QueryEngine) -> Iterator[Meter | None]:
    """How far tasks are with payloads that are read to be decompressed: that takes as long as their store does."""
    (sums,) = engine.rows({"": payload_bytes()})[""]
    if not sums["bytes"] or not tasks_share_disk():
        yield None
        return
    with TemporaryDirectory(prefix="pulsar-backlog-") as folder, progress("payloads", sums["bytes"]) as shown:
        meter = Meter(Path(folder))
        with shown.watch(meter.total):
            yield meter
