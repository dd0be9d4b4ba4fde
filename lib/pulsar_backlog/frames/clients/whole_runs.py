"""Where whole messages lie alone among chunk rows: what models count instead of playing it (`WholeMessages`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.chunks.clients.whole_messages import WholeMessages
from pulsar_backlog.frames.clients.log_stream import Stretch
from pulsar_backlog.frames.clients.rows import are

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class WholeRun:
    """Whole messages that follow each other in a stretch.

    Attributes:
        stretch: all of their rows, and no others.
        first: place of the first row of each message.
    """

    stretch: Stretch
    first: npt.NDArray[np.intp]

    @cached_property
    def heads(self) -> pa.RecordBatch:
        """The first row of each message."""
        return self.stretch.rows.take(pa.array(self.first))

    def messages(self) -> WholeMessages:
        """What models read of them."""
        heads = self.heads
        return WholeMessages(
            uuids=heads.column("uuid").to_pylist(),
            begun_ms=heads.column("stored_ms").to_pylist(),
            entries=self.stretch.rows.num_rows + int(self.stretch.plain_before.sum()),
            largest_bytes=pc.max(heads.column("total_bytes")).as_py(),
        )


def whole_runs(stretch: Stretch) -> Iterator[Stretch | WholeRun]:
    """The stretch in parts: runs of whole messages, and what lies between them."""
    first = np.flatnonzero(_begins(stretch.rows))
    count = np.diff(first, append=stretch.rows.num_rows)
    whole = _are_whole(stretch.rows, first, count)
    borders = [0, *(np.flatnonzero(np.diff(whole)) + 1).tolist(), len(first)]
    ends = np.append(first, stretch.rows.num_rows)
    for begin, end in pairwise(borders):
        part = stretch.part(int(ends[begin]), int(ends[end]))
        yield WholeRun(part, first[begin:end] - first[begin]) if whole[begin] else part


def _begins(rows: pa.RecordBatch) -> _Mask:
    """Which rows belong to another publication than the row before."""
    before, after = rows.slice(0, rows.num_rows - 1), rows.slice(1)
    others = [pc.not_equal(before.column(name), after.column(name)) for name in ("uuid", "publish_time_ms")]
    return np.append(True, pc.or_(*others).to_numpy(zero_copy_only=False))


def _are_whole(rows: pa.RecordBatch, first: npt.NDArray[np.intp], count: npt.NDArray[np.intp]) -> _Mask:
    """Of which publications these rows are all that is stored, complete, in order and odd in nothing."""
    facts, of_each = rows.column("facts").to_numpy(), np.repeat(count, count)
    sound = _numbers(rows, "chunk_id") == np.arange(rows.num_rows) - np.repeat(first, count)
    sound &= (_numbers(rows, "num_chunks") == of_each) & (_numbers(rows, "copies") == of_each)
    total, stated = _numbers(rows, "total_bytes"), _numbers(rows, "uncompressed_bytes", 0)
    for values in (facts, total, stated):
        sound &= values == np.repeat(values[first], count)
    whole = np.logical_and.reduceat(sound, first) & (count > 1)
    whole &= np.add.reduceat(_numbers(rows, "slice_bytes"), first) == total[first]
    plain = are(facts[first], codec=None) & ((stated[first] == 0) | (stated[first] == total[first]))
    whole &= plain | (are(facts[first], payload="fits") & ~are(facts[first], codec=None) & (stated[first] > 0))
    whole &= are(facts[first], batched=False, checksum="valid", whole=True, in_flight=False)
    named = pc.not_equal(rows.column("uuid"), "").to_numpy(zero_copy_only=False)
    return np.asarray(whole & named[first], np.bool_)


def _numbers(rows: pa.RecordBatch, name: str, null: int = -1) -> npt.NDArray[np.int64]:
    return np.asarray(rows.column(name).fill_null(null), np.int64)
