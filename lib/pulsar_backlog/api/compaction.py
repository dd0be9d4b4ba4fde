"""What readers of a compacted topic get: of each key the last message up to where compaction came, then the log.

The rules are those of the broker's compactor, see `messages.compacting`. A chunked message is not among what it leaves:
it copies the last chunk alone, which no client can read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from pulsar_backlog.api.decoded import Run
from pulsar_backlog.cluster.saved_cursors import COMPACTION
from pulsar_backlog.cluster.values import TopicState
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.messages.compacting import Latest
from pulsar_backlog.terms import Position


def compaction_horizon(state: TopicState | None) -> Position | None:
    """Up to where saved state says that a topic was compacted; None where it says nothing."""
    marks = [one.mark_delete for one in state.cursors if one.name == COMPACTION] if state else []
    return max((mark for mark in marks if mark is not None), default=None)


def saved_horizon(admin: str | None, copies: Iterable[LedgerCopy], topic: str | None) -> Position | None:
    """The same of a topic in a folder of saved state."""
    if admin is None:
        return None
    from pulsar_backlog.cluster.required_state import required_state  # noqa: PLC0415 - HTTP, for saved state alone

    topics = {copy.ledger_id: copy.topic for copy in copies if copy.topic is not None}
    return compaction_horizon(required_state(Path(admin), topics).topics.get(topic or ""))


class Compaction:
    """The newest message of each key of one topic; about 300 bytes of memory for each key."""

    def __init__(self, horizon: Position | None, runs: Callable[[], Iterable[Run]]) -> None:
        """Follow the log once, when a message is first asked about.

        Args:
            horizon: last position that compaction came to; None is the end of the log.
            runs: gives all entries that the compactor sees, in their order: none of aborted or open transactions.
        """
        self._horizon = horizon
        self._runs = runs
        self._newest: set[tuple[int, int, int]] | None = None
        self._unreadable: frozenset[Position] = frozenset()

    def mask(self, messages: pa.RecordBatch) -> pa.Array:
        """Which rows of `messages` a reader of the compacted topic gets; entries that tell no key are among them."""
        names = ("ledger_id", "entry_id", "batch_index", "first_ledger_id", "first_entry_id")
        rows = zip(*(messages.column(name).to_pylist() for name in names), strict=True)
        return pa.array([self._has(*row) for row in rows], pa.bool_())

    def _has(self, ledger_id: int, entry_id: int, batch_index: int, ledger: int | None, entry: int | None) -> bool:
        chunked = ledger is not None and entry is not None
        first = (ledger, entry) if ledger is not None and entry is not None else (ledger_id, entry_id)
        if self._horizon is not None and first > self._horizon:
            return True
        if chunked:
            return False
        newest = self._follow() if self._newest is None else self._newest
        # A batch that is encrypted is compacted as one message.
        whole = (ledger_id, entry_id, -1) in newest
        return whole or (ledger_id, entry_id, batch_index) in newest or (ledger_id, entry_id) in self._unreadable

    def _follow(self) -> set[tuple[int, int, int]]:
        latest = Latest()
        for run in self._runs():
            for at in range(len(run.at)):
                position = (run.stretch.ledger_id, int(run.stretch.entry_id[at]))
                if self._horizon is None or position <= self._horizon:
                    start = int(run.at[at])
                    latest.follow(position, run.buffer[start : start + int(run.stretch.length[at])].tobytes())
        self._unreadable = frozenset(latest.unreadable)
        self._newest = {(*spot.position, spot.batch_index) for spot in latest.spots.values() if spot.num_chunks == 1}
        return self._newest
