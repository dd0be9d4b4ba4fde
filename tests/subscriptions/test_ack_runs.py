"""Runs and sums of one ledger against a plain loop over its entries."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.subscriptions.ack_runs import AckJoin, BatchHole, Oldest, Piece, Span, rows_of
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.subscriptions.states import ACKED, PARTLY, UNACKED, state_of
from tests.memory import with_peak_bytes

Entry = tuple[int, int, int]
"""Id, bytes, messages."""


@st.composite
def ledgers(draw: st.DrawFn) -> list[Entry]:
    ids = sorted(draw(st.sets(st.integers(0, 40), min_size=1)))
    return [(entry, draw(st.integers(1, 9)), draw(st.integers(0, 3))) for entry in ids]


def added_ms(entry_id: int) -> int | None:
    """When the broker added an entry; every third one does not tell."""
    return entry_id + 2000 if entry_id % 3 else None


def piece(entries: list[Entry]) -> Piece:
    ids, sizes, messages = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    return Piece(ids, sizes, messages, ids + 1000, lambda place: added_ms(int(ids[place])))


def in_sums(entries: list[Entry]) -> Span:
    ids, sizes, messages = zip(*entries, strict=True)
    return Span(ids[0], ids[-1], len(ids), sum(messages), sum(sizes), ids[0] + 1000, added_ms(ids[0]))


def joined(
    entries: list[Entry], acked: AckedSet, cuts: list[int], redelivered: BitMap, back: int | None, spans: bool = False
) -> AckJoin:
    """The join of entries in pieces; with `spans` by sums where the same holds for all of a piece."""
    view = SubscriptionView("s", None, acked.mark_delete)
    rollback = None if back is None else (5, back)
    state = state_of(view, acked, {5: redelivered}, rollback).opened(5)
    join = AckJoin(state)
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(entries)), len(entries)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            part = entries[start:stop]
            whole = state.whole(part[0][0], part[-1][0]) if spans else None
            if whole is None:
                join.add(piece(part))
            else:
                join.add_span(in_sums(part), whole)
    join.finish()
    return join


@given(ledgers(), st.tuples(st.integers(4, 6), st.integers(-1, 40)), st.sets(st.integers(0, 40)),
       st.lists(st.integers(0, 40)),
       st.sets(st.integers(0, 40)), st.none() | st.integers(-1, 40), st.booleans())  # fmt: skip
def test_runs_and_sums_are_those_of_a_plain_loop(
    entries: list[Entry], mark: tuple[int, int], acks: set[int], cuts: list[int], again: set[int], back: int | None,
    spans: bool,
) -> None:  # fmt: skip
    acked = AckedSet(mark, {5: BitMap(acks)})
    join = joined(entries, acked, cuts, BitMap(again), back, spans)
    expected: list[list[int]] = []
    previous = False
    for id_, size, messages in entries:
        left = (5, id_) not in acked
        if left and previous:
            expected[-1] = [
                expected[-1][0],
                id_,
                expected[-1][2] + 1,
                expected[-1][3] + messages,
                expected[-1][4] + size,
            ]
        elif left:
            expected.append([id_, id_, 1, messages, size])
        previous = left
    assert [row for columns in rows_of(join) for row in columns.T.tolist()] == expected
    left_over = [one for one in entries if (5, one[0]) not in acked]
    assert (join.sums.entries, join.sums.bytes) == (len(left_over), sum(size for _, size, _ in left_over))
    oldest = left_over[0][0] if left_over else None
    assert join.sums.oldest == (None if oldest is None else Oldest(oldest, oldest + 1000, added_ms(oldest)))
    assert join.sums.redelivered_bytes == sum(size for id_, size, _ in entries if id_ in again)
    rolled = [one for one in entries if back is not None and (5, one[0]) in acked and one[0] > back]
    assert (join.sums.rolled_back_entries, join.sums.rolled_back_bytes) == (len(rolled), sum(one[1] for one in rolled))


IDS = st.integers(0, 12)


@given(st.tuples(st.integers(4, 6), st.integers(-1, 12)), st.sets(IDS), st.sets(IDS), st.none() | IDS, st.sets(IDS),
       IDS, IDS)  # fmt: skip
def test_what_is_said_of_a_span_holds_for_each_of_its_entries(
    mark: tuple[int, int], acks: set[int], again: set[int], back: int | None, partly: set[int], one: int, other: int
) -> None:
    first, last = sorted((one, other))
    acked = AckedSet(mark, {5: BitMap(acks)}, {(5, entry_id): (1,) for entry_id in partly - acks})
    rollback = None if back is None else (5, back)
    state = state_of(SubscriptionView("s", None, mark), acked, {5: BitMap(again)}, rollback).opened(5)
    ids = np.arange(first, last + 1)
    told = (state.labels(ids), state.is_redelivered(ids), state.is_rolled_back(ids))
    labels = set(zip(*(column.tolist() for column in told), strict=True))
    whole = state.whole(first, last)
    if whole is not None:
        assert labels == {(ACKED if whole.acked else UNACKED, whole.redelivered, whole.rolled_back)}
    elif (5, first) > mark:  # what mark-delete covers, but also something else says, may stay unsaid
        assert len(labels) > 1 or PARTLY in {label for label, *_ in labels}


def test_a_batch_hole_is_a_row_of_its_own_and_counts_what_is_left_of_it() -> None:
    acked = AckedSet((5, 0), {5: BitMap([4])}, {(5, 2): (0b0110,)})
    join = joined([(n, 10, 4) for n in range(1, 6)], acked, [], BitMap(), None)
    assert [row for columns in rows_of(join) for row in columns.T.tolist()] == [
        [1, 1, 1, 4, 10],
        [3, 3, 1, 4, 10],
        [5, 5, 1, 4, 10],
    ]
    (hole,) = join.batch_holes
    assert (hole.entry_id, hole.messages, hole.indexes, hole.impossible) == (2, 2, [1, 2], False)
    assert (join.sums.entries, join.sums.messages) == (4, 14)


def test_the_size_that_a_batch_claims_costs_no_memory() -> None:
    claimed = 10_000_000
    acked = AckedSet((5, 0), {}, {(5, 1): (-1,) * (claimed // 64 + 1), (5, 2): (0b101,)})

    def holes() -> list[BatchHole]:
        return joined([(1, 10, claimed), (2, 10, claimed)], acked, [], BitMap(), None).batch_holes

    (beyond, within), peak = with_peak_bytes(holes)
    assert (beyond.messages, beyond.indexes, beyond.impossible) == (claimed, list(range(1000)), True)
    assert (within.messages, within.indexes, within.impossible) == (2, [0, 2], False)
    assert peak < 50 * claimed // 8  # of the words that the state has


def test_indexes_beyond_the_batch_are_not_believed() -> None:
    acked = AckedSet((5, 0), {}, {(5, 1): (0b10001,)})
    (hole,) = joined([(1, 10, 4)], acked, [], BitMap(), None).batch_holes
    assert (hole.indexes, hole.impossible) == ([0, 1, 2, 3], True)
