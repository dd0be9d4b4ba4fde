"""Chunks of one topic on their way to whole messages, in the order of the log.

A message whose chunks lie in one clean pass is given out as soon as its last chunk was read. The others wait for the
end of the topic: only then are all copies of their chunks known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pulsar_backlog.api.decoded import Run
from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.healthy import fold_healthy, is_healthy
from pulsar_backlog.chunks.rows import ChunkRow, LogEdge, Publication, trusted
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.messages.chunk_entries import chunk_row
from pulsar_backlog.messages.chunked_rows import Planned
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy
from pulsar_backlog.wire.entry import decode_entry

_NO_EDGE = LogEdge(None, 0, {}, frozenset(), None, False, (), False, False, False)
"""Where the log ends decides what a missing chunk means, not whether all are there."""
_CONTESTED = frozenset({"copies_differ", "metadata_conflict"})

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Stored:
    row: ChunkRow
    copy: Copy
    txn_state: int
    wanted: bool


class ChunkSets:
    """Chunks that were met and are in no message yet: a topic's broken sets, and those not complete yet."""

    def __init__(self) -> None:
        self._open: dict[str, dict[int, list[_Stored]]] = {}
        self._delivered: set[_Key] = set()

    @property
    def is_open(self) -> bool:
        """Whether chunks are left that are in no message."""
        return bool(self._open)

    def without_open(self) -> ChunkSets:
        """A new beginning that gives out nothing that was given out already."""
        fresh = ChunkSets()
        fresh._delivered = self._delivered
        return fresh

    def add(self, run: Run, wanted: list[bool]) -> Iterator[Planned]:
        """Take chunk entries; the messages that became whole.

        Args:
            run: chunk entries with the states of their transactions.
            wanted: whether each is of a wanted producer and key.
        """
        for at, is_wanted in enumerate(wanted):
            stored = _stored(run, at, is_wanted)
            row = stored.row
            if (row.chunk_uuid, row.publish_time_ms) in self._delivered:
                continue
            family = self._open.setdefault(row.chunk_uuid, {})
            family.setdefault(row.publish_time_ms, []).append(stored)
            if row.num_chunks is not None and row.chunk_id == row.num_chunks - 1:
                yield from self._whole(row.chunk_uuid, row.publish_time_ms)

    def _whole(self, uuid: str, time_ms: int) -> Iterator[Planned]:
        family = self._open[uuid][time_ms]
        rows = [one.row for one in family]
        if not is_healthy(rows):
            return
        yield from _planned(fold_healthy(rows).publications, family)
        self._delivered.add((uuid, time_ms))
        del self._open[uuid][time_ms]
        if not self._open[uuid]:
            del self._open[uuid]

    def rest(self) -> Iterator[Planned]:
        """At the end of the topic: what can be put together of the chunks that are left."""
        for family in self._open.values():
            rows = [one for stored in family.values() for one in stored]
            publications = fold_family([one.row for one in rows], _NO_EDGE).publications
            yield from _planned(publications, rows)
        self._open.clear()


def _planned(publications: Iterable[Publication], rows: list[_Stored]) -> Iterator[Planned]:
    for one in publications:
        own = [stored for stored in rows if stored.row.publish_time_ms == one.publish_time_ms]
        if not one.rebuildable or not any(stored.wanted for stored in own):
            continue
        message = ChunkedMessage(
            one.chunk_uuid, one.publish_time_ms, one.total_bytes, one.uncompressed_bytes, one.compression,
            one.encrypted, _copies(one, own),
        )  # fmt: skip
        contested = bool(_CONTESTED.intersection(one.flags)) or one.state == "malformed"
        yield Planned(message, one.state, contested, max(stored.txn_state for stored in own))


def _copies(publication: Publication, rows: list[_Stored]) -> tuple[tuple[Copy, ...], ...]:
    """Sound copies by chunk id, those of the manifest first."""
    picked = {(one.ledger_id, one.entry_id) for one in publication.manifest}
    copies: dict[int, list[Copy]] = {}
    for stored in sorted(rows, key=lambda one: (one.row.ledger_id, one.row.entry_id)):
        if trusted(stored.row) and stored.row.chunk_id is not None:
            own = copies.setdefault(stored.row.chunk_id, [])
            is_picked = (stored.row.ledger_id, stored.row.entry_id) in picked
            own.insert(0, stored.copy) if is_picked else own.append(stored.copy)
    return tuple(tuple(copies.get(chunk_id, ())) for chunk_id in range(publication.num_chunks))


def _stored(run: Run, at: int, wanted: bool) -> _Stored:
    stretch = run.stretch
    start, length = int(run.at[at]), int(stretch.length[at])
    entry = decode_entry(run.buffer[start : start + length].tobytes())
    inner, block = int(stretch.inner_offset[at]), int(stretch.block_length[at])
    packed = (None, None) if block < 0 else (inner, block)
    place = Place(stretch.path, int(stretch.offset[at]), length, *packed)
    ledger_id, entry_id = stretch.ledger_id, int(stretch.entry_id[at])
    row = chunk_row(entry, ledger_id, entry_id, place.after(entry.layout.payload_offset))
    copy = Copy(
        ledger_id, entry_id, place.path, place.offset, length, entry.layout.payload_offset, *packed,
    )  # fmt: skip
    return _Stored(row, copy, int(stretch.txn_state[at]), wanted)
