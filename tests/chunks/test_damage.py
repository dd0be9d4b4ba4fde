"""Damaged entries near messages that lack chunks: nothing is lost for certain, and what may be salvaged is named."""

from __future__ import annotations

from typing import Any

import pytest

from pulsar_backlog.chunks.rows import ChunkRow, Damage, Damaged, Publication
from tests.chunks.build import GRACE_MS, fold, only, row, rows

# Messages of the tests are stored at 1,000,000 ms in ledger 7, and their producer is "p", with sequence id 1.
FAR: dict[str, Any] = {"after_ms": 50_000_000, "before_ms": 50_000_001, "producer_name": "q", "sequence_id": 9}
"""An entry of somebody else, long after the messages of the tests."""


def near(*places: Damaged, ledgers: tuple[int, ...] = (5, 6, 7, 8, 9, 20), **changes: Any) -> Damage:
    return Damage(places, ledgers=ledgers, **changes)


def folded(text: str, damage: Damage, **changes: Any) -> Publication:
    return only(rows(text), damage=damage, **changes)


@pytest.mark.parametrize("text", ["0 1 3", "0 1", "2 3", "1", "1 2"])
@pytest.mark.parametrize(
    "one",
    [
        pytest.param(Damaged(7, 99, "mismatch", **FAR), id="in its ledger"),
        pytest.param(Damaged(6, 3, "mismatch", **FAR), id="in the ledger before"),
        pytest.param(Damaged(8, 0, "mismatch", **FAR), id="in the ledger after"),
        pytest.param(Damaged(8, 0, "reject"), id="not decoded, in the ledger after"),
        pytest.param(Damaged(20, 0, "reject"), id="not decoded, anywhere"),
        pytest.param(Damaged(8, 0, "absent", **FAR), id="without a checksum, in the ledger after"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR | {"chunk_uuid": "p-1"}), id="far away, it names the uuid"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR | {"producer_name": "p", "sequence_id": 1}),
                     id="far away, it names producer and sequence id"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR, garbled=True), id="far away, what it names is nothing"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR | {"after_ms": 1_000_000 + GRACE_MS}),
                     id="in time it may lie within the grace time after it"),
        pytest.param(Damaged(5, 4, "mismatch", **FAR | {"after_ms": 5, "before_ms": 1_000_000 - GRACE_MS}),
                     id="or before it"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR | {"after_ms": None}), id="what came before it is not known"),
    ],
)  # fmt: skip
def test_nothing_is_lost_for_certain_near_a_damaged_entry(text: str, one: Damaged) -> None:
    publication = folded(text, near(one))
    assert publication.state in ("gap", "orphan_prefix", "headless")
    assert publication.sureness == "likely"
    assert f"{one.ledger_id}:{one.entry_id}" in publication.reason
    assert "missing chunk" in publication.reason


@pytest.mark.parametrize("text", ["0 1 3", "0 1", "2 3"])
@pytest.mark.parametrize(
    "one",
    [
        pytest.param(Damaged(20, 4, "mismatch", **FAR), id="long after, ledgers away"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR | {"after_ms": 1_000_003 + GRACE_MS + 1}), id="just too late"),
        pytest.param(Damaged(5, 4, "mismatch", **FAR | {"after_ms": 5, "before_ms": 999_999 - GRACE_MS}),
                     id="just too early"),
        pytest.param(Damaged(20, 4, "absent", **FAR), id="without a checksum, far away"),
        pytest.param(Damaged(20, 4, "mismatch", **FAR | {"producer_name": "p"}), id="another message of its producer"),
    ],
)  # fmt: skip
def test_damage_that_is_not_near_leaves_it_certain(text: str, one: Damaged) -> None:
    assert folded(text, near(one)).sureness == "certain"


def test_a_ledger_in_which_the_message_goes_on_is_near_whatever_the_clocks_say() -> None:
    made = rows("0 1") + rows("3", ledger_id=20)
    assert only(made, damage=near(Damaged(9, 0, "mismatch", **FAR))).sureness == "likely"


def test_what_comes_after_a_producer_that_fell_silent_may_be_its_chunk() -> None:
    late = near(Damaged(20, 4, "mismatch", **FAR))
    assert folded("0 1", late, producer_last={}).sureness == "likely"
    assert folded("0 1 3", late, producer_last={}).sureness == "certain"  # its end is stored
    before = near(Damaged(5, 4, "mismatch", **FAR | {"after_ms": 1, "before_ms": 2}))
    assert folded("0 1", before, producer_last={}).sureness == "certain"


@pytest.mark.parametrize("text", ["0 1 2 3", "0 2 1 3"])
def test_a_message_that_lacks_nothing_is_none_the_less_sure(text: str) -> None:
    assert folded(text, near(Damaged(7, 99, "mismatch", **FAR))).sureness == "certain"


def test_chunks_that_make_no_sense_near_damage_are_not_certain() -> None:
    made = rows("0 1", num_messages_in_batch=1)
    assert only(made).sureness == "certain"
    assert only(made, damage=near(Damaged(7, 99, "mismatch", **FAR))).sureness == "likely"


def test_more_damage_than_is_listed_leaves_nothing_certain() -> None:
    publication = folded("0 1 3", near(unlisted=12_345))
    assert publication.sureness == "likely"
    assert "12,345 more entries" in publication.reason


def test_entries_without_checksum_count_where_checksums_vouch_for_the_rest() -> None:
    assert folded("0 1 3", near(unverified=(8,))).sureness == "likely"
    assert folded("0 1 3", near(unverified=(9,))).sureness == "certain"
    reason = folded("0? 1 3", near(Damaged(8, 0, "absent"), unverified=(7,))).reason
    assert reason == "chunks are stored without a checksum"


# What the reason says.


def test_the_reason_says_which_chunk_it_may_be_and_what_may_be_salvaged() -> None:
    one = Damaged(7, 99, "mismatch", payload_length=1000)
    assert folded("0 1 3", near(one)).reason == (
        "the damaged entry 7:99 may be its missing chunk 2: it has the chunk's size (1,000 bytes), and its payload may "
        "be salvaged"
    )
    last = Damaged(7, 99, "mismatch", payload_length=500)
    assert "7:99 may be its missing chunk 3: it has" in folded("0", near(last)).reason
    other = Damaged(7, 99, "mismatch", payload_length=77)
    assert folded("0 1 3", near(other)).reason == "the damaged entry 7:99 may be its missing chunk 2"
    assert folded("0 1", near(other)).reason == "the damaged entry 7:99 may be its missing chunk"
    assert "7:99 may be its missing chunk: its payload may" in folded("0 1", near(Damaged(7, 99, "reject"))).reason


def test_the_payload_of_a_resend_proves_what_it_is() -> None:
    again = rows("0 1 2 3", start=20, publish_time_ms=2_000_000)
    one = Damaged(7, 99, "mismatch", payload_length=1000, payload_crc32c=5_002)
    gap = fold([*rows("0 1 3"), *again], damage=near(one)).publications[0]
    assert (gap.state, gap.sureness) == ("gap", "likely")
    assert "7:99 may be its missing chunk 2: its payload is that of the resent chunk" in gap.reason
    assert "can be salvaged" in gap.reason
    own = [*rows("0 1"), row(2, 2, checksum_state="mismatch", payload_crc32c=5_002), row(3, 3)]
    damaged = fold([*own, *again]).publications[0]
    assert (damaged.state, damaged.sureness, damaged.rebuildable) == ("whole", "likely", False)
    assert "a copy is damaged (7:2)" in damaged.reason
    assert "can be salvaged" in damaged.reason
    assert "may be salvaged" in only(own).reason


def test_what_is_most_likely_the_chunk_is_named_first_and_few_are_named() -> None:
    places = [Damaged(7, entry, "mismatch", payload_length=77) for entry in range(50, 60)]
    likeliest = Damaged(8, 3, "mismatch", chunk_uuid="p-1", payload_length=1000)
    reason = folded("0 1 3", near(*places, likeliest)).reason
    assert reason.startswith("the damaged entry 8:3, under the same uuid, may be its missing chunk 2")
    assert reason.count("may be its missing chunk") == 3
    assert "so may 8 other damaged entries near it" in reason


def test_a_message_is_not_its_own_missing_chunk() -> None:
    made = rows("0 1 3*")
    listed = near(Damaged(7, 2, "mismatch", chunk_uuid="p-1"))
    assert only(made, damage=listed).reason == only(made).reason
    assert "may be its missing" not in only(made).reason


# Families that only damage makes, and damaged copies in others.


@pytest.mark.parametrize("text", ["0*", "1*", "0* 1*", "0* 2*", "3* 0*"])
def test_a_message_that_only_damaged_entries_name_is_nothing_anyone_can_tell(text: str) -> None:
    publication = only(rows(text))
    assert publication.sureness == "cannot_tell"
    assert "another message" in publication.reason
    assert "7:0" in publication.reason


def test_many_damaged_copies_of_one_uuid_take_no_time() -> None:
    made: list[ChunkRow] = []
    for at in range(4000):
        made.append(row(1, 2 * at, publish_time_ms=at, checksum_state="mismatch"))
        made.append(row(1, 2 * at + 1, publish_time_ms=at + 10_000))
    publications = fold(made).publications
    assert len(publications) == 8000
    assert all(one.sureness != "certain" for one in publications)
