"""Geometry of the drawings: nothing drawn that is not in the numbers, nothing in the numbers left out."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.report.figures import MAX_SLOTS, MAX_TABLE_ROWS, PLOT_HEIGHT, merge, state_bar, timeline
from pulsar_backlog.report.model import Bucket, LedgerFacts
from tests.report.sample_models import multi_chunk
from tests.report.sample_parts import group, section

buckets = st.lists(
    st.builds(
        Bucket,
        start_ms=st.integers(0, 10**6).map(lambda n: n * 1000),
        entries=st.integers(0, 100),
        bytes=st.integers(0, 10**9),
        chunk_entries=st.integers(0, 100),
    ),
    min_size=1,
    max_size=30,
)


@given(buckets, st.integers(1, 100))
def test_merging_keeps_sums_and_stays_within_the_limit(found: list[Bucket], limit: int) -> None:
    slots, width_ms = merge(found, 1000, limit)
    assert sum(s.entries for s in slots) == sum(b.entries for b in found)
    assert sum(s.bytes for s in slots) == sum(b.bytes for b in found)
    assert sum(s.chunk_entries for s in slots) == sum(b.chunk_entries for b in found)
    first_ms = slots[0].start_ms
    assert (max(b.start_ms for b in found) - first_ms) // width_ms < limit
    assert all((s.start_ms - first_ms) % width_ms == 0 for s in slots)


def test_bars_are_as_high_as_their_share_and_empty_spans_have_none() -> None:
    drawn = timeline(section("t", 1, 1, 1, bucket_ms=10, buckets=(Bucket(0, 4, 100, 0), Bucket(30, 1, 1, 1))))
    assert drawn is not None
    assert (drawn.slots, drawn.start_ms, drawn.end_ms) == (4, 0, 40)
    assert re.findall(r"M(\d+)\.06 \d+v-([\d.]+)", drawn.entries_path) == [("0", f"{PLOT_HEIGHT}.0"), ("3", "14.0")]
    assert re.findall(r"M(\d+)\.06", drawn.chunks_path) == ["3"]
    assert re.findall(r"v-([\d.]+)", drawn.bytes_path) == [f"{PLOT_HEIGHT}.0", "1.0"]  # never thinner than a pixel


@pytest.mark.parametrize("found", [(), (Bucket(5, 1, 1, 0),), (Bucket(5, 1, 1, 0), Bucket(5, 2, 2, 0))])
def test_one_moment_is_not_drawn(found: tuple[Bucket, ...]) -> None:
    assert timeline(section("t", 1, 1, 1, buckets=found)) is None


def test_wide_ranges_are_merged_for_drawing_and_again_for_reading() -> None:
    far = (Bucket(0, 1, 1, 0), Bucket(10**12, 1, 1, 0))  # one clock in 1970, one in 2001
    drawn = timeline(section("t", 1, 1, 1, buckets=far))
    assert drawn is not None
    assert drawn.slots <= MAX_SLOTS
    assert len(drawn.rows) <= MAX_TABLE_ROWS


def test_ledgers_end_where_they_were_closed_or_the_next_begins() -> None:
    ledgers = (
        LedgerFacts(3, 1, 1, "ok", created_ms=80, closed_ms=None),
        LedgerFacts(1, 1, 1, "ok", created_ms=-50, closed_ms=20),
        LedgerFacts(2, 1, 1, "damaged", created_ms=40, closed_ms=None),
        LedgerFacts(2, 1, 1, "spare", created_ms=40, closed_ms=None),
        LedgerFacts(4, 1, 1, "ok", created_ms=None, closed_ms=None),
        LedgerFacts(5, 1, 1, "ok", created_ms=900, closed_ms=None),
    )
    found = (Bucket(0, 1, 1, 0), Bucket(90, 1, 1, 0))
    drawn = timeline(section("t", 1, 1, 1, bucket_ms=10, buckets=found, ledgers=ledgers))
    assert drawn is not None
    assert [(s.label, s.x, s.width, s.status) for s in drawn.strips] == [
        ("1", 0.0, 20.0, "ok"),
        ("2", 40.0, 40.0, "damaged"),
        ("3", 80.0, 20.0, "ok"),
    ]


def test_ledgers_created_together_do_not_confuse_the_order() -> None:
    twins = tuple(LedgerFacts(n, 1, 1, "ok", created_ms=0, closed_ms=None) for n in (2, 1, 1))
    assert timeline(replace(multi_chunk(), ledgers=twins)) is not None


@given(
    st.dictionaries(
        st.sampled_from(["gap", "headless", "whole", "in_flight", "new"]), st.integers(1, 10**9), min_size=1
    )
)
def test_bar_is_filled_and_no_state_vanishes(counts: dict[str, int]) -> None:
    bar = state_bar([group(state, count) for state, count in counts.items()])
    assert {s.state: s.count for s in bar} == counts
    assert sum(s.width for s in bar) == pytest.approx(100, abs=0.1)
    assert min(s.width for s in bar) > 1.3
    assert all(s.is_known == (s.state != "new") for s in bar)
    assert bar[0].x == 0


def test_no_chunked_message_no_bar() -> None:
    assert state_bar([]) == ()
