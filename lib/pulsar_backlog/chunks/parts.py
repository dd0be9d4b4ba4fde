"""One publication taken apart: what most of its rows agree on, which copies stand for its chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pulsar_backlog.chunks import passes, sizes
from pulsar_backlog.chunks.rows import ChunkRow, Flag, codec, position, trusted
from pulsar_backlog.terms import Position, Role

Fields = tuple[str | None, int | None, bool, str, int, int]
"""Codec, uncompressed size, whether encrypted, producer name, sequence id, metadata digest."""


@dataclass(frozen=True, slots=True)
class Parts:
    """One publication taken apart.

    Attributes:
        rows: all rows, in position order.
        believable: those whose checksum does not contradict them, or all when there are none.
        n: chunks the message was cut into.
        total: bytes of the whole, compressed.
        fields: what most of its believable rows agree on.
        conflict: whether believable rows contradict each other.
        placed: rows whose chunk id lies in [0, n).
        firsts: the earliest copy of each chunk id, believable ones before damaged ones.
        present: stored chunk ids, ascending.
        picks: one copy of each id in id order when all are stored, else empty.
    """

    rows: Sequence[ChunkRow]
    believable: Sequence[ChunkRow]
    n: int
    total: int
    fields: Fields
    conflict: bool
    placed: Sequence[ChunkRow]
    firsts: dict[int, ChunkRow]
    present: Sequence[int]
    picks: Sequence[ChunkRow]


def take_apart(rows: Sequence[ChunkRow]) -> Parts:
    """Sorts the rows of one uuid and publish time, in position order, into their parts."""
    believable = [row for row in rows if trusted(row)] or rows
    n, total = sizes.choose_count_and_total(believable)
    placed = [row for row in rows if row.chunk_id is not None and 0 <= row.chunk_id < n]
    firsts = passes.first_of_each(placed)
    picks = passes.choose_picks(placed, firsts, n) if firsts and len(firsts) == n else ()
    votes = Counter(map(_fields, believable))
    fields = max(votes, key=votes.__getitem__)
    conflict = len(votes) > 1 or counts_or_totals_differ(believable)
    return Parts(rows, believable, n, total, fields, conflict, placed, firsts, sorted(firsts), picks)


def counts_or_totals_differ(rows: Iterable[ChunkRow]) -> bool:
    """Whether the rows disagree on how many chunks or bytes the message has."""
    return len({(row.num_chunks, row.total_bytes) for row in rows}) > 1


def _fields(row: ChunkRow) -> Fields:
    """What all chunks of one message share, besides count and total."""
    return (
        codec(row),
        row.uncompressed_size,
        row.encrypted,
        row.producer_name,
        row.sequence_id,
        row.metadata_digest,
    )


def _sibling(row: ChunkRow, parts: Parts) -> ChunkRow | None:
    """The copy that stands for the row's chunk id."""
    if row.chunk_id is None:
        return None
    return parts.picks[row.chunk_id] if parts.picks else parts.firsts.get(row.chunk_id)


def holds_other_bytes(row: ChunkRow, parts: Parts) -> bool:
    """Whether a placed row holds other bytes than the copy that stands for its chunk id."""
    other = _sibling(row, parts)
    if other is None or not trusted(other):
        return False
    if row.payload_length != other.payload_length:
        return True
    if row.payload_crc32c is None or other.payload_crc32c is None:
        return False
    return row.payload_crc32c != other.payload_crc32c


def resend_flags(parts: Parts) -> tuple[set[Flag], set[Position]]:
    """How chunks were repeated, and the positions of further whole copies after completion."""
    good = [row for row in parts.placed if trusted(row)]
    if not parts.picks:
        return passes.flags_before_completion(good), set()
    completed = max(map(position, parts.picks))
    before = passes.flags_before_completion(row for row in good if position(row) <= completed)
    after, again = passes.after_completion((row for row in good if position(row) > completed), parts.n)
    return before | after, again


def roles(parts: Parts, again: set[Position]) -> Iterable[Role]:
    """Role of each row; `again` holds the positions of further whole copies."""
    used = {position(row) for row in parts.picks}
    completed = max(used, default=(0, 0))
    placed = {position(row) for row in parts.placed}
    for row in parts.rows:
        place = position(row)
        if place in used:
            yield "used"
        elif _conflicting(row, parts, placed):
            yield "conflicting"
        elif not used:
            yield "orphan"
        elif place < completed or place in again:
            yield "duplicate"
        else:
            yield "residue"


def _conflicting(row: ChunkRow, parts: Parts, placed: set[Position]) -> bool:
    """Whether the row says or holds something else than its siblings."""
    if position(row) not in placed:
        return bool(placed)
    if not trusted(row):
        other = _sibling(row, parts)
        return other is not None and position(other) != position(row)
    said = (row.num_chunks or 0, row.total_bytes or 0, _fields(row))
    return said != (parts.n, parts.total, parts.fields) or holds_other_bytes(row, parts)
