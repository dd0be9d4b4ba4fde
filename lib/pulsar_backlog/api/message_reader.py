"""Messages of one topic in one pass over its ledgers: singles, batch members, chunked messages put together. No Spark.

The rows are those of an export (`messages`), and the same code opens them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.api.choices import Visible
from pulsar_backlog.api.chunk_sets import ChunkSets
from pulsar_backlog.api.compaction import Compaction
from pulsar_backlog.api.decoded import Broken, Run, Walked, decoded_entries, entry_schema, walked
from pulsar_backlog.api.decoding_threads import in_threads, one_at_a_time
from pulsar_backlog.api.row_order import in_order
from pulsar_backlog.api.transactions import Transactions
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.values import LedgerCopy, PlannedCopy, ScanUnit
from pulsar_backlog.messages.arrow_rows import is_empty
from pulsar_backlog.messages.chunked_rows import Planned, export_planned
from pulsar_backlog.messages.entry_rows import ExportContext, messages_of, unread_rows
from pulsar_backlog.messages.kinds import ABORTED, OPEN
from pulsar_backlog.messages.outcomes import OPENED, unexportable
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.byte_views import VIEW

SCHEMA = arrow_schema(TABLES["messages"])
FIRST_BYTES = 256 * 1024
"""What is fetched first for rows of messages: whoever reads some rows and stops waits for no more than that."""
MOST_BYTES = 64 * 1024 * 1024
"""Entries of one stretch that say to hold more are opened when what is before them was given out, not by many threads:
compressed ones may hold a hundred times what is stored."""
_PLACE = ("ledger_id", "entry_id", "batch_index")
"""Columns by which rows are put in order."""
_KEYS = ("outcome", "partition_key", "partition_key_b64_encoded")
"""Columns by which messages of some keys are chosen."""
_CHUNK_FIELDS = ("uuid", "chunk_id", "num_chunks_from_msg")


@dataclass(frozen=True)
class _Chunks:
    """Entries that are chunks."""

    run: Run


@dataclass(frozen=True)
class MessageReader:
    """Reads the messages of topics.

    Attributes:
        context: where bytes, keys and payloads are.
        wanted: which messages.
        visible: whether also those of aborted and open transactions, or only what compaction leaves.
        plain: whether messages that are not chunked are wanted.
        chunked: whether chunked ones are.
        horizon: last position that compaction came to; None is the end of the log.
        refuse_open: whether a wanted message of a transaction that has not ended is an error.
        schema: columns of `messages` that are made.
        first_bytes: how much is fetched first, where the first rows may be all that is wanted.
        decode: makes the rows that are given out of rows of `messages`, as many and in their order; None is the same.
        threads: how many open and decode messages; one of them at a time reads.
        gives_payload: whether rows that are decoded need their payload.
    """

    context: ExportContext
    wanted: Wanted
    visible: Visible = "committed"
    plain: bool = True
    chunked: bool = True
    horizon: Position | None = None
    refuse_open: bool = False
    schema: pa.Schema = SCHEMA
    first_bytes: int | None = None
    decode: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    threads: int = 1
    gives_payload: bool = True
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    def of_topic(
        self, topic: str | None, units: Iterable[ScanUnit], log: Callable[[], Sequence[LedgerCopy | PlannedCopy]],
        begun: Sequence[LedgerCopy] | None = None,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        """Rows of `messages`, about in the order stored: a chunked message follows its last chunk.

        Args:
            topic: full name of the topic, None for ledgers of which nothing names it.
            units: its scan units that may hold what is wanted, in order.
            log: gives all its ledgers, for the markers that end transactions.
            begun: ledgers in which chunks are looked for that are in none of the units; None is all.

        Raises:
            SourceError: a ledger cannot be read to its end; what was read before has been given out.
        """
        transactions = Transactions(topic, lambda: self._runs(log()))
        begun_in = log if begun is None else lambda: begun
        if self.visible != "compacted":
            yield from self._rows(units, begun_in, transactions)
            return
        compaction = Compaction(self.horizon, lambda: self._compacted_runs(log(), transactions))
        rows = replace(self, decode=None)._rows(units, begun_in, transactions)
        yield from in_threads(self._decoded, (batch.filter(compaction.mask(batch)) for batch in rows), self.threads)

    def _rows(
        self, units: Iterable[ScanUnit], log: Callable[[], Sequence[LedgerCopy | PlannedCopy]],
        transactions: Transactions,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        sets = ChunkSets()
        entries = self._walked(units, self.first_bytes)
        for opened in in_threads(partial(self._opened, transactions), entries, self.threads):
            for rows in opened:
                if isinstance(rows, _Chunks):
                    yield from self._chunks(rows.run, transactions, sets)
                elif isinstance(rows, Run):
                    yield from self._plain(rows, transactions)
                else:
                    yield rows
        if sets.is_open and self.wanted.anywhere != self.wanted:
            yield from self._beyond(log(), transactions, sets)
        else:
            yield from self._joined(sets.rest())

    def _walked(self, units: Iterable[ScanUnit], first_bytes: int | None = None) -> Iterator[Walked]:
        for number, unit in enumerate(units):
            batches = walk_unit(self.context.source, unit, first_bytes=None if number else first_bytes)
            for batch in one_at_a_time(batches, self._turn):
                yield from walked(unit, batch)

    def _opened(self, transactions: Transactions, entries: Walked) -> list[pa.RecordBatch | Run | _Chunks]:
        """Rows of messages that are not chunked, entries of such as hold much, and chunks, which need those before."""
        parts = decoded_entries(entries, self._entry_schema)
        return [rows for part in parts for rows in self._part(part, transactions)]

    def _runs(self, log: Sequence[LedgerCopy | PlannedCopy]) -> Iterator[Run]:
        every = Wanted()
        for entries in self._walked(unit for copy in log for unit in every.units(copy)):
            yield from (part for part in decoded_entries(entries, self._entry_schema) if isinstance(part, Run))

    def _compacted_runs(
        self, log: Sequence[LedgerCopy | PlannedCopy], transactions: Transactions
    ) -> Iterator[Run]:  # fmt: skip
        return (self.visible_part(run, transactions) for run in self._runs(log))

    def _beyond(
        self, log: Sequence[LedgerCopy | PlannedCopy], transactions: Transactions, sets: ChunkSets
    ) -> Iterator[pa.RecordBatch]:
        """Chunked messages whose last chunk is in a wanted place and others are not: looked for in the whole topic."""
        context = replace(self.context, topics={copy.ledger_id: copy.topic for copy in log})
        whole = replace(self, context=context, wanted=self.wanted.anywhere, plain=False)
        others = sets.without_open()
        for entries in self._walked(unit for copy in log for unit in whole.wanted.units(copy)):
            for chunks in whole._opened(transactions, entries):
                if isinstance(chunks, _Chunks):
                    yield from map(self._in_places, whole._chunks(chunks.run, transactions, others))
        yield from map(self._in_places, whole._joined(others.rest()))

    def _in_places(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(self.wanted.of_places(batch))

    def _part(self, part: Run | Broken, transactions: Transactions) -> Iterator[pa.RecordBatch | Run | _Chunks]:
        if isinstance(part, Broken):
            if self.plain:
                yield from map(self._decoded, self._broken(part))
            return
        columns = part.columns
        unusual = any(not is_empty(columns.column(name)) for name in (*_CHUNK_FIELDS, "marker_type"))
        if not unusual and not self.wanted.chooses_entries:
            if self.plain:
                yield from self._bounded(part, transactions)
            return
        chunks = pc.or_kleene(*(pc.is_valid(columns.column(name)) for name in _CHUNK_FIELDS[:2]))
        chunks = pc.or_(chunks, pc.is_valid(columns.column(_CHUNK_FIELDS[2])))
        messages = pc.is_null(columns.column("marker_type"))
        wanted = pc.and_(messages, self.wanted.entries(columns))
        mismatch = pc.and_(messages, pc.equal(columns.column("checksum_state"), "mismatch"))
        if self.plain:
            plain = pc.and_(pc.or_(wanted, mismatch), pc.invert(chunks))
            yield from self._bounded(part.part(plain), transactions)
        if self.chunked and self.context.topics[part.stretch.ledger_id] is not None:
            yield _Chunks(part.part(pc.and_(chunks, messages)))

    def _bounded(self, run: Run, transactions: Transactions) -> Iterator[pa.RecordBatch | Run]:
        """The same entries where they hold much, else the rows of their messages."""
        yield from (run,) if _stated_bytes(run) > MOST_BYTES else self._plain(run, transactions)

    def _plain(self, run: Run, transactions: Transactions) -> Iterator[pa.RecordBatch]:
        columns = run.columns
        if self.wanted.chooses_keys:
            batched = pc.is_valid(columns.column("num_messages_in_batch"))
            mismatch = pc.equal(columns.column("checksum_state"), "mismatch")
            run = run.part(pc.or_(pc.or_(self.wanted.with_key(columns), batched), mismatch))
        run = self.visible_part(run, transactions)
        if not len(run.at):
            return
        messages = messages_of(run.columns, run.stretch, run.buffer, run.at, self.context, self._opened_schema)
        yield from in_order([self._of_keys(one) for one in messages], self._decoded)

    @cached_property
    def _entry_schema(self) -> pa.Schema:
        return entry_schema(self.schema.names)

    @cached_property
    def _opened_schema(self) -> pa.Schema:
        """Where payloads are decoded and then gone, they stay in the buffer that they were read into."""
        if self.decode is None or self.gives_payload or self.wanted.chooses_keys:  # Arrow filters no views
            return self.schema
        return pa.schema([one.with_type(VIEW) if one.name == "payload" else one for one in self.schema])

    def _decoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch if self.decode is None else self.decode(batch)

    def visible_part(self, run: Run, transactions: Transactions) -> Run:
        """The entries that a reader gets, with the states of their transactions."""
        run = run.with_transactions(transactions.states(run))
        if self.visible == "stored":
            return run
        states = run.stretch.txn_state
        if self.refuse_open and (states == OPEN).any():
            raise _undecided(run)
        decided = (states != ABORTED) & (states != OPEN)
        return run if decided.all() else run.part(pa.array(decided))

    def _of_keys(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without batch members of other keys; what was not opened stays: nobody knows its keys."""
        if not self.wanted.chooses_keys:
            return batch
        opened = pc.is_in(batch.column("outcome"), pa.array(OPENED))
        member = pc.and_(pc.greater_equal(batch.column("batch_index"), 0), opened)
        return batch.filter(pc.or_(pc.invert(member), self.wanted.with_key(batch)))

    def _chunks(self, run: Run, transactions: Transactions, sets: ChunkSets) -> Iterator[pa.RecordBatch]:
        times = [self.wanted.wants_time(time) for time in run.columns.column("publish_time_ms").to_pylist()]
        run = run.part(pa.array(times, pa.bool_()))
        if not len(run.at):
            return
        run = run.with_transactions(transactions.states(run))
        self.visible_part(run, transactions)  # refuses what is not decided
        chosen = pc.and_(self.wanted.entries(run.columns), self.wanted.with_key(run.columns))
        yield from self._joined(sets.add(run, chosen.to_pylist()))

    def _joined(self, planned: Iterator[Planned]) -> Iterator[pa.RecordBatch]:
        shown = (one for one in planned if self.visible == "stored" or one.txn_state not in (ABORTED, OPEN))
        rebuilt = one_at_a_time(export_planned(shown, self.context, self.schema), self._turn)
        yield from map(self._decoded, map(self._in_places, rebuilt))

    def _broken(self, broken: Broken) -> Iterator[pa.RecordBatch]:
        for at, error in enumerate(broken.errors):
            fault = unexportable(error)
            yield from unread_rows(broken.stretch.part([at]), self.context, self.schema, fault.outcome, fault.reason)


def _stated_bytes(run: Run) -> int:
    """About how many bytes the payloads of entries have, as far as their metadata says."""
    stored, sizes = int(run.stretch.length.sum()), run.columns.column("uncompressed_size")
    return stored if is_empty(sizes) else stored + int(pc.sum(sizes).as_py())


def _undecided(run: Run) -> SourceError:
    at = int(np.flatnonzero(run.stretch.txn_state == OPEN)[0])
    place = f"{run.stretch.ledger_id}:{int(run.stretch.entry_id[at])}"
    return SourceError(run.stretch.path, "undecided", f"the transaction of {place} has not ended in what is stored")


def columns_for(names: Iterable[str] | None, wanted: Wanted) -> pa.Schema:
    """The columns of `messages` of these names, with those that a reader needs itself; all where None are named."""
    if names is None:
        return SCHEMA
    chosen = {*names, *_PLACE, *(_KEYS if wanted.chooses_keys else ())}
    return pa.schema([field for field in SCHEMA if field.name in chosen])
