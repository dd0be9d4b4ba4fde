"""Sets of acknowledged entries: they subtract as position by position would, and survive a journal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.repair.acked_entries import (
    Entries,
    acknowledged,
    all_entries,
    entries_of_runs,
    entries_of_text,
)
from pulsar_backlog.repair.values import Run

POSITIONS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=40)


def entries(positions: set[tuple[int, int]]) -> Entries:
    return entries_of_runs(Run(ledger, entry, entry) for ledger, entry in positions)


@given(POSITIONS, POSITIONS)
def test_sets_are_sets_of_positions(first: set[tuple[int, int]], second: set[tuple[int, int]]) -> None:
    assert list((entries(first) - entries(second)).positions()) == sorted(first - second)
    assert list((entries(first) | entries(second)).positions()) == sorted(first | second)
    assert len(entries(first)) == len(first)
    assert list(entries(first).within([1, 3]).positions()) == sorted(p for p in first if p[0] in (1, 3))
    assert list(entries_of_text(entries(first).as_text()).positions()) == sorted(first)


@given(
    st.dictionaries(st.integers(0, 4), st.integers(1, 20), min_size=1),
    st.tuples(st.integers(0, 5), st.integers(-1, 20)),
    st.dictionaries(st.integers(0, 4), st.sets(st.integers(0, 20), min_size=1)),
)
def test_acknowledged_means_before_mark_delete_or_on_its_own(
    lengths: dict[int, int], mark_delete: tuple[int, int], single: dict[int, set[int]]
) -> None:
    single = {ledger: {e for e in ids if e < lengths.get(ledger, 0)} for ledger, ids in single.items()}
    ledger, entry = mark_delete
    mark_delete = (ledger, min(entry, lengths.get(ledger, 0) - 1))
    acked = AckedSet(mark_delete, {ledger: BitMap(ids) for ledger, ids in single.items() if ids})
    expected = {
        position
        for position in all_entries(lengths).positions()
        if position <= mark_delete or position[1] in single.get(position[0], ())
    }
    assert list(acknowledged(acked, lengths).positions()) == sorted(expected)
