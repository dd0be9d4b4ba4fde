"""Where a publication lies: ledgers, span, manifest, and roles written out by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pulsar_backlog.chunks.rows import ChunkRole, ChunkRow, Picked
from pulsar_backlog.terms import Role


def ledgers_of(rows: Iterable[ChunkRow]) -> tuple[int, ...]:
    """Ledgers that hold the rows, ascending."""
    return tuple(sorted({row.ledger_id for row in rows}))


def span_entries(rows: Sequence[ChunkRow]) -> int:
    """Entries from first to last row, both included; across ledgers the least it can be.

    Entry ids begin at 0 in every ledger, and a ledger holds at least what is seen of it.
    """
    newest = {row.ledger_id: row.entry_id for row in rows}
    return sum(entry_id + 1 for entry_id in newest.values()) - rows[0].entry_id


def span_ms(rows: Sequence[ChunkRow]) -> int:
    """Milliseconds from first to last row by the broker's clock; 0 where that was not recorded."""
    first, last = rows[0].broker_timestamp_ms, rows[-1].broker_timestamp_ms
    return 0 if first is None or last is None else max(last - first, 0)


def manifest_of(picks: Sequence[ChunkRow]) -> tuple[Picked, ...]:
    """Where to read the payload of each chunk."""
    return tuple(
        Picked(
            chunk_id,
            row.ledger_id,
            row.entry_id,
            row.uri,
            row.payload_offset,
            row.payload_length,
            row.inner_offset,
            row.block_length,
        )
        for chunk_id, row in enumerate(picks)
    )


def roles_from(rows: Iterable[ChunkRow], roles: Iterable[Role]) -> tuple[ChunkRole, ...]:
    """The rows with their roles."""
    return tuple(
        ChunkRole(
            row.ledger_id,
            row.entry_id,
            row.publish_time_ms,
            row.chunk_id,
            role,
            row.chunk_uuid,
            row.payload_length,
            row.checksum_state,
        )
        for row, role in zip(rows, roles, strict=True)
    )
