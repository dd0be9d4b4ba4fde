"""Which stored copies make the message, and what the other copies say about how it was resent.

Copies are in position order and have a chunk id in [0, n). A pass is a run of ascending chunk ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pulsar_backlog.chunks import sizes
from pulsar_backlog.chunks.rows import ChunkRow, Flag, position, trusted
from pulsar_backlog.terms import Position


def client_picks(copies: Iterable[ChunkRow], n: int) -> Iterator[list[ChunkRow]]:
    """The copies that a current client delivers, one message after the other.

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
            yield picks
            picks = []


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
        first = firsts.get(chunk_id)
        if first is None or (trusted(row) and not trusted(first)):
            firsts[chunk_id] = row
    return firsts


def choose_picks(copies: Sequence[ChunkRow], firsts: dict[int, ChunkRow], n: int, total: int) -> list[ChunkRow]:
    """One copy of each chunk id in id order, when all are stored.

    Best first: what a client delivers (its message id names these copies), then believable copies in
    ascending position, then believable copies in any position, then what there is. Where those do not hold `total`
    bytes, other believable copies that do.
    """
    good = [row for row in copies if trusted(row)]
    picks = _in_order(good, n)
    if picks is None and not all(trusted(row) for row in firsts.values()):
        best = [row for row in copies if row.chunk_id is not None and trusted(row) == trusted(firsts[row.chunk_id])]
        picks = ascending_pick(best, n) or ascending_pick(copies, n)
    picks = picks or [firsts[chunk_id] for chunk_id in range(n)]
    return picks if add_up(picks, total) else _picks_that_add_up(good, n, total) or picks


def add_up(picks: Sequence[ChunkRow], total: int) -> bool:
    """Whether the picks can be believed and hold exactly the recorded total."""
    return total > 0 and all(map(trusted, picks)) and sum(map(sizes.slice_bytes, picks)) == total


def _in_order(copies: Sequence[ChunkRow], n: int) -> list[ChunkRow] | None:
    return next(client_picks(copies, n), None) or ascending_pick(copies, n)


def _picks_that_add_up(good: Sequence[ChunkRow], n: int, total: int) -> list[ChunkRow] | None:
    """A choice of believable copies that holds the total: cut as producers cut, else one that a client delivers.

    Bounded: every copy is looked at a few times, and not every choice is tried. A choice from several passes whose
    slices are not cut evenly is not found.
    """
    lengths: dict[int, dict[int, None]] = {}
    for row in good:
        if row.chunk_id is not None:
            lengths.setdefault(row.chunk_id, {})[sizes.slice_bytes(row)] = None
    if len(lengths) < n:
        return None
    cut = sizes.even_cut(lengths, n, total)
    if cut is None:
        return next((picks for picks in client_picks(good, n) if add_up(picks, total)), None)
    fitting = [row for row in good if sizes.slice_bytes(row) == cut[row.chunk_id == n - 1]]
    firsts = first_of_each(fitting)
    return _in_order(fitting, n) or [firsts[chunk_id] for chunk_id in range(n)]


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
