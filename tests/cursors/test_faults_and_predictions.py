"""What cannot be right in a state; and what becomes of one that is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet, acked_set
from pulsar_backlog.cursors.decode import decode_position_info
from pulsar_backlog.cursors.faults import faults_of
from pulsar_backlog.cursors.newest import Newest, Sighting, newest
from pulsar_backlog.cursors.predict import Limits, missing, predict
from pulsar_backlog.cursors.sizes import Splitting, limited, long_array_bytes, position_info_bytes, state_of
from pulsar_backlog.cursors.values import AckState, BatchState, LongList
from tests.cursors.encode import encode_entries, encode_position_info
from tests.memory import with_peak_bytes

LENGTHS: dict[int, int | None] = {7: 10, 8: 10, 9: None}


def ranges(*rows: tuple[int, int, int, int]) -> AckState:
    return AckState((7, 0), np.array(rows, dtype=np.int64).reshape(-1, 4))


@pytest.mark.parametrize(
    ("state", "codes"),
    [
        pytest.param(ranges((7, 1, 7, 3), (8, -1, 8, 9), (9, 0, 9, 500)), [],
                     id="sound; the open ledger may be any length"),
        pytest.param(AckState((3, 5)), [], id="mark-delete in a trimmed ledger is usual"),
        pytest.param(ranges((12, 1, 12, 3)), ["K05"], id="a ledger that is not there"),
        pytest.param(ranges((7, 1, 7, 10)), ["K05"], id="an entry beyond the end"),
        pytest.param(AckState((8, 10)), ["K05"], id="mark-delete beyond the end"),
        pytest.param(AckState((7, 0), long_lists=(LongList(8, np.array([1 << 10])),)), ["K05"],
                     id="bitmap longer than its ledger"),
        pytest.param(AckState((7, 0), long_lists=(LongList(8, np.array([1 << 9, 0])),)), [],
                     id="bitmap with a zero word after"),
        pytest.param(ranges((7, 5, 7, 3)), ["K11"], id="reversed"),
        pytest.param(ranges((7, 1, 7, 5), (7, 3, 7, 8)), ["K11"], id="overlapping"),
        pytest.param(ranges((7, 1, 7, 5), (7, 5, 7, 8)), [], id="one ends where the next begins"),
        pytest.param(AckState((7, 0), np.array([[7, 1, 7, 2]]), (LongList(7, np.array([1])),)), ["K11"],
                     id="two forms"),
        pytest.param(AckState((7, 0), batches=(BatchState(7, 3, (0,)),)), ["K12"],
                     id="a batch state that says nothing"),
        pytest.param(AckState((7, 0), unknown_fields=True), ["K15"], id="a newer version"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(state: AckState, codes: list[str]) -> None:
    assert [fault.code for fault in faults_of(state, LENGTHS)] == codes


def test_without_ledgers_nothing_is_said_of_positions() -> None:
    assert list(faults_of(ranges((12, 1, 12, 300)), {})) == []


HOLES = AckedSet((7, 0), {7: BitMap(range(2, 60, 2)), 8: BitMap(range(0, 60, 3)), 9: BitMap([1])})


def found(acked: AckedSet, stored: AckedSet | None = None) -> Newest:
    sightings = [Sighting("stats_internal", "live", acked, cursor_ledger_id=3, entry_id=1)]
    if stored is not None:
        state = state_of(stored, long_array=True)
        sightings.append(Sighting("cursor_ledger", "ledger", stored, state, cursor_ledger_id=3, entry_id=1))
    return newest(sightings)


@pytest.mark.parametrize("long_array", [True, False])
@pytest.mark.parametrize("limit", [1, 28, 29, 30, 49, 50, 1000])
def test_what_the_next_persist_drops_is_what_is_not_in_the_bytes(long_array: bool, limit: int) -> None:
    prediction = predict(found(HOLES), Limits(ranges=limit, long_array=long_array), {})
    written = encode_position_info(limited(state_of(HOLES, long_array), limit, 10))
    back = acked_set(decode_position_info(written))
    every = [(ledger, entry) for ledger in (7, 8, 9) for entry in range(70)]
    lost = [p for p in every if p in HOLES and p not in back]
    assert prediction.dropped_entries == len(lost)
    assert sum(map(len, prediction.redelivered.values())) == len(lost), (
        "nothing stored is known: this is the best guess"
    )


def test_long_lists_lose_whole_ledgers_after_the_one_that_crosses_the_limit() -> None:
    # 29 entries of ledger 7 pass a limit of 20 and are kept; 8 and 9 are dropped. Ranges stop exactly at the limit.
    kept = limited(state_of(HOLES, long_array=True), 20, 10)
    assert [one.ledger_id for one in kept.long_lists] == [7]
    assert len(limited(state_of(HOLES, long_array=False), 20, 10).ranges) == 20


def test_a_restart_repeats_what_only_memory_holds() -> None:
    stored = AckedSet((7, 0), {7: BitMap([2])})
    prediction = predict(found(AckedSet((8, 1), {8: BitMap([5])}), stored), Limits(), LENGTHS)
    assert {ledger: set(bits) for ledger, bits in prediction.redelivered.items()} == {
        7: {1, *range(3, 10)},
        8: {0, 1, 5},
    }
    assert prediction.redelivered_from == (7, 1)


longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 12)


@given(
    st.tuples(longs, longs),
    st.lists(st.tuples(longs, longs, longs, longs), max_size=4),
    st.lists(st.tuples(longs, st.lists(longs, max_size=2)), max_size=2),
    st.lists(st.tuples(longs, longs, st.lists(longs, max_size=2)), max_size=2),
)
@example(mark=(0, 0), rows=[], lists=[], batches=[(1, -1, [1]), (1, 2**32, [1])])
def test_no_state_however_damaged_stops_anything(
    mark: tuple[int, int],
    rows: list[tuple[int, int, int, int]],
    lists: list[tuple[int, list[int]]],
    batches: list[tuple[int, int, list[int]]],
) -> None:
    state = AckState(
        mark,
        np.array(rows, dtype=np.int64).reshape(-1, 4),
        tuple(LongList(key, np.array(words, dtype=np.int64)) for key, words in lists),
        tuple(BatchState(ledger, entry, tuple(words)) for ledger, entry, words in batches),
    )
    list(faults_of(state, LENGTHS))
    acked = acked_set(state, LENGTHS)
    for other in (HOLES, AckedSet((7, 3))):
        acked.is_subset(other)
        other.is_subset(acked)
        predict(found(acked, other), Limits(), LENGTHS)
        predict(found(other, acked), Limits(), LENGTHS)


def test_nothing_is_missing_from_the_same() -> None:
    assert missing(HOLES, HOLES, LENGTHS) == {}


@pytest.mark.parametrize("long_array", [True, False])
def test_sizes_are_those_of_the_bytes(long_array: bool) -> None:
    prediction = predict(found(HOLES), Limits(long_array=long_array), {})
    assert prediction.ranges_bytes == len(encode_position_info(state_of(HOLES, long_array=False)))
    assert prediction.long_array_bytes == len(encode_position_info(state_of(HOLES, long_array=True)))
    wide = AckedSet((7, 0), {7: BitMap(range(1, 8_000_000, 5))})
    big = predict(found(wide), Limits(long_array=long_array), {})
    assert ("frame" in big.over_limits) == (not long_array), "as ranges it is 32 MB, as a list 1.4"
    assert big.split_parts > 1
    form = state_of(wide, long_array=big.long_array_bytes < big.ranges_bytes)
    assert big.split_parts == max(len(encode_entries(form, Splitting())) - 1, 1)


def test_limits_are_compared_with_what_they_limit() -> None:
    assert predict(found(HOLES), Limits(ranges=49, long_array=True), {}).over_limits == ("ranges",)
    assert predict(found(HOLES), Limits(ranges=50, long_array=True), {}).over_limits == ()
    partly = AckedSet((7, 0), {}, {(7, 3): (1,), (7, 4): (1,)})
    assert predict(found(partly), Limits(batch_entries=1), {}).over_limits == ("batch_entries",)


@pytest.mark.parametrize("ids", [{3}, {0, 63, 64, 2**20 - 1, 2**20, 2**22 + 7}, set(range(100)) | {5_000_000}])
def test_the_size_of_long_lists_without_their_words(ids: set[int]) -> None:
    acked = AckedSet((5, 0), {5: BitMap(ids), 300: BitMap([1])}, {(6, 1): (5,)})
    assert long_array_bytes(acked) == position_info_bytes(state_of(acked, long_array=True))


def test_an_entry_far_away_costs_no_memory() -> None:
    for bitmap in (BitMap([2**31 - 1]), BitMap(range(1, 2**26))):
        acked = AckedSet((5, 0), {5: bitmap})
        prediction, peak = with_peak_bytes(lambda acked=acked: predict(found(acked), Limits(long_array=True), {}))
        assert (prediction.acked_ranges, prediction.acked_entries) == (1, len(bitmap))
        assert peak < 40_000_000
