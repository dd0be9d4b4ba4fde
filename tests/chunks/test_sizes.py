"""Slice arithmetic: lies, faults, missing bytes, hostile counts."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pulsar_backlog.chunks.rows import ChunkRow, Publication
from tests.chunks.build import fold, only, row, rows


def cut(lengths: list[int | None], total: int, **changes: Any) -> list[ChunkRow]:
    """Rows with the given payload lengths; None leaves the chunk out."""
    n = changes.pop("n", len(lengths))
    made = {"total_bytes": total, "uncompressed_size": total, **changes}
    return [row(i, i, n, payload_length=length, **made) for i, length in enumerate(lengths) if length is not None]


def size_flags(publication: Publication) -> set[str]:
    return set(publication.flags) & {"size_fault", "sizes_lie"}


@pytest.mark.parametrize(
    ("lengths", "total", "flags"),
    [
        ([1000, 1000, 500], 2500, set()),
        ([1000, 1000, 1000], 3000, set()),
        ([1000, 1000, 1], 2001, set()),
        ([1000], 1000, set()),
        ([1], 1, set()),
        # faults of the cut that add up
        ([1000, 900, 600], 2500, {"size_fault"}),
        ([1000, 1000, 1001], 3001, {"size_fault"}),
        ([1000, 1000, 0], 2000, {"size_fault"}),
        ([1000, 1000, 500, 0], 2500, {"size_fault"}),
        # lies
        ([1000, 1000, 500], 2501, {"sizes_lie"}),
        ([1000, 1000, 500], 2499, {"sizes_lie"}),
        ([1000, 1000, 500], 9000, {"sizes_lie", "size_fault"}),
        ([1000, 1000, 500], 0, {"sizes_lie", "size_fault"}),
        ([1000, 900, 600], 2600, {"sizes_lie", "size_fault"}),  # first and last alone would fit
        ([1000], 0, {"sizes_lie"}),
        ([1000, 1000, 500], -5, {"sizes_lie", "size_fault"}),
        ([0], 0, {"sizes_lie", "size_fault"}),
        ([1000, 1000, 0], 2500, {"sizes_lie", "size_fault"}),
        ([1000, 1000, 1500], 2500, {"sizes_lie", "size_fault"}),
        # incomplete: only what no missing slice could mend
        ([1000, 1000, None], 2500, set()),
        ([1000, 1000, None], 3000, set()),
        ([1000, None, None], 3001, {"sizes_lie", "size_fault"}),
        ([1000, 1000, None], 1999, {"sizes_lie", "size_fault"}),
        ([1000, 1000, None], 2000, {"size_fault", "sizes_lie"}),  # would need an empty last slice: two hold it all
        ([None, 1000, 500], 2500, set()),
        ([1000, None, 500], 2600, {"sizes_lie"}),  # the missing slice is 1000 bytes, so 2500 in all
        ([None, None, 500], 2500, set()),
        ([None, None, 500], 500, {"size_fault"}),  # would need empty slices before it
        ([None, None, 500], 2501, {"size_fault"}),  # 2001 bytes are not two equal slices
        ([None, None, 1001], 2500, {"size_fault"}),  # longer than the slices before it
        ([None, None, 600], 500, {"size_fault", "sizes_lie"}),  # one slice holds more than all
        ([None, 1000, 900], 1500, {"size_fault", "sizes_lie"}),
    ],
)
def test_sizes(lengths: list[int | None], total: int, flags: set[str]) -> None:
    assert size_flags(only(cut(lengths, total))) == flags


def test_an_absent_total_counts_as_zero_as_it_does_for_clients() -> None:
    publication = only([row(0, 0, 2, total_bytes=None), row(1, 1, 2, total_bytes=None)])
    assert publication.total_bytes == 0
    assert "sizes_lie" in publication.flags


@pytest.mark.parametrize(("tag", "flags"), [(16, set()), (0, {"sizes_lie"}), (15, {"sizes_lie"})])
def test_each_encrypted_slice_is_a_tag_longer(tag: int, flags: set[str]) -> None:
    made = cut([1000 + tag, 1000 + tag, 500 + tag], 2500, encrypted=True)
    publication = only(made)
    assert size_flags(publication) - {"size_fault"} == flags
    assert publication.stored_bytes == 2500 + 3 * (tag - 16)


def test_an_encrypted_slice_too_short_for_its_tag_is_a_fault() -> None:
    assert "size_fault" in only(cut([1016, 1016, 15], 2000, encrypted=True)).flags


@pytest.mark.parametrize(
    ("lengths", "total", "missing"),
    [
        ([1000, 1000, 500], 2500, ()),
        ([None, 1000, 500], 2500, ((0, 1000),)),
        ([1000, None, 500], 2500, ((1000, 2000),)),
        ([1000, 1000, None], 2500, ((2000, 2500),)),
        ([1000, None, None], 2500, ((1000, 2500),)),  # merged
        ([None, 1000, None], 2500, ((0, 1000), (2000, 2500))),
        ([None, 500], 1500, ((0, 1000),)),  # one slice is what the last leaves
        ([None, None, 500], 2500, ((0, 2000),)),  # so are two
        ([None, None, 500], 2501, ()),
        ([None, 700], 1000, ()),  # 300 before 700 is no cut a producer makes
        ([1000, 900, None], 2500, ()),  # not cut evenly: unknown
        ([1000, None, None], 9000, ()),  # the total lies: unknown
    ],
)
def test_missing_bytes(lengths: list[int | None], total: int, missing: tuple[tuple[int, int], ...]) -> None:
    assert only(cut(lengths, total)).missing_bytes == missing


def test_missing_bytes_of_an_encrypted_message_are_counted_without_tags() -> None:
    assert only(cut([None, 516], 1500, encrypted=True)).missing_bytes == ((0, 1000),)


def test_damaged_rows_alone_say_nothing_about_sizes() -> None:
    made = [row(i, i, 4, total_bytes=1, checksum_state="mismatch") for i in range(3)]
    assert only(made).flags == ("corrupt_copy",)


def test_a_damaged_copys_length_is_not_believed() -> None:
    made = cut([1000, None, 500], 2500)
    damaged = row(1, 9, 3, payload_length=77, checksum_state="mismatch", total_bytes=5)
    assert size_flags(only([*made, damaged])) == set()


@pytest.mark.parametrize(
    ("pairs", "chosen"),
    [
        ([(3, 2500), (3, 2500), (9, 2500)], (3, 2500)),  # the bytes support it
        ([(9, 2500), (9, 2500), (3, 2500)], (3, 2500)),  # also against the majority and chunk 0
        ([(3, 9999), (3, 2500), (3, 2500)], (3, 2500)),
        ([(3, 9999), (4, 8888), (5, 7777)], (3, 9999)),  # nothing does: chunk 0's
    ],
)
def test_counts_and_totals_that_disagree(pairs: list[tuple[int, int]], chosen: tuple[int, int]) -> None:
    made = cut([1000, 1000, 500], 2500)
    told = [
        row(i, i, n, payload_length=made[i].payload_length, total_bytes=total) for i, (n, total) in enumerate(pairs)
    ]
    publication = only(told)
    assert (publication.num_chunks, publication.total_bytes) == chosen
    assert {"metadata_conflict", "sizes_lie"} <= set(publication.flags)


@pytest.mark.parametrize(
    ("told", "chosen"),
    [
        ([(0, 9, 2500), (1, 3, 2500)], (3, 2500)),  # 2500 bytes in slices of 1000 are 3
        ([(0, 3, 9999), (3, 4, 8888)], (4, 8888)),  # there is a chunk 3
        ([(1, 5, 7777), (0, 3, 9999)], (3, 9999)),  # nothing speaks for either: chunk 0's, wherever it is
    ],
)
def test_counts_of_incomplete_sets_that_disagree(told: list[tuple[int, int, int]], chosen: tuple[int, int]) -> None:
    made = [row(i, place, n, total_bytes=total) for place, (i, n, total) in enumerate(told)]
    publication = only(made)
    assert (publication.num_chunks, publication.total_bytes) == chosen


def test_a_stray_chunk_with_a_larger_count_does_not_undo_a_complete_set() -> None:
    publication = only([*rows("0 1 2 3"), row(7, 4, 8)])
    assert (publication.num_chunks, publication.state, publication.rebuildable) == (4, "malformed", True)


def test_a_count_of_two_billion_costs_nothing() -> None:
    n = 2**31 - 1
    begun = time.perf_counter()
    publication = only([row(0, 0, n, total_bytes=n), row(n - 1, 1, n, total_bytes=n, payload_length=1000)])
    assert time.perf_counter() - begun < 1
    assert publication.state == "gap"
    assert publication.missing_chunk_ids == tuple(range(1, 1001))
    assert publication.missing_chunk_count == n - 2
    assert "sizes_lie" in publication.flags


def test_a_count_larger_than_the_total_lies() -> None:
    n = 2**31 - 1
    assert "sizes_lie" in only([row(n - 1, 0, n, total_bytes=1000, payload_length=1000)]).flags


def test_lists_of_what_is_missing_are_capped() -> None:
    made = [row(i, i, 9001, total_bytes=9001 * 1000) for i in range(0, 9001, 2)]
    publication = only(made)
    assert len(publication.missing_chunk_ids) == 1000
    assert publication.missing_chunk_ids[-1] == 1999
    assert len(publication.missing_bytes) == 1000
    assert publication.missing_chunk_count == 4500


def test_rows_that_all_claim_something_else_cost_no_more_than_rows() -> None:
    made = [row(i % 7, i, 10 + i, total_bytes=10 + i) for i in range(20_000)]
    begun = time.perf_counter()
    fold(made)
    assert time.perf_counter() - begun < 5


def test_span_and_ledgers() -> None:
    made = rows("0 1", start=5) + rows("2", ledger_id=9, start=3) + rows("3", ledger_id=11, start=0)
    publication = only(made)
    assert publication.ledgers == (7, 9, 11)
    assert publication.span_entries == 2 + 4 + 1  # entries 5 6 of ledger 7, 0..3 of ledger 9, 0 of ledger 11
    assert only(rows("0 1 2 3", start=5)).span_entries == 4
    assert only(rows("0 1 2 3")).span_ms == 3
    assert only(rows("0 1 2 3", broker_timestamp_ms=None)).span_ms == 0
    again = only(rows("0 1 2 3 0 1 2 3"))
    assert (again.span_entries, again.span_ms) == (4, 3)  # stored again later, it did not take longer
    assert only([row(0, 0, 2, broker_timestamp_ms=9), row(1, 1, 2, broker_timestamp_ms=5)]).span_ms == 0
