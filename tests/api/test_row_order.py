"""Rows that were opened apart, in the order of their positions: as pieces, or copied where there would be many."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.api import row_order
from pulsar_backlog.api.row_order import in_order
from pulsar_backlog.wire.byte_views import VIEW
from tests.examples import examples

SCHEMA = pa.schema([("entry_id", pa.int64()), ("batch_index", pa.int32()), ("payload", VIEW)])


def rows(positions: list[tuple[int, int]]) -> pa.RecordBatch:
    values = [
        {"entry_id": entry, "batch_index": member, "payload": f"payload of {entry}:{member}".encode()}
        for entry, member in positions
    ]
    return pa.RecordBatch.from_pylist(values, schema=SCHEMA)


@pytest.mark.parametrize("most", [0, 1, 32])
@given(where=st.lists(st.integers(0, 2), max_size=12))
@examples(100)
def test_all_rows_by_position(most: int, where: list[int]) -> None:
    """Each entry is bare, a batch, or a batch that was opened another way."""
    batches: list[list[tuple[int, int]]] = [[], [], []]
    for entry, number in enumerate(where):
        batches[number] += [(entry, -1)] if number == 0 else [(entry, 0), (entry, 1)]
    expected = rows(sorted(one for batch in batches for one in batch)).to_pylist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_order, "MOST_PIECES", most)
        made = [*in_order([rows(one) for one in batches], lambda batch: batch)]
    assert [row for batch in made for row in batch.to_pylist()] == expected


@pytest.mark.parametrize(("most", "made"), [(32, 2), (2, 1)])
def test_each_row_is_made_once_and_pieces_are_no_copies(most: int, made: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_order, "MOST_PIECES", most)
    batches, given = [rows([(0, 0), (0, 1), (2, 0)]), rows([(1, -1)])], []
    pieces = [*in_order(batches, lambda batch: given.append(batch.num_rows) or batch)]
    assert len(given) == made
    assert sum(given) == 4
    views = {batch.column("payload").buffers()[1].address for batch in batches}
    assert [one.column("payload").buffers()[1].address in views for one in pieces] == (
        [True] * 3 if made > 1 else [False]
    )
