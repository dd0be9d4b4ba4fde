"""Digests of messages in one pass over ledgers: tasks for either side of a comparison, and what each of them reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from pulsar_backlog.api.choices import MAX_MESSAGE_BYTES
from pulsar_backlog.api.message_reader import MessageReader
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.arguments import live_of, source_of
from pulsar_backlog.errors import SourceError
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import PlannedCopy, ScanUnit
from pulsar_backlog.messages.entry_rows import ExportContext
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.replicas.digests import SCHEMA, digest_rows
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.steps.digest_tables import Reader

TASK_BYTES = 64 * 1024 * 1024
"""Bytes of a task, about. A topic that is larger is read by several, and its chunked messages by one more."""


@dataclass(frozen=True)
class Side:
    """A side that is read.

    Attributes:
        name: `a` or `b`.
        cluster: of the comparison, for the tables.
        source: where its ledgers lie.
        keys: private keys.
    """

    name: str
    cluster: str
    source: Source
    keys: KeySource


@dataclass(frozen=True)
class DigestTask:
    """Ledgers of one topic, and whether plain and chunked messages are wanted; neither of ledgers that changed."""

    side: Side
    topic: str | None
    units: tuple[ScanUnit, ...]
    wanted: Wanted
    log: tuple[PlannedCopy, ...]
    plain: bool
    chunked: bool


def reader_of(cluster: str, keys: KeySource) -> Reader[DigestTask]:
    """How the ledgers of audits are read for a comparison."""

    def tasks(name: str, audit: AuditedSide, pending: set[int]) -> Iterator[DigestTask]:
        side = Side(name, cluster, source_of(audit.options, live_of(audit.options)), keys)
        changed = changed_ledgers(side.source, [copy for copy in audit.copies if copy.ledger_id in pending])
        whole = [copy for copy in audit.copies if copy.ledger_id not in changed]
        yield from digest_tasks(side, whole, pending, audit.chunked_topics)
        for copy in audit.copies:
            if copy.ledger_id in changed:
                yield DigestTask(side, copy.topic, (), Wanted(), (copy,), plain=False, chunked=False)

    return Reader(tasks, task_digests)


def changed_ledgers(source: Source, copies: Sequence[PlannedCopy]) -> set[int]:
    """Ledgers whose object is not the one that the audit saw, by size and tag: what it holds now tells nothing."""
    tagged = (copy for copy in copies if copy.data_etag is not None and traits_of(copy.kind).names_itself)
    single = {copy.data_uri: copy for copy in tagged}
    if not single:
        return set()
    changed = set()
    for stored in source.list():
        copy = single.get(stored.path)
        if copy is not None and (stored.size, stored.etag) != (copy.data_bytes, copy.data_etag):
            changed.add(copy.ledger_id)
    return changed


def digest_tasks(
    side: Side, copies: Sequence[PlannedCopy], pending: Collection[int], chunked: Collection[str | None]
) -> Iterator[DigestTask]:
    """The tasks that read some ledgers.

    Args:
        side: whose.
        copies: all its ledgers.
        pending: ids of those to read.
        chunked: topics that hold chunked messages.
    """
    ordered = sorted(copies, key=lambda copy: (copy.topic or "", copy.ledger_id))
    for topic, grouped in groupby(ordered, key=lambda copy: copy.topic):
        log = tuple(grouped)
        ledgers = tuple((one.ledger_id, one.ledger_id) for one in log if one.ledger_id in pending)
        if not ledgers:
            continue
        wanted = Wanted() if len(ledgers) == len(log) else Wanted(ledgers=ledgers)
        units = tuple(unit for copy in log if copy.ledger_id in pending for unit in wanted.units(copy))
        has_chunks = topic in chunked and topic is not None
        if sum(map(_bytes, units)) <= TASK_BYTES:
            yield DigestTask(side, topic, units, wanted, log, plain=True, chunked=has_chunks)
            continue
        for group in groups_of(units, most_bytes=TASK_BYTES, bytes_of=_bytes):
            yield DigestTask(side, topic, tuple(group), wanted, log, plain=True, chunked=False)
        if has_chunks:
            yield DigestTask(side, topic, units, wanted, log, plain=False, chunked=True)


def task_digests(task: DigestTask) -> Iterator[pa.RecordBatch]:
    """Rows of `message_digests`. What cannot be read to its end is a row without origin, and the rest goes on."""
    if not (task.plain or task.chunked):
        yield _unreadable(task, (copy.ledger_id for copy in task.log))
        return
    topics = {copy.ledger_id: task.topic for copy in task.log}
    store = PayloadStore("", MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES)
    context = ExportContext(task.side.cluster, topics, task.side.source, task.side.keys, store)
    reader = MessageReader(context, task.wanted, plain=task.plain, chunked=task.chunked)
    # Chunked messages are put together over units; others are read unit by unit, so that one that fails costs no other.
    parts: Iterable[tuple[ScanUnit, ...]] = (task.units,) if task.chunked else [(unit,) for unit in task.units]
    for units in parts:
        try:
            for batch in reader.of_topic(task.topic, units, lambda: task.log):
                if batch.num_rows:
                    yield digest_rows(batch, task.side.cluster, task.side.name, task.topic)
        except SourceError:
            yield _unreadable(task, (unit.ledger_id for unit in units))


def _unreadable(task: DigestTask, ledgers: Iterable[int]) -> pa.RecordBatch:
    rows = [
        {
            "cluster": task.side.cluster, "side": task.side.name, "topic": task.topic, "ledger_id": ledger_id,
            "entry_id": -1, "batch_index": -1, "outcome": "unreadable", "verified": False, "ordinal": 0,
        }
        for ledger_id in sorted(set(ledgers))
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _bytes(unit: ScanUnit) -> int:
    return sum(block.length for block in unit.blocks)
