"""Which entries of a topic a cursor has acknowledged: a bitmap per ledger, and everything up to mark-delete.

An entry (L, E) is acknowledged when (L, E) <= mark-delete, or bit E of ledger L is set. Ledger ids grow along the log.
Ten million ranges cost a few bytes each; nothing here makes an object per entry.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from pulsar_backlog.cursors.values import AckState, LongList
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.arrays import Int64s

MAX_ENTRY_ID = (1 << 32) - 1
"""The largest entry a bitmap holds; a ledger with more would be petabytes."""

_WIDE = 1024
_EXPANDED = 1 << 20

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AckedSet:
    """The acknowledged entries of one cursor.

    Attributes:
        mark_delete: everything up to this is acknowledged.
        ledgers: individually acknowledged entries after mark-delete, by ledger; no empty ones.
        partly: batch-index state by entry: which messages are NOT acknowledged, as words.
    """

    mark_delete: Position
    ledgers: Mapping[int, BitMap] = field(default_factory=dict)
    partly: Mapping[Position, tuple[int, ...]] = field(default_factory=dict)

    def __contains__(self, position: object) -> bool:
        """Whether the whole entry is acknowledged."""
        if not isinstance(position, tuple):
            return False
        ledger_id, entry_id = position
        return position <= self.mark_delete or (ledger_id in self.ledgers and entry_id in self.ledgers[ledger_id])

    def entry_count(self) -> int:
        """Individually acknowledged entries."""
        return sum(len(bitmap) for bitmap in self.ledgers.values())

    def last(self) -> Position | None:
        """The highest individually acknowledged entry."""
        if not self.ledgers:
            return None
        ledger_id = max(self.ledgers)
        return ledger_id, int(self.ledgers[ledger_id].max())

    def acked(self, ledger_id: int, entry_ids: npt.NDArray[Any]) -> Bools:
        """For each of the ascending entry ids of one ledger whether it is acknowledged."""
        if ledger_id < self.mark_delete[0]:
            return np.ones(len(entry_ids), dtype=np.bool_)
        bitmap = self.ledgers.get(ledger_id)
        result = members(bitmap, entry_ids)
        if ledger_id == self.mark_delete[0]:
            result |= entry_ids <= self.mark_delete[1]
        return result

    def is_subset(self, other: AckedSet) -> bool:
        """Whether everything acknowledged here is acknowledged there, as far as that needs no ledger lengths."""
        if self.mark_delete > other.mark_delete and not _covers(other, self.mark_delete):
            return False
        return all(
            ledger_id < other.mark_delete[0]
            or not _after(bitmap, ledger_id, other.mark_delete) - other.ledgers.get(ledger_id, BitMap())
            for ledger_id, bitmap in self.ledgers.items()
        )


def _covers(acked: AckedSet, mark_delete: Position) -> bool:
    """Whether the set has every entry of mark-delete's ledger up to it, and mark-delete is in the same ledger."""
    ledger_id, entry_id = mark_delete
    if ledger_id != acked.mark_delete[0]:
        return False
    bitmap = acked.ledgers.get(ledger_id, BitMap())
    return not full(acked.mark_delete[1] + 1, entry_id + 1) - bitmap


def _after(bitmap: BitMap, ledger_id: int, mark_delete: Position) -> BitMap:
    if ledger_id != mark_delete[0] or mark_delete[1] < 0:
        return bitmap
    return bitmap - full(0, mark_delete[1] + 1)


def members(bitmap: BitMap | None, entry_ids: npt.NDArray[Any]) -> Bools:
    """For each of the ascending entry ids whether its bit is set."""
    if bitmap is None:
        return np.zeros(len(entry_ids), dtype=np.bool_)
    first, stop = np.searchsorted(entry_ids, (0, MAX_ENTRY_ID + 1))
    possible = _bitmap(np.asarray(entry_ids[first:stop], dtype=np.uint32))  # bits for ids, not for what lies between
    set_ids = np.asarray((bitmap & possible).to_array(), dtype=np.int64)
    return np.isin(entry_ids, set_ids)


def full(start: int, stop: int) -> BitMap:
    """All entries from `start` up to and without `stop`, as far as a bitmap can hold them."""
    return BitMap(range(max(start, 0), min(max(stop, start, 0), MAX_ENTRY_ID + 1)))


def acked_set(state: AckState, ledger_lengths: Mapping[int, int | None] | None = None) -> AckedSet:
    """The set a state stands for.

    What is at or below mark-delete, reversed, before an entry 0 or past `MAX_ENTRY_ID` is left out: stale or damaged,
    and never taken for an acknowledgement (`faults.py` names it). Ranges are used, and long lists only without them, as
    brokers read it. An empty delete set says nothing.

    Args:
        state: as decoded.
        ledger_lengths: entries of the topic's ledgers, None while open; needed only for a range across ledgers.
    """
    ledgers: dict[int, BitMap] = {}
    if len(state.ranges):
        for ledger_id, rows in _by_ledger(state.ranges, ledger_lengths or {}):
            bitmap = bitmap_of(rows)
            ledgers[ledger_id] = ledgers[ledger_id] | bitmap if ledger_id in ledgers else bitmap
    else:
        for one in state.long_lists:
            bitmap = bitmap_of_words(one.words)
            ledgers[one.ledger_id] = ledgers.get(one.ledger_id, BitMap()) | bitmap
    fresh = {id_: rest for id_, bits in sorted(ledgers.items()) if (rest := _fresh(bits, id_, state.mark_delete))}
    partly = {
        (b.ledger_id, b.entry_id): b.words
        for b in state.batches
        if any(b.words)
        and (b.ledger_id, b.entry_id) > state.mark_delete
        and 0 <= b.entry_id <= MAX_ENTRY_ID
        and b.entry_id not in fresh.get(b.ledger_id, ())
    }
    return AckedSet(state.mark_delete, fresh, partly)


def _fresh(bitmap: BitMap, ledger_id: int, mark_delete: Position) -> BitMap:
    return BitMap() if ledger_id < mark_delete[0] else _after(bitmap, ledger_id, mark_delete)


def _by_ledger(ranges: Int64s, lengths: Mapping[int, int | None]) -> Iterator[tuple[int, Int64s]]:
    """Rows `first, last` (both included) per ledger; a range across ledgers in its parts."""
    same = ranges[ranges[:, 0] == ranges[:, 2]]
    if len(same):
        order = np.argsort(same[:, 0], kind="stable")
        ids, starts = np.unique(same[order, 0], return_index=True)
        for ledger_id, rows in zip(ids.tolist(), np.split(same[order], starts[1:]), strict=True):
            yield ledger_id, np.column_stack((rows[:, 1] + 1, rows[:, 3]))
    for lower_ledger, lower_entry, upper_ledger, upper_entry in ranges[ranges[:, 0] < ranges[:, 2]].tolist():
        yield upper_ledger, np.array([[0, upper_entry]])
        for ledger_id, length in lengths.items():
            if length and lower_ledger <= ledger_id < upper_ledger:
                yield ledger_id, np.array([[lower_entry + 1 if ledger_id == lower_ledger else 0, length - 1]])


def bitmap_of(rows: Int64s) -> BitMap:
    """The entries of rows `first, last`; what is impossible is left out."""
    first, last = rows[:, 0], rows[:, 1]
    good = (first >= 0) & (first <= last) & (last <= MAX_ENTRY_ID)
    first, last = first[good], last[good]
    bitmap = BitMap()
    lengths = last - first + 1
    wide = lengths > _WIDE
    for start, stop in zip(first[wide].tolist(), last[wide].tolist(), strict=True):
        bitmap.add_range(start, stop + 1)
    first, lengths = first[~wide], lengths[~wide]
    ends = np.cumsum(lengths)
    at = 0
    while at < len(first):
        stop = max(at + 1, int(np.searchsorted(ends, (ends[at - 1] if at else 0) + _EXPANDED)))
        bitmap |= _bitmap(_expanded(first[at:stop], lengths[at:stop]))
        at = stop
    bitmap.run_optimize()
    return bitmap


def _bitmap(bits: npt.NDArray[np.uint32]) -> BitMap:
    """The set of these; pyroaring takes an array.array as a block, and any other sequence number by number."""
    block = array("I")
    block.frombytes(bits.tobytes())
    return BitMap(block)


def _expanded(first: Int64s, lengths: Int64s) -> npt.NDArray[np.uint32]:
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(first - before, lengths), dtype=np.uint32)


def bitmap_of_words(words: Int64s) -> BitMap:
    """The set bits of a `java.util.BitSet`'s words, lowest first."""
    bitmap = BitMap()
    for at in range(0, len(words), _EXPANDED >> 6):
        part = np.ascontiguousarray(words[at : at + (_EXPANDED >> 6)], dtype="<i8")
        bits = np.flatnonzero(np.unpackbits(part.view(np.uint8), bitorder="little"))
        bitmap |= _bitmap((bits + (at << 6)).astype(np.uint32))
    bitmap.run_optimize()
    return bitmap


def runs(bitmap: BitMap) -> Int64s:
    """Rows `first, last` (both included) of the bitmap's runs, ascending."""
    pieces = [_runs_of(bitmap, at) for at in _windows(bitmap)]
    rows = np.concatenate(pieces) if pieces else np.empty((0, 2), dtype=np.int64)
    if len(rows) < 2:
        return rows
    # A run that crosses a window's edge was cut there.
    begins = np.concatenate(([True], rows[1:, 0] != rows[:-1, 1] + 1))
    ends = np.concatenate((begins[1:], [True]))
    return np.column_stack((rows[begins, 0], rows[ends, 1]))


def _windows(bitmap: BitMap) -> range:
    return range(int(bitmap.min()), int(bitmap.max()) + 1, _EXPANDED) if bitmap else range(0)


def _runs_of(bitmap: BitMap, at: int) -> Int64s:
    if bitmap.range_cardinality(at, at + _EXPANDED) == _EXPANDED:
        return np.array([[at, at + _EXPANDED - 1]])
    bits = np.asarray((bitmap & full(at, at + _EXPANDED)).to_array(), dtype=np.int64)
    if not len(bits):
        return np.empty((0, 2), dtype=np.int64)
    cuts = np.flatnonzero(np.diff(bits) != 1)
    return np.column_stack((bits[np.concatenate(([0], cuts + 1))], bits[np.concatenate((cuts, [-1]))]))


def words_of(bitmap: BitMap) -> Int64s:
    """The words of a `java.util.BitSet` with these bits, without trailing zero words."""
    if not bitmap:
        return np.empty(0, dtype=np.int64)
    words = np.zeros((int(bitmap.max()) >> 6) + 1, dtype="<i8")
    for at in range(0, len(words), _EXPANDED >> 6):
        low = at << 6
        bits = np.zeros(min(_EXPANDED, (len(words) - at) << 6), dtype=np.uint8)
        bits[np.asarray((bitmap & full(low, low + len(bits))).to_array(), dtype=np.int64) - low] = 1
        words[at : at + (len(bits) >> 6)] = np.packbits(bits, bitorder="little").view("<i8")
    return words.astype(np.int64, copy=False)


def word_windows(bitmap: BitMap) -> Iterator[Int64s]:
    """The words of a `java.util.BitSet` with these bits, some at a time, without those of windows that hold none."""
    for low in range(0, int(bitmap.max()) + 1 if bitmap else 0, _EXPANDED):
        part = bitmap & full(low, low + _EXPANDED)
        if part:
            yield words_of(part.shift(-low))


def long_list_of(ledger_id: int, bitmap: BitMap) -> LongList:
    """The bitmap as a broker writes it."""
    return LongList(ledger_id, words_of(bitmap))
