"""What holds for any rows at all."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.healthy import fold_healthy, is_healthy
from pulsar_backlog.chunks.publication import FamilyFacts, fold_publication
from pulsar_backlog.chunks.rows import ChunkRow, LogEdge, Publication, position
from tests.chunks.build import edge, row, rows

SMALL = st.integers(0, 3)
WILD = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1))
POSITIONS = st.tuples(st.integers(1, 4), st.integers(0, 40))


@st.composite
def any_row(draw: Any, place: tuple[int, int], wild: bool) -> ChunkRow:
    numbers = st.one_of(SMALL, st.integers(3, 5), WILD) if wild else SMALL
    return row(
        draw(numbers),
        place[1],
        draw(numbers) if wild else 4,
        ledger_id=place[0],
        publish_time_ms=draw(st.sampled_from([5, 5, 5, 9])),
        payload_crc32c=draw(st.sampled_from([None, 1, 1, 1, 2])),
        checksum_state=draw(st.sampled_from(["valid", "valid", "valid", "absent", "mismatch"])),
        metadata_digest=draw(st.sampled_from([1, 1, 1, 2])),
        broker_timestamp_ms=draw(st.one_of(st.none(), st.integers(0, 10**13))),
        **(
            {
                "total_bytes": draw(numbers),
                "payload_length": draw(st.integers(0, 2000)),
                "encrypted": draw(st.booleans()),
                "num_messages_in_batch": draw(st.sampled_from([None, None, 1])),
            }
            if wild
            else {}
        ),
    )


@st.composite
def families(draw: Any, wild: bool | None = None) -> list[ChunkRow]:
    """Rows of one uuid: of messages of 4 chunks, or with whatever the wire can say."""
    places = draw(st.lists(POSITIONS, min_size=1, max_size=10, unique=True))
    odd = draw(st.booleans()) if wild is None else wild
    return [draw(any_row(place, odd)) for place in places]


@st.composite
def edges(draw: Any) -> LogEdge:
    return edge(
        end_time_ms=draw(st.one_of(st.none(), st.integers(0, 10**13))),
        producer_last=draw(st.sampled_from([{}, {"p": (9, 9)}, {"p": (1, 0)}])),
        open_ledgers=draw(st.frozensets(st.integers(1, 4), max_size=2)),
        first_ledger_id=draw(st.one_of(st.none(), st.integers(1, 4))),
        begins_at_start=draw(st.booleans()),
        absent_ledgers=tuple(draw(st.lists(st.integers(0, 6), max_size=2))),
        has_rejects=draw(st.booleans()),
        complete_to_end=draw(st.booleans()),
        producers_gone=draw(st.booleans()),
    )


@given(families(), edges())
def test_every_row_has_one_role_and_every_publication_its_rows(made: list[ChunkRow], at: LogEdge) -> None:
    folded = fold_family(made, at)
    assert [(role.ledger_id, role.entry_id) for role in folded.roles] == sorted(map(position, made))
    assert sum(publication.copies for publication in folded.publications) == len(made)
    assert {p.publish_time_ms for p in folded.publications} == {row.publish_time_ms for row in made}


@given(families(), edges(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_changes_nothing(made: list[ChunkRow], at: LogEdge, random: Any) -> None:
    shuffled = list(made)
    random.shuffle(shuffled)
    assert fold_family(shuffled, at) == fold_family(made, at)


def check_numbers(publication: Publication) -> None:
    assert publication.present_chunks + publication.missing_chunk_count == max(publication.num_chunks, 0)
    assert publication.present_chunks <= publication.copies
    assert len(publication.missing_chunk_ids) == min(publication.missing_chunk_count, 1000)
    flat = [edge for piece in publication.missing_bytes for edge in piece]
    assert flat == sorted(set(flat))
    assert all(0 <= edge <= publication.total_bytes for edge in flat)
    assert publication.span_entries >= publication.present_chunks


def check_state(publication: Publication) -> None:
    missing = publication.missing_chunk_ids
    if publication.state in ("whole", "out_of_order"):
        assert not missing
    elif publication.state == "orphan_prefix":
        assert missing[0] == publication.present_chunks > 0
    elif publication.state == "headless":
        assert missing[0] == 0
    elif publication.state == "gap":
        assert 0 < missing[0] < publication.present_chunks + publication.missing_chunk_count - 1
    elif publication.state == "in_flight":
        assert missing
        assert publication.sureness != "certain"


@given(families(), edges())
def test_states_and_numbers_agree(made: list[ChunkRow], at: LogEdge) -> None:
    for publication in fold_family(made, at).publications:
        check_numbers(publication)
        check_state(publication)
        assert publication.reason
        assert publication.flags == tuple(sorted(set(publication.flags)))


@given(families(), edges())
def test_what_is_rebuildable_has_a_manifest_of_sound_copies(made: list[ChunkRow], at: LogEdge) -> None:
    by_place = {position(own): own for own in made}
    folded = fold_family(made, at)
    used = {(role.ledger_id, role.entry_id) for role in folded.roles if role.role == "used"}
    for publication in folded.publications:
        assert bool(publication.manifest) is publication.rebuildable
        if publication.rebuildable:
            assert publication.state in ("whole", "out_of_order", "malformed")
            assert [chunk_id for chunk_id, *_ in publication.manifest] == list(range(publication.num_chunks))
        for chunk_id, ledger_id, entry_id, *place in publication.manifest:
            own = by_place[ledger_id, entry_id]
            assert (ledger_id, entry_id) in used
            assert own.checksum_state != "mismatch"
            assert own.publish_time_ms == publication.publish_time_ms
            assert own.chunk_id == chunk_id
            assert place == [own.uri, own.payload_offset, own.payload_length, own.inner_offset, own.block_length]


@given(families(wild=False), edges())
def test_state_and_rebuildable_are_what_trying_every_choice_finds(made: list[ChunkRow], at: LogEdge) -> None:
    for publication in fold_family(made, at).publications:
        own = sorted((r for r in made if r.publish_time_ms == publication.publish_time_ms), key=position)
        ascending = any([r.chunk_id for r in choice] == [0, 1, 2, 3] for choice in combinations(own, 4))
        assert (publication.state == "whole") is ascending
        stored = {r.chunk_id for r in own}
        assert (publication.state in ("whole", "out_of_order")) is (stored == {0, 1, 2, 3})
        sound = {r.chunk_id for r in own if r.checksum_state != "mismatch"}
        assert publication.rebuildable is (sound == {0, 1, 2, 3})


@given(families(wild=False), edges())
def test_surplus_copies_of_a_whole_message_are_never_passed_over_in_silence(made: list[ChunkRow], at: LogEdge) -> None:
    for publication in fold_family(made, at).publications:
        if publication.state in ("whole", "out_of_order") and publication.copies > publication.num_chunks:
            assert set(publication.flags) - {"ledger_span", "uuid_reused", "mixed_with_another_publication"}


@given(families(), edges(), st.data())
def test_one_more_copy_of_a_stored_chunk_never_makes_a_message_less_rebuildable(
    made: list[ChunkRow], at: LogEdge, data: Any
) -> None:
    before = {p.publish_time_ms: p for p in fold_family(made, at).publications}
    copied = data.draw(st.sampled_from(made))
    free = data.draw(POSITIONS.filter(lambda place: place not in set(map(position, made))))
    again = replace(copied, ledger_id=free[0], entry_id=free[1])
    after = {p.publish_time_ms: p for p in fold_family([*made, again], at).publications}
    own = before[copied.publish_time_ms]
    if own.rebuildable and not {"metadata_conflict", "copies_differ"} & set(own.flags):
        assert after[copied.publish_time_ms].rebuildable


@given(families(wild=False), edges(), POSITIONS)
def test_a_damaged_entry_never_makes_a_message_less_rebuildable(
    made: list[ChunkRow], at: LogEdge, place: tuple[int, int]
) -> None:
    kept = [own for own in made if position(own) != place]
    before = {p.publish_time_ms: p for p in fold_family(kept, at).publications} if kept else {}
    damaged = row(2, place[1], 99, ledger_id=place[0], publish_time_ms=5, checksum_state="mismatch")
    after = {p.publish_time_ms: p for p in fold_family([*kept, damaged], at).publications}
    for time, own in before.items():
        assert after[time].rebuildable >= own.rebuildable


@given(st.integers(1, 9), st.integers(1, 50), st.integers(1, 50), st.booleans(), edges(), st.data())
def test_the_short_way_and_the_long_way_agree(
    n: int, length: int, last: int, encrypted: bool, at: LogEdge, data: Any
) -> None:
    size, tail, tag = max(length, last), min(length, last), 16 if encrypted else 0
    if n == 1:
        size = tail
    cut = data.draw(st.integers(0, n))
    made = [
        replace(
            own,
            ledger_id=7 if own.entry_id < cut else 8,
            payload_length=(tail if own.chunk_id == n - 1 else size) + tag,
            total_bytes=size * (n - 1) + tail,
            uncompressed_size=size * (n - 1) + tail,
            encrypted=encrypted,
        )
        for own in rows(" ".join(map(str, range(n))), n)
    ]
    assert is_healthy(made)
    publication, own_roles = fold_publication(made, FamilyFacts(set()), at)
    short = fold_healthy(made)
    assert short.publications == (publication,)
    assert short.roles == own_roles


@given(families(wild=False), edges())
def test_only_what_the_long_way_finds_whole_takes_the_short_way(made: list[ChunkRow], at: LogEdge) -> None:
    ordered = sorted(made, key=position)
    if is_healthy(ordered):
        publication, _ = fold_publication(ordered, FamilyFacts(set()), at)
        assert fold_healthy(ordered).publications == (publication,)
