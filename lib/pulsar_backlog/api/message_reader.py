"""Messages of one topic in one pass over its ledgers: singles, batch members, chunked messages put together. No Spark.

The rows are those of an export (`messages`), and the same code opens them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.api.choices import Visible
from pulsar_backlog.api.chunk_sets import ChunkSets
from pulsar_backlog.api.compaction import Compaction
from pulsar_backlog.api.decoded import Broken, Run, decoded
from pulsar_backlog.api.transactions import Transactions
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.values import LedgerCopy, PlannedCopy, ScanUnit
from pulsar_backlog.messages.chunked_rows import Planned, export_planned
from pulsar_backlog.messages.entry_rows import ExportContext, messages_of, unread_rows
from pulsar_backlog.messages.kinds import ABORTED, OPEN
from pulsar_backlog.messages.outcomes import OPENED, unexportable
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.terms import Position

SCHEMA = arrow_schema(TABLES["messages"])
FIRST_BYTES = 256 * 1024
"""What is fetched first for rows of messages: whoever reads some rows and stops waits for no more than that."""
_NEEDED = (
    "ledger_id", "entry_id", "batch_index", "outcome", "reason", "partition_key", "partition_key_b64_encoded",
)  # fmt: skip
"""Columns by which rows are chosen and put in order."""
_CHUNK_FIELDS = ("uuid", "chunk_id", "num_chunks_from_msg")


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
        transactions = Transactions(topic, lambda: _runs(self, log()))
        rows = self._rows(units, log if begun is None else lambda: begun, transactions)
        if self.visible == "compacted":
            compaction = Compaction(self.horizon, lambda: _compacted_runs(self, log(), transactions))
            rows = (batch.filter(compaction.mask(batch)) for batch in rows)
        yield from rows

    def _rows(
        self, units: Iterable[ScanUnit], log: Callable[[], Sequence[LedgerCopy | PlannedCopy]],
        transactions: Transactions,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        sets = ChunkSets()
        for number, unit in enumerate(units):
            for batch in walk_unit(self.context.source, unit, first_bytes=None if number else self.first_bytes):
                for part in decoded(unit, batch):
                    yield from self._part(part, transactions, sets)
        if sets.is_open and self.wanted.anywhere != self.wanted:
            yield from self._beyond(log(), transactions, sets)
        else:
            yield from self._joined(sets.rest())

    def _beyond(
        self, log: Sequence[LedgerCopy | PlannedCopy], transactions: Transactions, sets: ChunkSets
    ) -> Iterator[pa.RecordBatch]:
        """Chunked messages whose last chunk is in a wanted place and others are not: looked for in the whole topic."""
        context = replace(self.context, topics={copy.ledger_id: copy.topic for copy in log})
        whole = replace(self, context=context, wanted=self.wanted.anywhere, plain=False)
        others = sets.without_open()
        for copy in log:
            for unit in whole.wanted.units(copy):
                for batch in walk_unit(context.source, unit):
                    for part in decoded(unit, batch):
                        yield from map(self._in_places, whole._part(part, transactions, others))
        yield from map(self._in_places, whole._joined(others.rest()))

    def _in_places(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(self.wanted.of_places(batch))

    def _part(self, part: Run | Broken, transactions: Transactions, sets: ChunkSets) -> Iterator[pa.RecordBatch]:
        if isinstance(part, Broken):
            if self.plain:
                yield from self._broken(part)
            return
        columns = part.columns
        chunks = pc.or_kleene(*(pc.is_valid(columns.column(name)) for name in _CHUNK_FIELDS[:2]))
        chunks = pc.or_(chunks, pc.is_valid(columns.column(_CHUNK_FIELDS[2])))
        messages = pc.is_null(columns.column("marker_type"))
        wanted = pc.and_(messages, self.wanted.entries(columns))
        mismatch = pc.and_(messages, pc.equal(columns.column("checksum_state"), "mismatch"))
        if self.plain:
            plain = pc.and_(pc.or_(wanted, mismatch), pc.invert(chunks))
            yield from self._plain(part.part(plain), transactions)
        if self.chunked and self.context.topics[part.stretch.ledger_id] is not None:
            yield from self._chunks(part.part(pc.and_(chunks, messages)), transactions, sets)

    def _plain(self, run: Run, transactions: Transactions) -> Iterator[pa.RecordBatch]:
        columns = run.columns
        batched = pc.is_valid(columns.column("num_messages_in_batch"))
        mismatch = pc.equal(columns.column("checksum_state"), "mismatch")
        run = run.part(pc.or_(pc.or_(self.wanted.with_key(columns), batched), mismatch))
        run = self.visible_part(run, transactions)
        if not len(run.at):
            return
        messages = list(messages_of(run.columns, run.stretch, run.buffer, run.at, self.context, self.schema))
        yield from map(self._of_keys, _in_order(messages))

    def visible_part(self, run: Run, transactions: Transactions) -> Run:
        """The entries that a reader gets, with the states of their transactions."""
        run = run.with_transactions(transactions.states(run))
        if self.visible == "stored":
            return run
        states = run.stretch.txn_state
        if self.refuse_open and (states == OPEN).any():
            raise _undecided(run)
        return run.part(pa.array((states != ABORTED) & (states != OPEN)))

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
        yield from map(self._in_places, export_planned(shown, self.context, self.schema))

    def _broken(self, broken: Broken) -> Iterator[pa.RecordBatch]:
        for at, error in enumerate(broken.errors):
            fault = unexportable(error)
            yield from unread_rows(broken.stretch.part([at]), self.context, self.schema, fault.outcome, fault.reason)


def _runs(reader: MessageReader, log: Sequence[LedgerCopy | PlannedCopy]) -> Iterator[Run]:
    every = Wanted()
    for unit in (unit for copy in log for unit in every.units(copy)):
        for batch in walk_unit(reader.context.source, unit):
            yield from (part for part in decoded(unit, batch) if isinstance(part, Run))


def _undecided(run: Run) -> SourceError:
    at = int(np.flatnonzero(run.stretch.txn_state == OPEN)[0])
    place = f"{run.stretch.ledger_id}:{int(run.stretch.entry_id[at])}"
    return SourceError(run.stretch.path, "undecided", f"the transaction of {place} has not ended in what is stored")


def _compacted_runs(
    reader: MessageReader, log: Sequence[LedgerCopy | PlannedCopy], transactions: Transactions
) -> Iterator[Run]:
    return (reader.visible_part(run, transactions) for run in _runs(reader, log))


def _in_order(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Bare messages and batch members, which are opened apart, by position."""
    if _are_in_order(batches):
        yield from batches
        return
    rows = pa.concat_batches(batches)
    order = pc.sort_indices(rows, sort_keys=[("entry_id", "ascending"), ("batch_index", "ascending")])
    yield rows.take(order)


def _are_in_order(batches: list[pa.RecordBatch]) -> bool:
    if len(batches) < 2:
        return True
    names = ("entry_id", "batch_index")
    entry, member = (np.concatenate([one.column(name).to_numpy() for one in batches]) for name in names)
    return bool(((np.diff(entry) > 0) | ((np.diff(entry) == 0) & (np.diff(member) > 0))).all())


def columns_for(names: Iterable[str] | None) -> pa.Schema:
    """The columns of `messages` of these names, with those that a reader needs itself; all where None are named."""
    if names is None:
        return SCHEMA
    wanted = {*names, *_NEEDED}
    return pa.schema([field for field in SCHEMA if field.name in wanted])
