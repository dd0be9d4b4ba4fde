"""Which rows a reader wants, as a value that travels to any worker; what it rules out is not read."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.api.ledger_times import LATE, earlier, later, with_allowance
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import LedgerCopy, PlannedCopy, ScanUnit
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.rows import as_time


@dataclass(frozen=True)
class Wanted:
    """A choice of entries; empty tuples and None choose everything.

    Attributes:
        topics: globs on full topic names, as `Scope` takes them.
        ledgers: inclusive ranges of ledger ids; any may match.
        start: first position wanted.
        end: first position not wanted any more.
        since: first publish time wanted, inclusive.
        until: first publish time not wanted any more.
        broker_since: the same of broker timestamps; entries without one are then left out.
        broker_until: likewise.
        producers: producer names; any may match.
        keys: message keys as text; any may match.
        stored_keys: values of the column `partition_key`, as they are stored; any may match.
        exact_topics: full topic names besides; any may match.
        entry_ids: first and last entry id, in every ledger.
        migrated: topics, or partitions, with the scalable topics that they were migrated to, as far as layouts tell.
        lateness: how far the times of a message may be from the time when its ledger took it.
    """

    topics: tuple[str, ...] = ()
    ledgers: tuple[tuple[int, int], ...] = ()
    start: Position | None = None
    end: Position | None = None
    since: datetime | None = None
    until: datetime | None = None
    broker_since: datetime | None = None
    broker_until: datetime | None = None
    producers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    stored_keys: tuple[str, ...] = ()
    exact_topics: tuple[str, ...] = ()
    entry_ids: tuple[int, int] = (0, 2**63 - 1)
    migrated: tuple[tuple[str, str], ...] = ()
    lateness: timedelta = LATE

    @property
    def scope(self) -> Scope:
        """The ledgers that may hold what is wanted."""
        scope = Scope(self.topics, self.ledgers, self.since, self.until, dict(self.migrated))
        return with_allowance(scope, self.lateness)

    @property
    def stored_since(self) -> datetime | None:
        """The later of the first times wanted."""
        return max((one for one in (self.since, self.broker_since) if one is not None), default=None)

    @property
    def stored_until(self) -> datetime | None:
        """The earlier of the times not wanted any more."""
        return min((one for one in (self.until, self.broker_until) if one is not None), default=None)

    def holds(self, copy: LedgerCopy) -> bool:
        """Whether a ledger may hold a wanted entry."""
        before = self.start is not None and copy.ledger_id < self.start[0]
        after = self.end is not None and (copy.ledger_id, 0) >= self.end
        created, closed = copy.created_time, copy.closed_time
        first, end = earlier(self.broker_since, self.lateness), later(self.broker_until, self.lateness)
        late = end is not None and created is not None and created >= end
        early = first is not None and closed is not None and closed < first
        other = bool(self.exact_topics) and copy.topic not in self.exact_topics
        return self.scope.holds(copy) and not (before or after or late or early or other)

    def units(self, copy: LedgerCopy | PlannedCopy) -> Iterator[ScanUnit]:
        """The scan units of a ledger without the blocks that cannot hold a wanted entry."""
        for unit in units_of(copy):
            if STORAGE_KINDS[copy.kind].is_spread or not unit.blocks:
                yield unit  # its blocks overlap
                continue
            chosen = tuple(block for block in unit.blocks if self._holds_block(copy, block.first_entry_id))
            if chosen:
                yield unit if chosen == unit.blocks else replace(unit, blocks=chosen)

    def _holds_block(self, copy: LedgerCopy | PlannedCopy, first: int) -> bool:
        if first > self.entry_ids[1] or (self.end is not None and (copy.ledger_id, first) >= self.end):
            return False
        here = self.start is not None and copy.ledger_id == self.start[0]
        least = max(self.entry_ids[0], self.start[1] if here and self.start else 0)
        following = [block.first_entry_id for block in copy.blocks if block.first_entry_id > first]
        return not following or min(following) > least

    @property
    def chooses_entries(self) -> bool:
        """Whether some rows are not wanted by place, time or producer."""
        chosen = (self.start, self.end, self.since, self.until, self.broker_since, self.broker_until)
        return any(one is not None for one in chosen) or bool(self.producers) or self.entry_ids != Wanted.entry_ids

    def entries(self, batch: pa.RecordBatch) -> pa.Array:
        """Mask: which rows with columns of `entries` are wanted by place, time and producer."""
        masks = list(self._of_places(batch))
        for name, since, until in (
            ("publish_time", self.since, self.until),
            ("broker_timestamp", self.broker_since, self.broker_until),
        ):
            column = batch.column(name)
            if since is not None:
                masks.append(pc.greater_equal(column, pa.scalar(since, column.type)))
            if until is not None:
                masks.append(pc.less(column, pa.scalar(until, column.type)))
        if self.producers:
            masks.append(pc.is_in(batch.column("producer_name"), pa.array(self.producers)))
        return _all_of(masks, batch.num_rows)

    def _of_places(self, batch: pa.RecordBatch) -> Iterator[pa.Array]:
        ledger, entry = batch.column("ledger_id"), batch.column("entry_id")
        if self.entry_ids != Wanted.entry_ids:
            yield pc.and_(pc.greater_equal(entry, self.entry_ids[0]), pc.less_equal(entry, self.entry_ids[1]))
        if self.start is not None:
            here = pc.and_(pc.equal(ledger, self.start[0]), pc.greater_equal(entry, self.start[1]))
            yield pc.or_(pc.greater(ledger, self.start[0]), here)
        if self.end is not None:
            here = pc.and_(pc.equal(ledger, self.end[0]), pc.less(entry, self.end[1]))
            yield pc.or_(pc.less(ledger, self.end[0]), here)

    @property
    def anywhere(self) -> Wanted:
        """The same choice without what it says of places and of when a broker stored an entry."""
        return replace(
            self, ledgers=(), start=None, end=None, entry_ids=Wanted.entry_ids, broker_since=None, broker_until=None
        )

    def of_places(self, batch: pa.RecordBatch) -> pa.Array:
        """Mask: which rows have a position that is wanted."""
        ledger = batch.column("ledger_id")
        in_range = [
            pc.and_(pc.greater_equal(ledger, first), pc.less_equal(ledger, last)) for first, last in self.ledgers
        ]
        masks = [*self._of_places(batch)]
        if in_range:
            masks.append(reduce(pc.or_, in_range))
        return _all_of(masks, batch.num_rows)

    @property
    def chooses_keys(self) -> bool:
        """Whether only messages of some keys are wanted."""
        return bool(self.keys or self.stored_keys)

    def with_key(self, batch: pa.RecordBatch) -> pa.Array:
        """Mask: which rows have a wanted key, as text or as the bytes of the text; all where no key was named."""
        key = batch.column("partition_key")
        stored = [pc.is_in(key, pa.array(self.stored_keys))] if self.stored_keys else []
        if not self.keys:
            return _all_of(stored, batch.num_rows)
        coded = pc.fill_null(batch.column("partition_key_b64_encoded"), False)
        encoded = [base64.b64encode(one.encode()).decode() for one in self.keys]
        plain = pc.and_(pc.invert(coded), pc.is_in(key, pa.array(self.keys)))
        return _all_of([*stored, pc.or_(plain, pc.and_(coded, pc.is_in(key, pa.array(encoded))))], batch.num_rows)

    def wants_time(self, publish_time_ms: int) -> bool:
        """Whether a publish time is wanted."""
        if self.since is None and self.until is None:
            return True
        time = as_time(publish_time_ms)
        if time is None:
            return False
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)


def _all_of(masks: list[pa.Array], rows: int) -> pa.Array:
    every = pa.repeat(True, rows)
    for mask in masks:
        every = pc.and_(every, pc.fill_null(mask, False))
    return every
