"""What only shows when all publications under one uuid are seen together."""

from __future__ import annotations

from collections.abc import Iterable

from pulsar_backlog.chunks.rows import ChunkRow, trusted


def _assembled_by_clients(row: ChunkRow) -> bool:
    """Whether clients put the entry into a chunk context: damaged, batched and lone ones they do not."""
    return trusted(row) and row.num_messages_in_batch is None and (row.num_chunks or 0) > 1


def mixed_publish_times(rows: Iterable[ChunkRow]) -> set[int]:
    """Publish times of publications that a client which ignores publish times joins with another.

    Rows of one uuid in position order. Real clients key their contexts by uuid alone; Java, C++ and Go
    were seen to deliver such a mixture without an error.
    """
    mixed: set[int] = set()
    members: set[int] = set()
    last = -1
    for row in rows:
        chunk_id = row.chunk_id
        if chunk_id is None or not _assembled_by_clients(row):
            continue
        if chunk_id == 0:
            members = {row.publish_time_ms}
        elif not members or chunk_id <= last:
            continue
        elif chunk_id > last + 1:
            members = set()
        elif row.publish_time_ms not in members:
            members.add(row.publish_time_ms)
            mixed.update(members if len(members) == 2 else (row.publish_time_ms,))
        last = chunk_id
        if chunk_id + 1 == row.num_chunks:
            members = set()
    return mixed


def reused_publish_times(rows: Iterable[ChunkRow]) -> set[int]:
    """Publish times under which the uuid was used, when it was used more than once."""
    times = {row.publish_time_ms for row in rows if row.chunk_uuid and trusted(row)}
    return times if len(times) > 1 else set()
