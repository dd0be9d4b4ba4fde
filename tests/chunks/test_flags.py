"""Each flag once, and a near miss that must not raise it."""

from __future__ import annotations

from typing import get_args

import pytest

from pulsar_backlog.chunks.decode import with_decode_result
from pulsar_backlog.chunks.rows import ChunkRow, Flag
from tests.chunks.build import fold, only, row, rows


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("0 1 2 3", ""),
        # repeats before completion
        ("0 1 0 1 2 3", "repeated_prefix"),
        ("0 0 1 2 3", "repeated_prefix"),
        ("0 1 0 1", "repeated_prefix"),  # also when it never completes
        ("1 2 0 1 2 3", "overlap"),  # the second 1 and 2; chunk 0 comes once
        ("0 1 2 1 2 3", "overlap"),
        ("0 1 1 1 2 2 3", "overlap"),
        ("0 1 0 1 1 2 3", "overlap repeated_prefix"),
        ("0 2 1 3", ""),  # out of order repeats nothing
        ("0 2 2 1 3", "overlap"),
        # after completion
        ("0 1 2 3 1 2 3", "tail_residue"),
        ("0 1 2 3 3", "tail_residue"),
        ("0 1 2 3 0 1 2", "prefix_residue"),
        ("0 1 2 3 0", "prefix_residue"),
        ("0 1 2 3 0 1 2 3", "whole_duplicate"),
        ("0 1 2 3 0 1 2 3 0 1 2 3", "whole_duplicate"),
        ("0 1 2 3 0 1 2 3 2 3", "tail_residue whole_duplicate"),
        ("0 1 2 3 0 1 0 1 2 3", "prefix_residue whole_duplicate"),
        ("0 1 2 3 0 1 3", "prefix_residue tail_residue"),
        ("0 1 2 3 0 1 2 2 3", "tail_residue whole_duplicate"),
        ("0 1 2 3 0 1 3 2 3", "prefix_residue tail_residue"),  # the second start breaks off at the gap
        ("0 1 2 1 2 3 0 1 2 3", "overlap whole_duplicate"),
        # damage and differences
        ("0 1* 2 3", "corrupt_copy"),
        ("0 1* 1 2 3", "corrupt_copy"),  # a damaged copy is no evidence of a resend
        ("0 1? 2? 3", ""),
        ("0 1 1~ 2 3", "copies_differ overlap"),
        ("0 1 2 3 0 1~ 2 3", "copies_differ whole_duplicate"),
        # ledgers
        ("0 1 /2 3", "ledger_span"),
        ("0 1 2 3 /3", "ledger_span tail_residue"),
    ],
)
def test_flags_of_one_publication(text: str, flags: str) -> None:
    assert " ".join(only(rows(text)).flags) == flags


def two(first: str, second: str) -> list[ChunkRow]:
    """Two publications under one uuid, one after the other."""
    made = rows(first)
    return made + rows(second, start=len(made), publish_time_ms=1_000_005)


@pytest.mark.parametrize(
    ("first", "second", "mixed"),
    [
        ("0 1", "2 3", True),  # delivered as one message by every client tried
        ("0 1", "2", True),  # joined, though it never completes
        ("0 1 2", "1 2 3", True),  # repeated ids are ignored, the last is appended
        ("0 1 2", "1 2", False),
        ("0 1", "3", False),  # a gap drops the context
        ("0 1", "0 1 2 3", False),  # chunk 0 starts afresh
        ("0 1 2 3", "2 3", False),  # complete: the context is closed
        ("0 1 2 3", "0 1 2 3", False),
        ("0 1*", "2 3", False),  # clients drop the damaged entry: gap
    ],
)
def test_mixed_with_another_publication(first: str, second: str, mixed: bool) -> None:
    for publication in fold(two(first, second)).publications:
        assert "uuid_reused" in publication.flags
        assert ("mixed_with_another_publication" in publication.flags) is mixed


def test_interleaved_publications_are_mixed_only_when_joined() -> None:
    late = {"publish_time_ms": 1_000_005}
    made = [row(0, 0), row(0, 1, **late), row(1, 2), row(1, 3, **late)]  # A0 B0 A1 (joins B0) B1 (ignored)
    assert all("mixed_with_another_publication" in p.flags for p in fold(made).publications)
    third = rows("0 1 2 3", start=9, publish_time_ms=1_000_009)
    assert fold(made + third).publications[2].flags == ("uuid_reused",)


def test_a_complete_message_takes_nothing_more_in() -> None:
    made = rows("0 1", n=2) + rows("2 3", start=2, publish_time_ms=1_000_005)
    assert all("mixed_with_another_publication" not in p.flags for p in fold(made).publications)


def test_copies_without_a_payload_crc_differ_when_their_lengths_do() -> None:
    made = rows("0 1 2 3 1", payload_crc32c=None)
    assert "copies_differ" not in only(made).flags
    assert "copies_differ" in only([*made, row(2, 9, payload_crc32c=None, payload_length=900)]).flags


def test_most_rows_decide_what_the_message_is() -> None:
    publication = only([row(0, 0, uncompressed_size=1, sequence_id=9), *rows("1 2 3", start=1)])
    assert publication.uncompressed_bytes == 3500
    assert publication.sequence_id == 9  # the first copy's, as the table says
    damaged = row(0, 0, producer_name="?", sequence_id=9, checksum_state="mismatch")
    publication = only([damaged, *rows("1 2 3", start=1)])
    assert (publication.producer_name, publication.sequence_id) == ("p", 1)


def test_a_batch_count_keeps_a_chunk_out_of_every_context() -> None:
    made = rows("0 1") + rows("2 3", start=2, publish_time_ms=1_000_005, num_messages_in_batch=1)
    assert all("mixed_with_another_publication" not in p.flags for p in fold(made).publications)


def test_a_damaged_publish_time_is_not_a_reused_uuid() -> None:
    damaged = rows("2*", start=2, publish_time_ms=999)
    whole, other = fold([*rows("0 1 2 3", start=3), *damaged]).publications[::-1]
    assert whole.flags == ()
    assert (other.flags, other.sureness) == (("corrupt_copy",), "cannot_tell")


def test_chunks_without_uuid_do_not_reuse_one() -> None:
    made = [row(0, 0, chunk_uuid=""), row(1, 1, chunk_uuid="", publish_time_ms=1_000_005)]
    assert [p.flags for p in fold(made).publications] == [(), ()]


@pytest.mark.parametrize(
    "change",
    [
        {"compression": "LZ4"},
        {"uncompressed_size": 1},
        {"producer_name": "q"},
        {"sequence_id": 9},
        {"metadata_digest": 9},
    ],
)
def test_metadata_conflict(change: dict[str, object]) -> None:
    made = rows("0 1 2 3")
    assert only([*made[:2], row(2, 2, **change), made[3]]).flags == ("metadata_conflict",)
    damaged = row(2, 9, checksum_state="mismatch", **change)
    assert only([*made, damaged]).flags == ("corrupt_copy",)


def test_no_codec_and_codec_none_are_the_same() -> None:
    made = [*rows("0 1"), *rows("2 3", start=2, compression="NONE")]
    publication = only(made)
    assert publication.flags == ()
    assert publication.compression is None


def test_counts_that_differ_are_a_conflict_and_a_lie() -> None:
    made = [*rows("0 1 2"), row(3, 3, num_chunks=5, payload_length=500)]
    publication = only(made)
    assert (publication.state, publication.num_chunks) == ("whole", 4)
    assert publication.flags == ("metadata_conflict", "sizes_lie")
    assert publication.rebuildable


def test_every_flag_is_set_by_something() -> None:
    families = [
        rows("0 1 0 1 2 3"),
        rows("0 1 2 1 2 3"),
        rows("0 1 2 3 3"),
        rows("0 1 2 3 0"),
        rows("0 1 2 3 0 1 2 3"),
        two("0 1", "2 3"),
        two("0 1 2 3", "0 1 2"),
        [*rows("0 1 2"), row(3, 3, sequence_id=9)],
        [*rows("0 1 2"), row(3, 3, payload_length=0, total_bytes=3000)],
        rows("0 1 2 3", total_bytes=9),
        rows("0 1* 2 3"),
        rows("0 1 1~ 2 3"),
        rows("0 1 /2 3"),
    ]
    folded = [publication for family in families for publication in fold(family).publications]
    undecodable = with_decode_result(only(rows("0 1 2 3", compression="ZSTD")), "fault", "")
    assert {flag for one in (*folded, undecodable) for flag in one.flags} == set(get_args(Flag))
