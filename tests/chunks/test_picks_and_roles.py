"""Which copies make the message, what the others are, and what can be rebuilt."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.rows import ChunkRow, Publication
from tests.chunks.build import entries, fold, only, roles, row, rows


def message_id(publication: Publication) -> tuple[int, int]:
    return publication.first_entry_id, publication.last_entry_id


@pytest.mark.parametrize(
    ("text", "used", "expected_roles"),
    [
        ("0 1 2 3", [0, 1, 2, 3], "u u u u"),
        # what current Java and Go clients deliver (apache/pulsar#21070, #21101)
        ("0 1 0 1 2 3", [2, 3, 4, 5], "d d u u u u"),
        ("0 1 2 1 2 3", [0, 1, 2, 5], "u u u d d u"),
        ("0 1 1 1 2 2 3", [0, 1, 4, 6], "u u d d u d u"),
        ("0 1 0 1 1 2 3", [2, 3, 5, 6], "d d u u d u u"),
        ("1 2 0 1 2 3", [2, 3, 4, 5], "d d u u u u"),
        # after completion
        ("0 1 2 3 1 2 3", [0, 1, 2, 3], "u u u u r r r"),
        ("0 1 2 3 0 1 2", [0, 1, 2, 3], "u u u u r r r"),
        ("0 1 2 3 0 1 2 3", [0, 1, 2, 3], "u u u u d d d d"),
        ("0 1 2 3 0 1 2 3 3", [0, 1, 2, 3], "u u u u d d d d r"),
        ("0 1 3 2 3 0 1 2 3", [5, 6, 7, 8], "d d d d d u u u u"),  # clients drop 0 1 at the gap
        # no client delivers these
        ("0 1 3 2 3", [0, 1, 3, 4], "u u d u u"),
        ("0 2 1 3", [0, 2, 1, 3], "u u u u"),
        ("3 2 1 0", [3, 2, 1, 0], "u u u u"),
        ("3 3 2 1 0 2", [4, 3, 2, 0], "u d u u u r"),
        # damaged copies are passed over where another stands for them
        ("0 1* 1 2 3", [0, 2, 3, 4], "u c u u u"),
        ("0 1* 2 3 0 1 2 3", [4, 5, 6, 7], "d c d d u u u u"),
        ("0 1 2 3 1*", [0, 1, 2, 3], "u u u u c"),
        ("1 0 1* 2 3", [1, 0, 3, 4], "u u c u u"),  # a sound copy out of order before a damaged one in order
        # copies that differ
        ("0 1 1~ 2 3", [0, 1, 3, 4], "u u c u u"),
        ("0 1 2 3 0 1~ 2 3", [0, 1, 2, 3], "u u u u d c d d"),
    ],
)
def test_complete_sets(text: str, used: list[int], expected_roles: str) -> None:
    folded = fold(rows(text))
    (publication,) = folded.publications
    assert publication.rebuildable
    assert entries(publication) == used
    assert roles(folded) == expected_roles
    assert message_id(publication) == (used[0], used[-1])


@pytest.mark.parametrize(
    ("text", "expected_roles"),
    [
        ("0 1", "o o"),
        ("0 1 0 1", "o o o o"),
        ("1 1~ 2", "o c o"),
        ("0 1* 1", "o c o"),  # a sound copy stands for it
        ("0 1*", "o o"),
    ],
)
def test_incomplete_sets(text: str, expected_roles: str) -> None:
    folded = fold(rows(text))
    (publication,) = folded.publications
    assert not publication.rebuildable
    assert publication.manifest == ()
    assert publication.decode_state == "not_checked"
    assert roles(folded) == expected_roles
    assert message_id(publication) == (0, len(expected_roles.split()) - 1)


@pytest.mark.parametrize(
    ("text", "ends", "expected_roles"),
    [
        ("0 1* 2* 2 3", (0, 4), "u u c u u"),  # sound copies where there are some
        ("1* 0 1* 2 3", (1, 4), "c u u u u"),  # in order where that can be
        ("2 0 1* 2* 3", (1, 4), "d u u u u"),  # order before soundness, when it cannot be rebuilt anyway
        ("3 1* 0 2", (2, 0), "u u u u"),  # no order at all
    ],
)
def test_picks_when_a_chunk_is_stored_damaged_only(text: str, ends: tuple[int, int], expected_roles: str) -> None:
    folded = fold(rows(text))
    assert message_id(folded.publications[0]) == ends
    assert roles(folded) == expected_roles
    assert not folded.publications[0].rebuildable


def test_a_damaged_chunk_without_another_copy_is_needed_but_cannot_be_rebuilt() -> None:
    folded = fold(rows("0 1* 2 3"))
    assert roles(folded) == "u u u u"
    assert folded.publications[0].state == "whole"
    assert not folded.publications[0].rebuildable


def test_rows_outside_the_message_conflict_with_those_inside() -> None:
    folded = fold([*rows("0 1 2 3"), row(9, 4), row(None, 5)])
    assert roles(folded) == "u u u u c c"
    assert folded.publications[0].state == "malformed"
    assert folded.publications[0].rebuildable


def test_rows_that_say_something_else_conflict() -> None:
    folded = fold([*rows("0 1 2 3"), row(3, 4, metadata_digest=1), row(3, 5, num_chunks=5)])
    assert roles(folded) == "u u u u c c"


def test_the_manifest_says_where_to_read() -> None:
    made = rows("0 1") + rows("2 3", ledger_id=8, start=3, uri="other", inner_offset=70, block_length=900)
    assert only(made).manifest == (
        (0, 7, 0, "object", 0, 1000, None, None),
        (1, 7, 1, "object", 10_000, 1000, None, None),
        (2, 8, 3, "other", 30_000, 1000, 70, 900),
        (3, 8, 4, "other", 40_000, 500, 70, 900),
    )


@pytest.mark.parametrize(
    ("changes", "rebuildable", "decode_state"),
    [
        ({}, True, "not_needed"),
        ({"total_bytes": 9999}, True, "not_needed"),  # 3500 bytes, as uncompressed_size says
        ({"total_bytes": 9999, "uncompressed_size": 9999}, False, "not_checked"),  # both say bytes are missing
        ({"total_bytes": 9999, "uncompressed_size": None}, False, "not_checked"),  # nothing vouches for them
        ({"total_bytes": 3499}, True, "not_needed"),
        ({"compression": "ZSTD"}, True, "not_checked"),
        ({"compression": "ZSTD", "total_bytes": 9999, "uncompressed_size": 8}, True, "not_checked"),  # decoding tells
        ({"encrypted": True, "total_bytes": 3500 - 64}, True, "encrypted"),
        ({"num_messages_in_batch": 1}, True, "not_needed"),  # malformed, but the bytes are there
    ],
)
def test_rebuildable_needs_bytes_that_something_vouches_for(
    changes: dict[str, object], rebuildable: bool, decode_state: str
) -> None:
    publication = only(rows("0 1 2 3", **changes))
    assert publication.rebuildable is rebuildable
    assert bool(publication.manifest) is rebuildable
    assert publication.decode_state == decode_state


def test_chunks_without_uuid_are_joined_only_when_they_agree_on_everything() -> None:
    made = rows("0 1 2 3", chunk_uuid="")
    assert only(made).rebuildable
    stranger = row(3, 3, chunk_uuid="", producer_name="q", payload_length=500)
    assert not only([*made[:3], stranger]).rebuildable


def test_nothing_is_joined_across_publish_times() -> None:
    made: list[ChunkRow] = rows("0 1") + rows("2 3", start=2, publish_time_ms=1_000_001)
    assert not any(publication.rebuildable for publication in fold(made).publications)
