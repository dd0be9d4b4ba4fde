"""Chunk rows and log edges written as short texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, FamilyFold, LogEdge, Publication

LENGTH = 1000
GRACE_MS = 120_000
MARKS = {
    "*": {"checksum_state": "mismatch", "payload_crc32c": 7},
    "?": {"checksum_state": "absent"},
    "~": {"payload_crc32c": 1},
}


def row(chunk_id: int | None, entry_id: int, n: int | None = 4, **changes: Any) -> ChunkRow:
    """A healthy chunk of a message of n slices of 1000 bytes, the last of 500."""
    last = n is not None and chunk_id == n - 1
    base = ChunkRow(
        ledger_id=7,
        entry_id=entry_id,
        chunk_uuid="p-1",
        publish_time_ms=1_000_000,
        chunk_id=chunk_id,
        num_chunks=n,
        total_bytes=((n or 1) - 1) * LENGTH + LENGTH // 2,
        uri="object",
        payload_offset=entry_id * 10_000,
        payload_length=LENGTH // 2 if last else LENGTH,
        payload_crc32c=5_000 + (chunk_id or 0),
        checksum_state="valid",
        producer_name="p",
        sequence_id=1,
        compression=None,
        uncompressed_size=((n or 1) - 1) * LENGTH + LENGTH // 2,
        encrypted=False,
        num_messages_in_batch=None,
        metadata_digest=42,
        broker_timestamp_ms=1_000_000 + entry_id,
    )
    return replace(base, **changes)


def rows(text: str, n: int = 4, start: int = 0, **changes: Any) -> list[ChunkRow]:
    """Rows at consecutive entries: `0 1 2* 3? 1~ /0`.

    `*` damaged, `?` without checksum, `~` other payload, `/` in the next ledger, from its entry 0 on.
    """
    made: list[ChunkRow] = []
    ledger_id, entry_id = changes.pop("ledger_id", 7), start
    for word in text.split():
        if word.startswith("/"):
            ledger_id, entry_id = ledger_id + 1, 0
        marks: dict[str, Any] = {}
        for mark in word.strip("/0123456789"):
            marks |= MARKS[mark]
        made.append(row(int(word.strip("/*?~")), entry_id, n, ledger_id=ledger_id, **{**changes, **marks}))
        entry_id += 1
    return made


def edge(**changes: Any) -> LogEdge:
    """A log that is known in full and goes on for an hour after the rows."""
    base = LogEdge(
        end_time_ms=1_000_000 + 3_600_000,
        grace_ms=GRACE_MS,
        producer_last={"p": (99, 0)},
        open_ledgers=frozenset(),
        first_ledger_id=7,
        begins_at_start=True,
        absent_ledgers=(),
        has_rejects=False,
        complete_to_end=True,
        producers_gone=True,
    )
    return replace(base, **changes)


def fold(made: list[ChunkRow], **edge_changes: Any) -> FamilyFold:
    return fold_family(made, edge(**edge_changes))


def only(made: list[ChunkRow], **edge_changes: Any) -> Publication:
    """The one publication the rows make."""
    (publication,) = fold(made, **edge_changes).publications
    return publication


def roles(folded: FamilyFold) -> str:
    """Roles in position order, as one letter each: used, duplicate, residue, orphan, conflicting."""
    return " ".join(role.role[0] for role in folded.roles)


def entries(publication: Publication) -> list[int]:
    """Entry ids of the manifest, in chunk order."""
    return [one.entry_id for one in publication.manifest]
