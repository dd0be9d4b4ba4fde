"""What is left of a message that was sent again: told as that, and only where checksums say so."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.resends import told_by_child
from pulsar_backlog.chunks.rows import ChunkRow, Publication
from tests.chunks.build import fold, roles, row, rows

LATER = {"publish_time_ms": 1_000_050}


def resent(first: str, second: str, **changes: object) -> list[ChunkRow]:
    """Two sends under one uuid and sequence id; the second one's rows with some changes."""
    made = rows(first)
    return made + rows(second, start=len(made), **{**LATER, **changes})


def told(made: list[ChunkRow], *, deduplicated: bool | None = True) -> tuple[Publication, Publication]:
    """The first send and the second one."""
    first, second = fold(made, deduplicated=bool(deduplicated)).publications
    return first, second


def test_what_deduplication_left_of_a_resend_is_no_loss() -> None:
    whole, rest = told(resent("0 1 2 3", "0 1 2"))
    assert (whole.state, whole.flags, whole.sureness, whole.rebuildable) == ("whole", (), "certain", True)
    assert (rest.state, rest.flags, rest.sureness) == ("orphan_prefix", ("resend_residue",), "certain")
    assert "stored whole at 7:0 to 7:3" in rest.reason
    assert "deduplication is on" in rest.reason
    assert not rest.rebuildable
    assert roles(fold(resent("0 1 2 3", "0 1 2"), deduplicated=True)) == "u u u u r r r"


def test_resends_of_resends_are_told_each() -> None:
    made = [*resent("0 1 2 3", "0 1 2"), *rows("0 1 2", start=7, publish_time_ms=1_000_099)]
    whole, *rests = fold(made, deduplicated=True).publications
    assert (whole.flags, {rest.flags for rest in rests}) == ((), {("resend_residue",)})


@pytest.mark.parametrize(
    ("first", "second", "deduplicated"),
    [
        ("0 1 2 3", "0 1 2", False),  # nothing says that the broker dropped the end
        ("0 1 2 3", "0 1", True),  # more than deduplication drops is missing
        ("0 1", "0 1 2 3", True),  # cut off, and then sent again
        ("0 1 2", "0 1 2 3", True),
        ("0 1 2", "0 1 2 3", False),
    ],
)
def test_without_the_broker_s_word_it_is_likely(first: str, second: str, deduplicated: bool) -> None:
    publications = told(resent(first, second), deduplicated=deduplicated)
    rest, whole = sorted(publications, key=lambda one: one.state)
    assert rest.flags == ("resend_residue", "uuid_reused")
    assert rest.sureness == "likely"
    assert "stored whole at " in rest.reason
    # Clients whose context the unfinished one leaves open may lose the whole one.
    assert (whole.flags, whole.sureness) == (("uuid_reused",), "certain")


def test_it_is_no_surer_than_the_whole_message() -> None:
    made = [*rows("0? 1? 2? 3?"), *rows("0 1 2", start=4, **LATER)]
    whole, rest = told(made)
    assert (whole.sureness, rest.sureness, rest.flags) == ("likely", "likely", ("resend_residue",))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"payload_crc32c": 1}, "a restarted producer reuses uuids for other content"),
        ({"payload_length": 999}, "other sizes"),
        ({"total_bytes": 3400}, "another total"),
        ({"num_chunks": 5}, "another count"),
        ({"producer_name": "q"}, "another producer"),
        ({"sequence_id": 2}, "another sequence id"),
        ({"compression": "ZSTD"}, "another codec"),
        ({"uncompressed_size": 3400}, "another size"),
        ({"metadata_digest": 43}, "another key, or other properties"),
    ],
)
def test_whatever_differs_is_another_message(change: dict[str, object], why: str) -> None:
    made = [*rows("0 1 2 3"), *rows("0 1", start=4, **LATER), row(2, 6, **{**LATER, **change})]
    assert fold(made, deduplicated=True).publications[1].flags != ("resend_residue",), why
    made = [*rows("0 1 2 3"), *rows("0 1 2", start=4, **{**LATER, **change})]
    rest = fold(made, deduplicated=True).publications[1]
    assert "resend_residue" not in rest.flags, why
    assert "uuid_reused" in rest.flags


def test_bytes_that_cannot_be_compared_leave_a_doubt() -> None:
    sealed = {"encrypted": True, "total_bytes": 3500 - 64, "uncompressed_size": 3500 - 64}
    made = [*rows("0 1 2 3", **sealed), *rows("0~ 1~ 2~", start=4, **sealed, **LATER)]
    whole, rest = told(made)
    assert "resend_residue" not in rest.flags
    assert rest.sureness == "likely"
    assert "7:0" in rest.reason
    assert "encrypted" in rest.reason
    assert "uuid_reused" in whole.flags
    unknown = [*rows("0 1 2 3"), *rows("0 1 2", start=4, payload_crc32c=None, **LATER)]
    rest = told(unknown)[1]
    assert ("resend_residue" in rest.flags, rest.sureness) == (False, "likely")


def test_a_damaged_chunk_is_no_evidence() -> None:
    rest = told([*rows("0 1 2 3"), *rows("0 1* 2", start=4, **LATER)])[1]
    assert "resend_residue" not in rest.flags
    same_bytes = [row(0, 4, **LATER), row(1, 5, checksum_state="mismatch", **LATER), row(2, 6, **LATER)]
    assert "resend_residue" not in told([*rows("0 1 2 3"), *same_bytes])[1].flags
    whole, rest = told([*rows("0 1* 2 3"), *rows("0 1 2", start=4, **LATER)])
    assert (whole.rebuildable, "resend_residue" in rest.flags) == (False, False)
    whole, rest = told([*rows("0 1* 1 2 3"), *rows("0 1 2", start=5, **LATER)])
    assert (whole.rebuildable, "resend_residue" in rest.flags) == (True, True)


def test_a_whole_message_of_which_copies_differ_vouches_for_nothing() -> None:
    assert "resend_residue" not in told([*rows("0 1 1~ 2 3"), *rows("0 1 2", start=5, **LATER)])[1].flags


def test_what_may_still_arrive_is_waited_for() -> None:
    made = resent("0 1 2 3", "0 1 2")
    rest = fold(
        made, deduplicated=True, producer_last={"p": (7, 6)}, end_time_ms=1_000_010, producers_gone=False
    ).publications[1]  # fmt: skip
    assert (rest.state, "resend_residue" in rest.flags) == ("in_flight", False)


def test_what_lacks_its_beginning_is_not_told_as_a_resend() -> None:
    assert "resend_residue" not in told(resent("0 1 2 3", "1 2"))[1].flags
    assert "resend_residue" not in told(resent("0 1 2 3", "0 2"))[1].flags


def test_another_message_under_the_uuid_is_still_told() -> None:
    made = [*resent("0 1 2 3", "0 1 2"), *rows("0~ 1~ 2~ 3~", start=7, publish_time_ms=1_000_099)]
    whole, rest, other = fold(made, deduplicated=True).publications
    assert (whole.flags, other.flags) == (("uuid_reused",), ("uuid_reused",))
    assert rest.flags == ("resend_residue", "uuid_reused")


def test_what_a_child_segment_holds_whole_is_no_loss() -> None:
    (orphan,) = fold(rows("0 1")).publications
    (whole,) = fold(rows("0 1 2 3")).publications
    assert orphan.state == "orphan_prefix"
    told_orphan = told_by_child(orphan, "stored whole in segment 2")
    assert (told_orphan.flags, told_orphan.sureness) == (("resend_residue",), orphan.sureness)
    assert told_orphan.reason.startswith("stored whole in segment 2; ")
    assert told_by_child(orphan, None) is orphan
    assert told_by_child(whole, "stored whole in segment 2") is whole
