"""Blocks before and behind the times that are wanted, left out by the broker's time of each block's first entry.

Only a ledger that goes beyond the wanted times is looked at, by a few small reads: the times of one broker rise, so
bisection finds both ends. A ledger whose entries have no broker's time is read whole: when a producer sent a message
does not tell when it was stored.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from datetime import datetime, timedelta

from pulsar_backlog.api.ledger_times import earlier, later
from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.jcloud import decode_block_header
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Block, LedgerCopy
from pulsar_backlog.wire.entry import broker_metadata_of
from pulsar_backlog.wire.rows import as_time

HEAD_BYTES = 512
"""Of a block: its header, and of its first entry what the broker put before it."""
_ENTRY_HEADER = 12


class _UnknownTimeError(Exception):
    """The first entry of some block has no broker's time."""


def trimmed(
    source: Source, copy: LedgerCopy, since: datetime | None, until: datetime | None, lateness: timedelta
) -> LedgerCopy:
    """A copy without the blocks stored before `since` or from `until` on; lateness is allowed for."""
    first, end = earlier(since, lateness), later(until, lateness)
    created, closed = copy.created_time, copy.closed_time
    begins_before = first is not None and (created is None or created < first)
    ends_behind = end is not None and (closed is None or closed > end)
    if len(copy.blocks) < 2 or not STORAGE_KINDS[copy.kind].has_equal_blocks or not (begins_before or ends_behind):
        return copy

    times = _Times(source, copy)
    numbers = range(len(copy.blocks))
    try:
        begin = 0 if first is None else max(bisect_left(numbers, first, key=times.of) - 1, 0)
        past = len(numbers) if end is None else bisect_right(numbers, end, key=times.of)
        # One block more on each side, and its time too: a single time that is wrong contradicts its neighbours.
        begin, past = max(begin - 1, 0), min(past + 1, len(numbers))
        for number in {begin, begin + 1, past - 1, min(past, len(numbers) - 1)}:
            times.of(number)
    except _UnknownTimeError:
        return copy
    return replace(copy, blocks=copy.blocks[begin:past]) if times.rise else copy


class _Times:
    """When blocks begin, as far as that was looked up."""

    def __init__(self, source: Source, copy: LedgerCopy) -> None:
        self._source = source
        self._copy = copy
        self._known: dict[int, datetime] = {}

    def of(self, number: int) -> datetime:
        """When the first entry of a block was stored."""
        if number not in self._known:
            self._known[number] = _time_of(self._source, self._copy, self._copy.blocks[number])
        return self._known[number]

    @property
    def rise(self) -> bool:
        """Whether the times are those of a clock: no checksum covers them, and one damaged bit would hide a block."""
        times = [time for _, time in sorted(self._known.items())]
        created, closed = earlier(self._copy.created_time), later(self._copy.closed_time)
        after = not times or created is None or times[0] >= created
        before = not times or closed is None or times[-1] <= closed
        return times == sorted(times) and after and before


def _time_of(source: Source, copy: LedgerCopy, block: Block) -> datetime:
    try:
        data = source.read(copy.data_uri or "", block.offset, block.offset + min(HEAD_BYTES, block.length)).tobytes()
        header = decode_block_header(data)
        broker = broker_metadata_of(data[(header.header_length if header else 0) + _ENTRY_HEADER :]) if header else None
    except (SourceError, DecodeError):
        raise _UnknownTimeError from None
    time = as_time(broker.broker_timestamp) if broker and broker.broker_timestamp is not None else None
    if time is None:
        raise _UnknownTimeError
    return time
