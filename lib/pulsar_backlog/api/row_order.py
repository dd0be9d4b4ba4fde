"""Rows of a run of entries by position: bare messages and batch members, which are opened apart.

A bare message between two batches makes three pieces of the batches' rows, and pieces of a record batch are no copies.
Only where there would be many, all rows are copied into their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.byte_views import VIEW

MOST_PIECES = 32
"""A piece costs some ten microseconds wherever it goes, 8 MiB of rows some milliseconds where they are copied."""

Make = Callable[[pa.RecordBatch], pa.RecordBatch]


def in_order(batches: Sequence[pa.RecordBatch], make: Make) -> Iterator[pa.RecordBatch]:
    """What `make` gives for rows, by their position; it keeps number and order of the rows."""
    if len(batches) < 2:
        yield from map(make, batches)
        return
    order = _order(batches)
    starts = _starts(batches)
    pieces = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1)
    if len(pieces) > MOST_PIECES:
        # A number is left out behind each batch, so that no piece is of two.
        rows = order - np.searchsorted(starts, order, side="right") + 1
        yield make(pa.concat_batches(map(_without_views, batches)).take(pa.array(rows)))
        return
    made = [make(one) for one in batches]
    for piece in pieces:
        if len(piece):
            number = int(np.searchsorted(starts, piece[0], side="right")) - 1
            yield made[number].slice(int(piece[0] - starts[number]), len(piece))


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of which Arrow can take some."""
    return batch.cast(pa.schema([one.with_type(pa.binary()) if one.type == VIEW else one for one in batch.schema]))


def _starts(batches: Sequence[pa.RecordBatch]) -> Int64s:
    """The number of the first row of each, where one number is left out behind each."""
    sizes = np.array([one.num_rows + 1 for one in batches], dtype=np.int64)
    starts: Int64s = np.cumsum(sizes) - sizes
    return starts


def _order(batches: Sequence[pa.RecordBatch]) -> Int64s:
    """Numbers of the rows, by their position."""
    entry, member = (
        np.concatenate([one.column(name).to_numpy() for one in batches]) for name in ("entry_id", "batch_index")
    )
    counted = zip(_starts(batches).tolist(), batches, strict=True)
    numbers = np.concatenate([np.arange(start, start + one.num_rows) for start, one in counted])
    order: Int64s = numbers[np.lexsort((member, entry))]
    return order
