"""Arithmetic of slices: how many chunks there are, which bytes are missing, whether sizes lie.

A producer cuts the compressed message into equal slices; only the last may be shorter, and none is empty.
Encryption adds a tag to each slice afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pulsar_backlog.chunks.rows import ENCRYPTION_TAG_BYTES, MAX_LISTED, ChunkRow
from pulsar_backlog.wire.codecs import stated_bytes


def slice_bytes(row: ChunkRow) -> int:
    """Bytes of the compressed message that the row holds; negative when too short for its tag."""
    return row.payload_length - ENCRYPTION_TAG_BYTES if row.encrypted else row.payload_length


def choose_count_and_total(rows: Sequence[ChunkRow]) -> tuple[int, int]:
    """Number of chunks and total bytes of the message, also when the rows disagree.

    The pair that the stored bytes support wins, then the one on chunk 0, then the earliest. Absent
    counts as 0, the default of the wire format.
    """
    pairs = Counter((row.num_chunks or 0, row.total_bytes or 0) for row in rows)
    if len(pairs) == 1:
        return next(iter(pairs))
    head = next((row for row in rows if row.chunk_id == 0), rows[0])
    home = (head.num_chunks or 0, head.total_bytes or 0)
    slices: dict[int, int] = {}
    for row in rows:
        if row.chunk_id is not None and row.chunk_id >= 0:
            slices.setdefault(row.chunk_id, slice_bytes(row))
    sums = _prefix_sums(slices)
    top = max(slices, default=-1)
    typical = slices.get(0) or max(slices.values(), default=0)

    def support(pair: tuple[int, int]) -> tuple[bool, bool, bool, bool]:
        count, total = pair
        adds_up = 0 < count <= len(sums) and sums[count - 1] == total
        cut_even = typical > 0 and -(-total // typical) == count
        return adds_up, top < count, cut_even, pair == home

    return max(pairs, key=support)


def _prefix_sums(slices: Mapping[int, int]) -> list[int]:
    """Sums of the slices 0, 0..1, and so on, up to the first that is missing."""
    sums: list[int] = []
    while len(sums) in slices:
        sums.append(slices[len(sums)] + (sums[-1] if sums else 0))
    return sums


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the slice lengths say.

    Attributes:
        slice_length: bytes of every slice but the last; None when it cannot be known.
        size_fault: the slices are not cut as producers cut them.
        sizes_lie: count or total contradict the bytes.
    """

    slice_length: int | None
    size_fault: bool
    sizes_lie: bool


def judge_sizes(slices: Mapping[int, int], n: int, total: int) -> Sizes:
    """Judges one believable copy of each stored chunk (bytes by chunk id) against count and total."""
    if not slices:
        return Sizes(None, size_fault=False, sizes_lie=False)
    inner = {length for chunk_id, length in slices.items() if chunk_id != n - 1}
    last = slices.get(n - 1)
    uniform = len(inner) <= 1
    length = _slice_length(inner, last, n, total) if uniform else None
    fault = not uniform or any(size <= 0 for size in slices.values())
    if length is not None:
        fault = fault or -(-total // length) != n or (last is not None and last > length)
    elif uniform and slices and n > 1 and total > 0:
        fault = True  # only the last slice is stored, and no equal cut of the rest exists
    return Sizes(length, fault, total <= 0 or _contradicts(slices, n, total, length))


def uncompressed_size_lies(codec: str | None, uncompressed_size: int | None, joined_bytes: int) -> bool:
    """Whether an uncompressed message states another length than its joined chunks have.

    Of a compressed one the decoder finds out.
    """
    return codec is None and stated_bytes(codec, uncompressed_size, joined_bytes) != joined_bytes


def _contradicts(slices: Mapping[int, int], n: int, total: int, length: int | None) -> bool:
    """Whether no slices of that length, n of them, can add up to the total."""
    stored, last = sum(slices.values()), slices.get(n - 1)
    if len(slices) == n:
        return stored != total
    if length is None:
        return stored > total or total < n - 1
    if last is not None:
        return (n - 1) * length + last != total
    return not (n - 1) * length <= total <= n * length


def _slice_length(inner: set[int], last: int | None, n: int, total: int) -> int | None:
    """Length of the equal slices: seen on one, or what remains when only the last is stored."""
    if inner:
        length = next(iter(inner))
        return length if length > 0 else None
    if last is None or n < 2 or (total - last) % (n - 1) or total - last < n - 1:
        return None
    return (total - last) // (n - 1)


def even_cut(lengths: Mapping[int, Collection[int]], n: int, total: int) -> tuple[int, int] | None:
    """How a producer would have cut the message, if copies of that length are stored: every slice, and the last.

    `lengths` has the bytes of each copy of every chunk 0 to n-1. Takes time in proportion to the copies at most: each
    length of the chunk that has fewest is compared with every chunk once.
    """
    if n == 1:
        return (total, total) if total > 0 and total in lengths[0] else None
    inner = range(n - 1)
    for length in min((lengths[chunk_id] for chunk_id in inner), key=len):
        last = total - (n - 1) * length
        if 0 < last <= length and last in lengths[n - 1] and all(length in lengths[chunk_id] for chunk_id in inner):
            return length, last
    return None


def missing_lengths(present: Sequence[int], n: int, total: int, sizes: Sizes, encrypted: bool) -> dict[int, int]:
    """Payload bytes, as stored, of missing chunks -> the first such chunk; empty when they cannot be known."""
    length = sizes.slice_length
    if length is None or -(-total // length) != n:
        return {}
    tag = ENCRYPTION_TAG_BYTES if encrypted else 0
    lengths = {}
    if not present or present[-1] != n - 1:
        lengths[total - (n - 1) * length + tag] = n - 1
    first, end = next(iter(missing_runs(present, n)), (n, n))
    if first < n - 1 and end > first:
        lengths[length + tag] = first
    return lengths


def missing_runs(present: Sequence[int], n: int) -> list[tuple[int, int]]:
    """Runs of missing chunk ids, half-open, at most `MAX_LISTED`; `present` ascends within [0, n)."""
    runs: list[tuple[int, int]] = []
    expected = 0
    for chunk_id in (*present, n):
        if chunk_id > expected:
            runs.append((expected, chunk_id))
            if len(runs) == MAX_LISTED:
                break
        expected = chunk_id + 1
    return runs


def missing_ids(runs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The first `MAX_LISTED` ids of the runs."""
    ids: list[int] = []
    for start, end in runs:
        ids.extend(range(start, min(end, start + MAX_LISTED - len(ids))))
        if len(ids) == MAX_LISTED:
            break
    return tuple(ids)


def missing_ranges(runs: Sequence[tuple[int, int]], n: int, total: int, sizes: Sizes) -> tuple[tuple[int, int], ...]:
    """Byte ranges of the compressed message that the runs stand for; empty when they cannot be known."""
    length = sizes.slice_length
    if length is None or -(-total // length) != n:
        return ()
    return tuple((start * length, total if end == n else end * length) for start, end in runs)
