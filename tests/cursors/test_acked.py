"""Sets of acknowledged entries against plain Python sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet, acked_set, bitmap_of, bitmap_of_words, runs, words_of
from pulsar_backlog.cursors.sizes import state_of
from pulsar_backlog.cursors.values import AckState, BatchState, LongList
from tests.memory import with_peak_bytes

LENGTHS = {1: 30, 2: 30, 3: 30}
EVERY = [(ledger, entry) for ledger in LENGTHS for entry in range(30)]

places = st.tuples(st.integers(0, 4), st.integers(-2, 40))
raw_ranges = st.lists(st.tuples(places, places), max_size=6)
entries = st.sets(st.integers(0, 70_000) | st.integers(0, 200), max_size=60)


def state(mark: tuple[int, int], ranges: list[tuple[int, int, int, int]]) -> AckState:
    return AckState(mark, np.array(ranges, dtype=np.int64).reshape(-1, 4))


@given(places, raw_ranges)
def test_ranges_acknowledge_what_lies_after_lower_up_to_upper(
    mark: tuple[int, int], ranges: list[tuple[tuple[int, int], tuple[int, int]]]
) -> None:
    acked = acked_set(state(mark, [(*lower, *upper) for lower, upper in ranges]), LENGTHS)
    # -2 is no place; such a range counts for nothing.
    good = [(a, b) for a, b in ranges if a[1] >= -1 and b[1] >= 0]
    for position in EVERY:
        expected = position <= mark or any(lower < position <= upper for lower, upper in good)
        if any(a[1] < -1 or b[1] < 0 for a, b in ranges) and not expected:
            continue  # a damaged range across ledgers may still say something of the ledgers between
        assert (position in acked) == expected, position
        assert bool(acked.acked(position[0], np.array([position[1]]))[0]) == expected


@given(entries)
def test_bits_words_and_runs_are_the_same_entries(held: set[int]) -> None:
    bitmap = BitMap(held)
    assert set(bitmap_of_words(words_of(bitmap))) == held
    rows = runs(bitmap)
    assert {entry for first, last in rows.tolist() for entry in range(first, last + 1)} == held
    assert all(later[0] > earlier[1] + 1 for earlier, later in zip(rows.tolist(), rows.tolist()[1:], strict=False))
    assert set(bitmap_of(rows)) == held


def test_a_run_across_the_window_is_one() -> None:
    assert runs(BitMap(range(2**20 - 5, 2**20 + 5))).tolist() == [[2**20 - 5, 2**20 + 4]]


@given(places, st.dictionaries(st.integers(0, 4), st.sets(st.integers(0, 40), min_size=1), max_size=3), st.booleans())
def test_a_set_survives_both_forms(mark: tuple[int, int], held: dict[int, set[int]], long_array: bool) -> None:
    once = acked_set(state_of(AckedSet(mark, {k: BitMap(v) for k, v in held.items()}), long_array=False))
    assert acked_set(state_of(once, long_array)) == once


@pytest.mark.parametrize("far", [1 << 24, (1 << 32) - 1, 1 << 40])
def test_the_distance_of_entries_costs_no_memory(far: int) -> None:
    acked = AckedSet((1, 0), {2: bitmap_of(np.array([[3, min(far, 2**32 - 1)]]))})
    ids = np.array([-1, 2, 3, far - 1, far, far + 1])
    found, peak = with_peak_bytes(lambda: acked.acked(2, ids).tolist())
    assert found == [False, False, True, *(i < 2**32 and i <= far for i in ids[3:].tolist())]
    assert peak < 1_000_000


def test_a_set_bit_is_acknowledged_and_trailing_zero_words_say_nothing() -> None:
    lists = (LongList(5, np.array([0x20, 0], dtype=np.int64)), LongList(6, np.array([-(2**63)], dtype=np.int64)))
    acked = acked_set(AckState((4, 9), long_lists=lists))
    assert {ledger: set(bits) for ledger, bits in acked.ledgers.items()} == {5: {5}, 6: {63}}


def test_ranges_win_over_long_lists_as_brokers_read_it() -> None:
    both = AckState((1, 0), np.array([[1, 2, 1, 3]]), (LongList(1, np.array([-1])),))
    assert set(acked_set(both).ledgers[1]) == {3}


def test_a_batch_deletes_where_the_bit_is_clear() -> None:
    # In a delete set a set bit is NOT acknowledged; an empty one says nothing; an acknowledged entry has none.
    batches = (BatchState(7, 1, (0b1010,)), BatchState(7, 2, (0,)), BatchState(7, 3, (1,)), BatchState(6, 0, (1,)))
    acked = acked_set(AckState((6, 5), np.array([[7, 2, 7, 3]]), batches=batches))
    assert acked.partly == {(7, 1): (0b1010,)}
    assert (7, 1) not in acked
    assert (7, 3) in acked


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ([7, 5, 7, 5], "empty"),
        ([7, 9, 7, 5], "reversed"),
        ([8, 0, 7, 5], "reversed ledgers"),
        ([7, -5, 7, 2], "before the first entry"),
        ([7, 0, 7, 2**40], "beyond any ledger"),
    ],
)
def test_what_is_impossible_is_never_acknowledged(bad: list[int], why: str) -> None:
    acked = acked_set(AckState((1, 0), np.array([bad, [9, 0, 9, 1]])))
    assert {ledger: set(bits) for ledger, bits in acked.ledgers.items()} == {9: {1}}, why


@given(places, places, entries, entries)
def test_subset_means_that_all_of_it_is_in_the_other(
    a: tuple[int, int], b: tuple[int, int], of_a: set[int], of_b: set[int]
) -> None:
    first = acked_set(state_of(AckedSet(a, {2: BitMap(of_a)} if of_a else {}), True))
    second = acked_set(state_of(AckedSet(b, {2: BitMap(of_b)} if of_b else {}), True))
    if first.is_subset(second):
        assert all((2, entry) in second for entry in range(300) if (2, entry) in first)
