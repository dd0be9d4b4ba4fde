"""`spark.readStream.format("pulsar-backlog")`: micro-batches of messages or entries, each delivered once.

An offset says of each ledger up to which entry it was delivered: `{"ledgers": {"22": 15}}` is entries 0 to 14 of ledger
22. So a ledger that is offloaded late is delivered when it appears, whatever its id. A batch that is begun again reads
the same entries. A chunked message belongs to the batch of its last chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pulsar_backlog.api.backlog import Backlog
from pulsar_backlog.api.spark_options import SparkOptions
from pulsar_backlog.api.spark_rows import spark_batch
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.values import Block, LedgerCopy

Offset = dict[str, Any]


@dataclass(frozen=True)
class LedgerSpan(InputPartition):
    """Entries `first` to before `past` of one ledger, and the ledgers of its topic that a message may have begun in."""

    copy: LedgerCopy
    first: int
    past: int
    log: tuple[LedgerCopy, ...]


class BacklogStreamReader(DataSourceStreamReader):
    """Lists the source for each batch; what is listed once is never delivered again."""

    def __init__(self, options: SparkOptions, columns: Mapping[str, bool]) -> None:
        if options.reading.visible == "compacted":
            raise UsageError("a stream delivers each message once: visible=compacted is for spark.read")
        self._options = options
        self._columns = columns
        self._copies: dict[int, LedgerCopy] = {}
        self._reached: dict[str, int] = {}  # by the offset before, which only Spark from 4.2 on tells
        self._last: dict[str, int] | None = None  # where a stream ends that takes what is there now

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Nothing is delivered."""
        return {"ledgers": {}}

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:  # noqa: N802 - Spark's name
        """All that is stored now; from Spark 4.2 on, `limit` bounds the new entries."""
        self._copies = _listed(self._options, self._options.wanted)
        most = getattr(limit, "max_rows", None)
        before = self._reached if start is None else start["ledgers"]
        # A ledger that is not listed for a while stays in the offset: it would be delivered again when it is back.
        self._reached = _advanced(before, self._copies, self._past, most)
        return {"ledgers": dict(self._reached)}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Take all that is stored now, and nothing that comes later; only Spark from 4.2 on says so."""
        copies = _listed(self._options, self._options.wanted)
        self._last = _advanced({}, copies, self._past, None)

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
        """The option `max_entries_per_batch`; only Spark from 4.2 on asks."""
        datasource = import_module("pyspark.sql.streaming.datasource")
        most = self._options.max_entries_per_batch
        return datasource.ReadAllAvailable() if most is None else datasource.ReadMaxRows(most)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """A span for each ledger with entries of this batch."""
        firsts = {ledger: start["ledgers"].get(ledger, 0) for ledger in end["ledgers"]}
        new = {ledger: past for ledger, past in end["ledgers"].items() if past > firsts[ledger]}
        if not self._copies.keys() >= set(map(int, new)):
            # Whatever their times: what is closed by now may be ruled out, and is part of a batch begun before.
            self._copies = _listed(self._options, replace(self._options.wanted, since=None, until=None))
        spans: list[InputPartition] = []
        for ledger, past in new.items():
            first, copy = firsts[ledger], self._copies.get(int(ledger))
            if copy is None:
                raise UsageError(f"ledger {ledger} was to be read from entry {first} on, and is not stored any more")
            spans.append(LedgerSpan(copy, first, past, self._log(copy, end)))
        return spans

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of a span."""
        assert isinstance(partition, LedgerSpan)  # noqa: S101 - made above
        options, copy = self._options, partition.copy
        wanted = replace(options.wanted, start=(copy.ledger_id, partition.first), end=(copy.ledger_id, partition.past))
        backlog = Backlog(options.source)
        for batch in _rows(backlog, options, wanted, partition):
            if batch.num_rows:
                yield spark_batch(batch, self._columns)

    def _log(self, copy: LedgerCopy, end: Offset) -> tuple[LedgerCopy, ...]:
        ours = (one for one in self._copies.values() if one.topic == copy.topic)
        return tuple(one for one in ours if str(one.ledger_id) in end["ledgers"])

    def _past(self, copy: LedgerCopy) -> int:
        """One more than the last entry of a ledger that is delivered."""
        stored = self._stored(copy)
        return stored if self._last is None else min(stored, self._last.get(str(copy.ledger_id), 0))

    def _stored(self, copy: LedgerCopy) -> int:
        """One more than the last entry of a ledger: as its blocks say, or its metadata; else it is looked at."""
        ends = [_block_end(block) for block in copy.blocks]
        if ends and None not in ends:
            return max(end for end in ends if end is not None)
        if copy.expected_entries is not None:
            return copy.expected_entries
        return Backlog(self._options.source).entries_in(copy)


with suppress(ImportError):  # Spark before 4.2 asks for no such thing: its first batch is all that is there
    import_module("pyspark.sql.streaming.datasource").SupportsTriggerAvailableNow.register(BacklogStreamReader)


def _block_end(block: Block) -> int | None:
    if block.last_entry_id is not None:
        return block.last_entry_id + 1
    return None if block.entry_count is None else block.first_entry_id + block.entry_count


def _advanced(
    start: dict[str, int], copies: dict[int, LedgerCopy], past_of: Callable[[LedgerCopy], int], most: int | None
) -> dict[str, int]:
    """How far a batch goes: to the end of each ledger, or `most` entries further in their order."""
    end, room = dict(start), most
    for ledger_id, copy in copies.items():
        first = start.get(str(ledger_id), 0)
        more = max(past_of(copy) - first, 0)
        more = more if room is None else min(more, room)
        if more:
            end[str(ledger_id)] = first + more
        room = None if room is None else room - more
        if room == 0:
            break
    return end


def _rows(backlog: Backlog, options: SparkOptions, wanted: Wanted, span: LedgerSpan) -> Iterator[pa.RecordBatch]:
    if options.rows == "entries":
        for unit in wanted.units(span.copy):
            yield from backlog.unit_entries(unit, wanted, options.mode)
        return
    yield from backlog.topic_messages(
        span.copy.topic, (span.copy,), wanted, options.reading, log=span.log, refuse_open=True
    )


def _listed(options: SparkOptions, wanted: Wanted) -> dict[int, LedgerCopy]:
    """Ledgers in the order of topic and id; listed anew.

    An offloader uploads the index last: until it is there nothing names the topic, and chunks would be passed over.
    """
    copies = Backlog(options.source).copies_for(wanted, whole=True)
    return {one.ledger_id: one for one in copies if one.index_uri or not STORAGE_KINDS[one.kind].names_itself}
