"""Which stored copies make the message, and what the other copies say about how it was resent.

Copies are in position order and have a chunk id in [0, n). A pass is a run of ascending chunk ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pulsar_backlog.chunks.rows import ChunkRow, Flag, position, trusted
from pulsar_backlog.terms import Position


def client_pick(copies: Iterable[ChunkRow], n: int) -> list[ChunkRow] | None:
    """The copies that a current client delivers first, or None when it delivers nothing.

    Chunk 0 starts afresh, the next id is appended, a repeated id is ignored, a gap drops everything:
    ConsumerImpl.processMessageChunk of Java 3.0.2 and later (apache/pulsar#21070, #21101).
    """
    picks: list[ChunkRow] = []
    for row in copies:
        chunk_id = row.chunk_id
        if chunk_id == 0:
            picks = [row]
        elif chunk_id == len(picks):
            picks.append(row)
        elif chunk_id is not None and chunk_id > len(picks):
            picks = []
        if len(picks) == n:
            return picks
    return None


def ascending_pick(copies: Iterable[ChunkRow], n: int) -> list[ChunkRow] | None:
    """The earliest copies 0..n-1 that ascend in position, or None when there are none."""
    picks: list[ChunkRow] = []
    for row in copies:
        if row.chunk_id == len(picks):
            picks.append(row)
            if len(picks) == n:
                return picks
    return None


def first_of_each(copies: Iterable[ChunkRow]) -> dict[int, ChunkRow]:
    """The earliest copy of each chunk id, one with a believable checksum before one without."""
    firsts: dict[int, ChunkRow] = {}
    for row in copies:
        chunk_id = row.chunk_id
        if chunk_id is None:
            continue
        known = firsts.get(chunk_id)
        if known is None or (trusted(row) and not trusted(known)):
            firsts[chunk_id] = row
    return firsts


def choose_picks(copies: Sequence[ChunkRow], firsts: dict[int, ChunkRow], n: int) -> list[ChunkRow]:
    """One copy of each chunk id in id order, when all are stored.

    Best first: what a client delivers (its message id names these copies), then believable copies in
    ascending position, then believable copies in any position, then what there is.
    """
    good = [row for row in copies if trusted(row)]
    picks = client_pick(good, n) or ascending_pick(good, n)
    if picks is None and not all(trusted(row) for row in firsts.values()):
        best = [row for row in copies if row.chunk_id is not None and trusted(row) == trusted(firsts[row.chunk_id])]
        picks = ascending_pick(best, n) or ascending_pick(copies, n)
    return picks or [firsts[chunk_id] for chunk_id in range(n)]


def flags_before_completion(copies: Iterable[ChunkRow]) -> set[Flag]:
    """How chunks were repeated up to and including the copy that completes the message."""
    flags: set[Flag] = set()
    seen: set[int | None] = set()
    for row in copies:
        if row.chunk_id not in seen:
            seen.add(row.chunk_id)
        elif row.chunk_id == 0:
            flags.add("repeated_prefix")
            seen = {0}
        else:
            flags.add("overlap")
    return flags


def after_completion(copies: Iterable[ChunkRow], n: int) -> tuple[set[Flag], set[Position]]:
    """What is stored after the message was complete: flags, and positions of further whole copies."""
    flags: set[Flag] = set()
    whole: set[Position] = set()
    open_pass: list[ChunkRow] = []
    for row in copies:
        chunk_id = row.chunk_id
        if chunk_id == 0:
            if open_pass:
                flags.add("prefix_residue")
            open_pass = [row]
        elif open_pass and chunk_id == len(open_pass):
            open_pass.append(row)
        else:
            flags.add("tail_residue")
            if chunk_id is not None and chunk_id > len(open_pass) > 0:
                flags.add("prefix_residue")
                open_pass = []
        if len(open_pass) == n:
            flags.add("whole_duplicate")
            whole.update(position(copy) for copy in open_pass)
            open_pass = []
    if open_pass:
        flags.add("prefix_residue")
    return flags, whole
