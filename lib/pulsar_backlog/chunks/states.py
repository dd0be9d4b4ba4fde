"""The state of a publication, and whether an incomplete one may still be arriving."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.chunks.rows import ChunkRow, LogEdge, position, stored_at_ms
from pulsar_backlog.terms import State


def makes_sense(row: ChunkRow, n: int) -> bool:
    """Whether the row's chunk fields make sense on a message of `n` chunks."""
    return (
        row.chunk_uuid != ""
        and row.chunk_id is not None
        and row.num_chunks is not None
        and 0 <= row.chunk_id < n
        and row.num_messages_in_batch is None
    )


def incomplete_state(present: Sequence[int]) -> State:
    """State of a publication that lacks chunks and is not arriving any more; `present` ascends."""
    if not present or present[0] != 0:
        return "headless"
    return "orphan_prefix" if present[-1] == len(present) - 1 else "gap"


def age_ms(row: ChunkRow, edge: LogEdge) -> int | None:
    """How long before the end of the log the row was stored; None when the end's time is unknown."""
    return None if edge.end_time_ms is None else edge.end_time_ms - stored_at_ms(row)


def beyond_grace(row: ChunkRow, edge: LogEdge) -> bool:
    """Whether the log is known to go on for more than the grace time after the row."""
    age = age_ms(row, edge)
    return age is not None and age > edge.grace_ms


def wrote_later(newest: ChunkRow, edge: LogEdge) -> bool:
    """Whether the producer stored anything after its newest chunk of this message."""
    return edge.producer_last.get(newest.producer_name, position(newest)) > position(newest)


def may_still_arrive(newest: ChunkRow, edge: LogEdge) -> bool:
    """Whether the rest of an incomplete publication may still come, given its newest copy."""
    if edge.is_terminated:
        return False
    old = beyond_grace(newest, edge)
    if old and edge.complete_to_end and edge.producers_gone:
        return False
    return newest.ledger_id in edge.open_ledgers or not (old or wrote_later(newest, edge))
