"""Chunk rows of whole topic partitions as a stream of entries in position order: what the doors to the models read."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby, repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.outcomes import InLogFields
from pulsar_backlog.frames.clients.rows import IN_LOG_COLUMNS, LOG_COLUMNS, unpacked
from pulsar_backlog.terms import Position

ROWS_AT_A_TIME = 2_000
"""Rows that are objects at one time: few enough for the cache of a core, where 10,000 take a tenth longer."""


class Stretch(NamedTuple):
    """Chunk entries of one topic that follow each other.

    Attributes:
        rows: of the entries, in position order.
        plain_before: entries between the chunk stored before and each, which are no chunks.
        end_ms: when the topic's last chunk was stored.
    """

    rows: pa.RecordBatch
    plain_before: npt.NDArray[np.int64]
    end_ms: int

    def part(self, start: int, end: int) -> Stretch:
        """The entries from one row to another, which it leaves out."""
        return Stretch(self.rows.slice(start, end - start), self.plain_before[start:end], self.end_ms)

    def objects(self) -> Iterator[tuple[list[LogEntry], list[InLogFields]]]:
        """The entries, and what the log holds of the message of each; some thousand at a time."""
        for start in range(0, self.rows.num_rows, ROWS_AT_A_TIME):
            yield _objects(self.part(start, min(start + ROWS_AT_A_TIME, self.rows.num_rows)))


def by_topic(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[Stretch]]]:
    """The topics of a task, each as a stream."""
    for topic, runs in groupby(_runs(batches), key=lambda run: run[0]):
        yield topic, _stretches(rows for _topic, rows in runs)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Entries and accounts make no cycles; walking thousands of them again and again takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _stretches(runs: Iterable[pa.RecordBatch]) -> Iterator[Stretch]:
    last: Position = (-1, -1)
    for run in runs:
        yield Stretch(run, _plain_before(run, last), run.column("end_ms")[0].as_py())
        last = (run.column("ledger_id")[-1].as_py(), run.column("entry_id")[-1].as_py())


def _runs(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Each batch cut where the topic changes."""
    for batch in batches:
        runs = pc.run_end_encode(batch.column("topic"))
        start = 0
        for topic, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield topic, batch.slice(start, end - start)
            start = end


def _objects(stretch: Stretch) -> tuple[list[LogEntry], list[InLogFields]]:
    rows = stretch.rows
    facts = unpacked(rows.column("facts"))
    facts |= {name: _values(rows.column(name)) for name in (*LOG_COLUMNS, *IN_LOG_COLUMNS) if name not in facts}
    ledger_ids, entry_ids, uuids, times, *others = (facts[name] for name in LOG_COLUMNS)
    columns = [
        zip(ledger_ids, entry_ids, strict=True), stretch.plain_before.tolist(), uuids, zip(uuids, times, strict=True),
        *others, repeat(False, rows.num_rows),
    ]  # fmt: skip
    # What `_make` does, without a call in Python for each row.
    entries = list(map(partial(tuple.__new__, LogEntry), zip(*columns, strict=True)))
    return entries, list(zip(*(facts[name] for name in IN_LOG_COLUMNS), strict=True))


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; equal text is one object, which takes a third of the memory."""
    if not pa.types.is_string(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    texts = np.array(encoded.dictionary.to_pylist(), dtype=object)
    shared: list[Any] = texts[encoded.indices.to_numpy()].tolist()
    return shared


def _plain_before(run: pa.RecordBatch, last: Position) -> npt.NDArray[np.int64]:
    """How many entries lie before each chunk and after the chunk before, or the beginning of its ledger.

    `last` is where the chunk before them all lies.
    """
    ledger_ids, entry_ids = (run.column(name).to_numpy() for name in ("ledger_id", "entry_id"))
    same_ledger = np.diff(ledger_ids, prepend=last[0]) == 0
    return np.asarray(np.where(same_ledger, np.diff(entry_ids, prepend=last[1]) - 1, entry_ids), np.int64)
