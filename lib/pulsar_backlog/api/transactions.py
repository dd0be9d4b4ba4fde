"""How the transactions of a topic ended, by the markers in its log: read when the first message of one is met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.api.decoded import Run
from pulsar_backlog.messages.kinds import ABORTED, CANNOT_TELL, COMMITTED, NO_TRANSACTION, OPEN
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT
from pulsar_backlog.wire.names import SEGMENT_SCHEME

Marker = tuple[Position, int]
_ID = ("txnid_most_bits", "txnid_least_bits")


class Transactions:
    """States of the transactions of one topic, for any number of threads; holds the last marker of each."""

    def __init__(self, topic: str | None, runs: Callable[[], Iterator[Run]]) -> None:
        """Look for markers in `runs`, all of the topic's, once and only when they are needed."""
        self._in_segment = topic is not None and topic.startswith(SEGMENT_SCHEME)
        self._runs = runs
        self._markers: dict[tuple[int, int], Marker] | None = None
        self._turn = Lock()

    def states(self, run: Run) -> Int64s:
        """The state of each entry's transaction: numbers of `TRANSACTIONS`.

        In a segment of a scalable topic there are no markers, and nobody can tell.
        """
        inside = run.columns.column(_ID[0])
        states = np.full(len(inside), NO_TRANSACTION, dtype=np.int64)
        if inside.null_count == len(inside):
            return states
        most, least = (run.columns.column(name).to_pylist() for name in _ID)
        for at in np.flatnonzero(pc.is_valid(inside).to_numpy(zero_copy_only=False)).tolist():
            position = (run.stretch.ledger_id, int(run.stretch.entry_id[at]))
            states[at] = CANNOT_TELL if self._in_segment else self._by_marker(most[at], least[at], position)
        return states

    def _by_marker(self, most: int, least: int, position: Position) -> int:
        marked, kind = self._all_markers().get((most, least), ((-1, -1), 0))
        if marked <= position:
            return OPEN
        return COMMITTED if kind == TXN_COMMIT else ABORTED

    def _all_markers(self) -> dict[tuple[int, int], Marker]:
        """The last marker of each; who asks while they are read waits for all of them."""
        with self._turn:
            if self._markers is None:
                markers: dict[tuple[int, int], Marker] = {}
                for run in self._runs():
                    _note(run.columns, markers)
                self._markers = markers
            return self._markers


def _note(columns: pa.RecordBatch, markers: dict[tuple[int, int], Marker]) -> None:
    kinds = columns.column("marker_type")
    if kinds.null_count == len(kinds):
        return
    ends = columns.filter(pc.fill_null(pc.is_in(kinds, pa.array([TXN_COMMIT, TXN_ABORT], kinds.type)), False))
    names = ("ledger_id", "entry_id", "marker_type", *_ID)
    for ledger_id, entry_id, kind, most, least in zip(*(ends.column(n).to_pylist() for n in names), strict=True):
        marker = markers.get((most, least))
        if marker is None or marker[0] < (ledger_id, entry_id):
            markers[most, least] = ((ledger_id, entry_id), kind)
