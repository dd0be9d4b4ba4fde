"""A count that the stored bytes contradict: what is whole is not lost, and nothing is certain."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pulsar_backlog.chunks.rows import ChunkRow, Publication
from tests.chunks.build import GRACE_MS, entries, fold, only, roles, row, rows


def cut(lengths: list[int], n: int, total: int | None = None, **changes: Any) -> list[ChunkRow]:
    """Chunks 0, 1, ... of these lengths, which all say that there are `n` of them."""
    whole = sum(lengths) if total is None else total
    made = {"total_bytes": whole, "uncompressed_size": whole, **changes}
    return [row(i, i, n, payload_length=length, **made) for i, length in enumerate(lengths)]


def check_offered(publication: Publication, count: int) -> None:
    """The bytes can be exported; nothing is certain."""
    assert publication.rebuildable
    assert [chunk_id for chunk_id, *_ in publication.manifest] == list(range(count))
    assert (publication.num_chunks, publication.present_chunks) == (count, count)
    assert (publication.missing_chunk_count, publication.missing_bytes) == (0, ())
    assert publication.stored_bytes == publication.total_bytes
    assert "sizes_lie" in publication.flags
    assert publication.sureness == "likely"
    assert "count" in publication.reason


@pytest.mark.parametrize(
    ("lengths", "n"),
    [
        pytest.param([1000, 1000, 500], 4, id="one too large"),
        pytest.param([1000, 1000, 1000], 4, id="one too large, where the last slice is full"),
        pytest.param([500], 2, id="one chunk, which says that there are two"),
        pytest.param([1000, 1000, 500], 9, id="far too large"),
        pytest.param([1000, 1000, 500], 2**31 - 1, id="as large as the wire can say"),
        pytest.param([1000, 900, 600], 4, id="and not cut evenly"),
    ],
)
def test_a_count_that_is_too_large_does_not_make_a_stored_message_lost(lengths: list[int], n: int) -> None:
    publication = only(cut(lengths, n))
    assert publication.state == "whole"
    check_offered(publication, len(lengths))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_count_that_is_too_small_does_not_cut_the_message_off(n: int) -> None:
    publication = only(cut([1000, 1000, 1000, 500], n))
    assert publication.state == "malformed"  # there are ids outside the count
    check_offered(publication, 4)


def test_a_compressed_message_is_offered_and_left_to_the_decoder() -> None:
    publication = only(cut([1000, 1000, 500], 4, compression="ZSTD", uncompressed_size=9999))
    check_offered(publication, 3)
    assert publication.decode_state == "not_checked"


def test_encrypted_slices_count_without_their_tags() -> None:
    check_offered(only(cut([1016, 1016, 516], 4, total=2500, encrypted=True)), 3)


@pytest.mark.parametrize("n", [4, 2])
def test_a_copy_in_the_wrong_place_or_too_short_is_passed_over(n: int) -> None:
    made = cut([400, 1000, 500], n, total=2500) + cut([1000, 1000, 500], n)
    again = [row_ if at < 3 else row(at - 3, at, n, payload_length=row_.payload_length, total_bytes=2500,
             uncompressed_size=2500) for at, row_ in enumerate(made)]  # fmt: skip
    publication = only(again)
    assert publication.rebuildable
    assert publication.stored_bytes == 2500
    assert publication.manifest[0][2] == 3


def test_the_roles_are_those_of_a_whole_message() -> None:
    made = cut([1000, 1000, 500], 4)
    assert roles(fold(made)) == "u u u"
    again = row(0, 7, 4, payload_length=1000, total_bytes=2500, uncompressed_size=2500)
    assert roles(fold([*made, again])) == "u u u r"


# What the bytes do not show to be whole stays what it is, and is never certain where sizes contradict each other.


@pytest.mark.parametrize(
    ("made", "state"),
    [
        pytest.param(cut([1000, 1000, 500], 4, total=2600), "orphan_prefix", id="a short slice before the last"),
        pytest.param(cut([1000, 1000], 4, total=500), "orphan_prefix", id="more is stored than there is"),
        pytest.param(cut([1000, 1000, 1000], 4, uncompressed_size=3500), "orphan_prefix",
                     id="the total lies: more was sent, as the uncompressed size says"),
        pytest.param(cut([1000, 1000, 500], 4, total=0), "orphan_prefix", id="no total"),
        pytest.param(cut([1000, 1000, 500], 4)[1:], "headless", id="its first chunk is missing"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_never_lost_for_certain(made: list[ChunkRow], state: str) -> None:
    publication = only(made)
    assert publication.state == state
    assert not publication.rebuildable
    assert publication.sureness != "certain"


def test_a_true_count_stays_certain() -> None:
    assert only(rows("0 1 2")).sureness == "certain"
    assert only(rows("0 1 3")).sureness == "certain"
    assert only(rows("2 3")).sureness == "certain"


def test_bytes_that_another_count_would_fit_too_are_judged_by_the_count_they_name() -> None:
    # 0 1 2 hold all 3000 bytes of three chunks, and so they say.
    assert only(cut([1000, 1000, 1000], 3)).flags == ()
    # An empty last chunk is stored: 4 it is.
    assert only(cut([1000, 1000, 1000, 0], 4)).flags == ("size_fault",)


def test_damaged_chunks_prove_nothing() -> None:
    made = cut([1000, 1000, 500], 4)
    publication = only([*made[:2], row(2, 2, 4, payload_length=500, total_bytes=2500, checksum_state="mismatch")])
    assert not publication.rebuildable
    assert publication.sureness != "certain"


def test_what_may_still_be_arriving_is_waited_for() -> None:
    at_end = {"end_time_ms": 1_000_002 + GRACE_MS, "producer_last": {}, "producers_gone": False}
    publication = only(cut([1000, 1000, 1000], 4), **at_end)
    assert (publication.state, publication.rebuildable) == ("in_flight", False)
    assert "sizes_lie" in publication.flags


# A short copy of a chunk, and a sound one elsewhere.


def short(made: list[ChunkRow], *places: int) -> list[ChunkRow]:
    """The same with 400 bytes in the copies at these places."""
    return [row(r.chunk_id, r.entry_id, payload_length=400, payload_crc32c=4) if at in places else r
            for at, r in enumerate(made)]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "too_short", "used"),
    [
        pytest.param("0 1 2 3 0 1 2 3", [0], [4, 5, 6, 7], id="the later pass adds up"),
        pytest.param("0 1 2 3 0 1 2 3 0 1 2 3", [0, 5], [8, 9, 10, 11], id="the third pass adds up"),
        pytest.param("0 1 2 3 0 1 2 3", [2, 4], [0, 1, 6, 7], id="no pass adds up, a choice from both does"),
        pytest.param("0 1 2 3 0", [0], [4, 1, 2, 3], id="a choice that is not in order"),
        pytest.param("0 1 1 2 3", [1], [0, 2, 3, 4], id="a chunk sent again at once"),
    ],
)
def test_a_short_copy_gives_way_to_one_that_adds_up(text: str, too_short: list[int], used: list[int]) -> None:
    publication = only(short(rows(text), *too_short))
    assert publication.rebuildable
    assert entries(publication) == used
    assert "copies_differ" in publication.flags
    assert "sizes_lie" not in publication.flags
    assert (publication.sureness, "add up" in publication.reason) == ("likely", True)
    assert "undamaged" not in publication.reason


def test_where_no_choice_adds_up_what_a_client_gets_is_named() -> None:
    publication = only(short(rows("0 1 2 3 0 1 2 3"), 0, 4))
    assert not publication.rebuildable
    assert (publication.first_entry_id, publication.last_entry_id) == (0, 3)


def test_where_two_choices_add_up_which_is_right_cannot_be_told() -> None:
    made = [row(i, at, 2, payload_length=length, total_bytes=1000, uncompressed_size=1000)
            for at, (i, length) in enumerate([(0, 700), (0, 600), (1, 300), (1, 400)])]  # fmt: skip
    publication = only(made)
    assert publication.rebuildable
    assert publication.sureness == "cannot_tell"


def test_looking_for_a_choice_costs_no_more_than_the_copies() -> None:
    """Every copy of every chunk has a length of its own that could be that of a slice, and no choice adds up."""
    made = [
        row(i, at * 60 + i, 60, payload_length=1_000_000 + at * 60 + i, total_bytes=60_000_000, payload_crc32c=at)
        for at in range(330)
        for i in range(60)
    ]
    begun = time.perf_counter()
    assert not only(made).rebuildable
    assert time.perf_counter() - begun < 5


# What makes the order.


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        pytest.param("1 0 1* 2 3", "likely", id="the only chunk 1 in order is damaged"),
        pytest.param("0 2 1* 2* 1 3", "likely", id="two damaged ones would be in order"),
        pytest.param("0 1* 1 2 3", "certain", id="a sound one is in order too"),
    ],
)
def test_order_that_only_a_damaged_copy_makes_is_not_said_to_be_undamaged(text: str, sure: str) -> None:
    publication = only(rows(text))
    assert (publication.state, publication.sureness, publication.rebuildable) == ("whole", sure, True)
    assert ("in order and undamaged" in publication.reason) is (sure == "certain")
    if sure != "certain":
        assert "order" in publication.reason
        assert "damaged" in publication.reason
