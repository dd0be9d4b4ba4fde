"""Runs of bytes that stay where they are: Arrow reads them as we do, and joined they are the same bytes."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.wire.byte_views import VIEW, as_binary, joined_runs, run_lengths, runs_as_views
from tests.examples import examples

RUNS = st.lists(st.binary(max_size=12) | st.binary(min_size=10, max_size=40), max_size=8)


def views(runs: list[bytes], gap: bytes = b"-", validity: pa.Buffer | None = None) -> pa.Array:
    arena = np.frombuffer(gap + gap.join(runs) + gap, dtype=np.uint8)
    lengths = np.array([len(one) for one in runs], dtype=np.int64)
    starts = len(gap) + np.cumsum(lengths + len(gap)) - lengths - len(gap)
    return runs_as_views(arena, starts, lengths, validity)


@given(RUNS, st.binary(max_size=3))
@examples(200)
def test_arrow_reads_what_was_given(runs: list[bytes], gap: bytes) -> None:
    column = views(runs, gap)
    column.validate(full=True)
    assert column.type == VIEW
    assert column.to_pylist() == as_binary(column).to_pylist() == runs
    assert run_lengths(column).tolist() == run_lengths(as_binary(column)).tolist() == [len(one) for one in runs]


@given(RUNS, st.binary(max_size=3), st.binary(min_size=1, max_size=3), st.data())
@examples(200)
def test_joined_they_are_the_same_bytes(runs: list[bytes], before: bytes, after: bytes, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(runs)))
    last = data.draw(st.integers(first, len(runs)))
    expected = before + b"".join(runs[first:last]) + after
    others = pa.array(runs, VIEW)  # of Arrow's making, perhaps of several buffers
    twice = pa.concat_arrays([others, others])
    for column in (views(runs), as_binary(views(runs)), others, twice, as_binary(twice)):
        assert joined_runs(column[first:last], before, after) == expected


def test_what_was_joined_is_not_changed_by_the_next() -> None:
    first = joined_runs(views([b"a" * 20]), b"(", b")")
    second = joined_runs(views([b"b" * 20]), b"(", b")")
    assert (first, second) == (b"(" + b"a" * 20 + b")", b"(" + b"b" * 20 + b")")


def test_absent_runs_are_null() -> None:
    column = views([b"there, and long", b"", b"there"], validity=pa.py_buffer(b"\x05"))
    assert column.to_pylist() == [b"there, and long", None, b"there"]


@pytest.mark.parametrize("view", [(20, 0, 0, 1), (20, 0, 0, -1), (-1, 0, 0, 0), (21, 0, 0, 0)])
def test_a_view_outside_its_buffer_is_not_followed(view: tuple[int, ...]) -> None:
    buffers = [None, pa.py_buffer(struct.pack("<4i", *view)), pa.py_buffer(bytes(20))]
    with pytest.raises(ValueError, match="outside"):
        joined_runs(pa.Array.from_buffers(VIEW, 1, buffers), b"", b"end of all that is joined here")
