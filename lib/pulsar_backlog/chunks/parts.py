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
        n: chunks the message was cut into: what its metadata says, or the stored bytes where these are all there.
        claimed: what its metadata says.
        count_lies: whether the stored bytes are all that the total names, and are not in as many chunks as claimed.
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
    claimed: int
    count_lies: bool
    total: int
    fields: Fields
    conflict: bool
    placed: Sequence[ChunkRow]
    firsts: dict[int, ChunkRow]
    present: Sequence[int]
    picks: Sequence[ChunkRow]


def take_apart(rows: Sequence[ChunkRow], believe_bytes: bool = True) -> Parts:
    """Sorts the rows of one uuid and publish time, in position order, into their parts.

    Args:
        rows: the rows.
        believe_bytes: whether stored bytes that are all the total names outweigh the claimed number of chunks.
    """
    believable = [row for row in rows if trusted(row)] or rows
    claimed, total = sizes.choose_count_and_total(believable)
    votes = Counter(map(_fields, believable))
    fields = max(votes, key=votes.__getitem__)
    picks = _picks(rows, claimed, total)
    stored = () if passes.add_up(picks, total) else _picks_of_all(believable, total)
    count_lies = len(stored) not in (0, claimed)
    # An uncompressed message that states more bytes than its total does was cut off by a total that lies.
    counted = count_lies and believe_bytes and not sizes.uncompressed_size_lies(*fields[:2], total)
    n, picks = (len(stored), stored) if counted else (claimed, picks)
    placed = _placed(rows, n)
    firsts = passes.first_of_each(placed)
    conflict = len(votes) > 1 or counts_or_totals_differ(believable)
    return Parts(
        rows, believable, n, claimed, count_lies, total, fields, conflict, placed, firsts, sorted(firsts), picks
    )


def _placed(rows: Iterable[ChunkRow], n: int) -> list[ChunkRow]:
    return [row for row in rows if row.chunk_id is not None and 0 <= row.chunk_id < n]


def _picks(rows: Iterable[ChunkRow], n: int, total: int) -> Sequence[ChunkRow]:
    """One copy of each of n chunks; empty when they are not all stored."""
    placed = _placed(rows, n)
    firsts = passes.first_of_each(placed)
    return passes.choose_picks(placed, firsts, n, total) if firsts and len(firsts) == n else ()


def _picks_of_all(believable: Iterable[ChunkRow], total: int) -> Sequence[ChunkRow]:
    """One copy of each id that is stored, when these are 0 to k and hold exactly the total; else empty."""
    good = [row for row in believable if trusted(row)]
    ids = {row.chunk_id for row in good if row.chunk_id is not None and row.chunk_id >= 0}
    picks = _picks(good, len(ids), total) if ids and max(ids) == len(ids) - 1 else ()
    return picks if passes.add_up(picks, total) else ()


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


def others_fall_short(parts: Parts) -> bool:
    """Whether the picks hold the total, and every copy with other bytes than its pick holds fewer.

    Then no choice but of copies that equal the picks holds the total, so the sizes tell which copies are right.
    """
    if not passes.add_up(parts.picks, parts.total):
        return False
    others = (row for row in parts.placed if trusted(row) and holds_other_bytes(row, parts))
    return all(row.payload_length < parts.picks[row.chunk_id or 0].payload_length for row in others)


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
    claims = (row.num_chunks or 0, row.total_bytes or 0, _fields(row))
    return claims != (parts.claimed, parts.total, parts.fields) or holds_other_bytes(row, parts)
