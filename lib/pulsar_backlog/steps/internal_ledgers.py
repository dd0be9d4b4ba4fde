"""Internal ledgers of an audit: which there are, their entries decoded, and what metadata say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.internals.decoding import MAX_ROWS, DecodedLedger, decode_ledger
from pulsar_backlog.internals.events import EventSchemas
from pulsar_backlog.internals.kinds import LedgerName, kind_of_topic, named_by_topic, topic_of_schema
from pulsar_backlog.internals.reading import CopyReader, first_entries
from pulsar_backlog.internals.recognized import LOOKED_AT, kind_by_bytes, kind_of_messages
from pulsar_backlog.internals.references import Knowledge
from pulsar_backlog.internals.summaries import note_compaction
from pulsar_backlog.internals.verdicts import Reading, judge
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.wire.rows import as_time

_PLAN = (
    "topic", "ledger_id", "copy", "kind", "data_uri", "checksum_uri", "data_bytes", "data_etag", "expected_entries",
    "expected_bytes", "blocks",
)  # fmt: skip
MAX_ROWS_IN_ALL = 1_000_000
"""Rows of all internal ledgers; those that are decoded when there are as many keep only `LEAST_ROWS` each."""
LEAST_ROWS = 10

Row = dict[str, Any]


@dataclass
class Internals:
    """What was read: each ledger decoded, who says what it is, and how it is stored."""

    decoded: list[DecodedLedger] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    bytes_read: int = 0


def store_internal_copies(context: JobContext, internal: Iterable[Examined]) -> None:
    """Replace the plan: ledgers in the files of bookies that hold no messages."""
    rows = [
        {
            "cluster": context.cluster, "ledger_id": one.pair.ledger_id, "copy": one.pair.copy, "kind": one.pair.kind,
            "data_uri": one.pair.data.path if one.pair.data else None,
            "data_bytes": one.pair.data.size if one.pair.data else None,
            "data_etag": one.pair.data.etag if one.pair.data else None,
            "blocks": [
                {
                    "offset": block.offset, "length": block.length, "first_entry_id": block.first_entry_id,
                    "entry_count": block.entry_count, "uri": block.uri, "last_entry_id": block.last_entry_id,
                }
                for block in one.blocks
            ],
        }
        for one in internal
    ]  # fmt: skip
    context.replace("internal_copies", pa.Table.from_pylist(rows, schema=arrow_schema(TABLES["internal_copies"])))


def read_internals(context: JobContext, source: Source, knowledge: Knowledge) -> Internals:
    """Decode every internal ledger of the tables, and judge it and those that only metadata tell of."""
    internals = Internals()
    readers: list[tuple[DecodedLedger, str, CopyReader]] = []
    room = MAX_ROWS_IN_ALL
    for copy in internal_copies(context):
        readers.append(_read(source, copy, knowledge, max(LEAST_ROWS, min(MAX_ROWS, room))))
        room -= len(readers[-1][0].rows)
    schemas = EventSchemas(one.schema.definition for one, _, _ in readers if one.schema is not None)
    for copy, name, named_by in _system_topics(context, source, knowledge, schemas):
        reader = CopyReader(source, copy)
        most = max(LEAST_ROWS, min(MAX_ROWS, room))
        readers.append((decode_ledger(name, copy.ledger_id, reader.entries(), schemas, most), named_by, reader))
        room -= len(readers[-1][0].rows)
    note_compaction(knowledge, [one for one, _, _ in readers])
    for decoded, named_by, reader in readers:
        internals.decoded.append(decoded)
        internals.rows.append(_row(context.cluster, knowledge, decoded, named_by, reader))
        internals.bytes_read += decoded.bytes
    read = {row["ledger_id"] for row in internals.rows}
    internals.rows += [
        _row_of_metadata(context.cluster, knowledge, one) for one in sorted(knowledge.internal_ids() - read)
    ]
    return internals


def internal_copies(context: JobContext) -> Iterator[PlannedCopy]:
    """Ledgers in the files of bookies that hold no messages, as the inventory planned them."""
    for row in _rows(context, "internal_copies", None).to_pylist():
        blanks = dict.fromkeys(("topic", "checksum_uri", "expected_entries", "expected_bytes"))
        yield PlannedCopy.from_row(blanks | row)


def _read(source: Source, copy: PlannedCopy, knowledge: Knowledge, most: int) -> tuple[DecodedLedger, str, CopyReader]:
    """Decode a ledger that is no topic's, whose name is known or is not; its newest rows, so many, are kept."""
    reader = CopyReader(source, copy)
    named = knowledge.name_of(copy.ledger_id)
    name, named_by = named or (LedgerName(None), "nobody")
    entries = reader.entries()
    if name.kind is None:
        head = [entry for _, entry in zip(range(LOOKED_AT), entries, strict=False)]
        kind = kind_by_bytes([data for _, data in head])
        name, named_by = LedgerName(kind or "unknown", name.topic), "bytes" if kind else "nobody"
        entries = _chained(head, entries)
    decoded = decode_ledger(name, copy.ledger_id, entries, EventSchemas(), most)
    if decoded.schema is not None and name.schema_id is None:
        schema_id = decoded.schema.schema_id
        decoded.name = LedgerName("schema", topic_of_schema(schema_id), schema_id=schema_id)
    return decoded, named_by, reader


def _chained(head: list[tuple[int, bytes]], rest: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    yield from head
    yield from rest


def planned_rows(context: JobContext) -> pa.Table:
    """Rows of `ledgers` that are scanned, with the columns of a plan."""
    return _rows(context, "ledgers", _PLAN)


def _system_topics(
    context: JobContext, source: Source, knowledge: Knowledge, schemas: EventSchemas
) -> Iterator[tuple[PlannedCopy, LedgerName, str]]:
    """Copies of ledgers of messages that are a system topic's."""
    rows = planned_rows(context)
    topics = pc.unique(rows["topic"]).to_pylist()
    wanted = pa.array([one for one in topics if one is None or kind_of_topic(one)], pa.string())
    chosen = rows.filter(pc.is_in(rows["topic"], value_set=wanted))
    for row in chosen.to_pylist():
        copy = PlannedCopy.from_row(row)
        named = knowledge.name_of(copy.ledger_id) if copy.topic is None else (named_by_topic(copy.topic), "topic")
        if named is None and traits_of(copy.kind).is_spread and copy.blocks:
            named = _recognized(source, copy, schemas)
        if named is not None and named[0].kind is not None and copy.blocks:
            yield copy, *named


def _recognized(source: Source, copy: PlannedCopy, schemas: EventSchemas) -> tuple[LedgerName, str] | None:
    event = kind_of_messages(first_entries(source, copy, LOOKED_AT), schemas)
    return None if event is None else (LedgerName(event[0]), "bytes")


def _rows(context: JobContext, name: str, columns: tuple[str, ...] | None) -> pa.Table:
    """Rows of a plan; of `ledgers` the copies that are scanned."""
    if not context.has(name):
        return pa.table({column: [] for column in columns or ("ledger_id",)})
    rows = context.small_rows(name)
    if rows is None:
        frame = context.table(name)
        rows = (frame.filter("selected") if name == "ledgers" else frame).toArrow()
    elif name == "ledgers":
        rows = rows.filter(rows["selected"])
    return rows.select(list(columns)) if columns else rows


def _row(cluster: str, knowledge: Knowledge, decoded: DecodedLedger, named_by: str, reader: CopyReader) -> Row:
    unread = decoded.unread + len(reader.undelivered)
    entries = decoded.entries + len(reader.undelivered)
    faults = reader.faults + (reader.error is not None)
    verdict, reason = judge(knowledge, decoded.ledger_id, decoded.name, Reading(entries, unread, faults))
    return _metadata_row(cluster, knowledge, decoded.ledger_id, decoded.name, named_by) | {
        "stored": reader.copy.kind, "entries": entries, "unread_entries": unread, "bytes": decoded.bytes,
        "faults": faults, "first_error": decoded.first_error or (str(reader.error) if reader.error else None),
        "verdict": verdict, "reason": reason, "rows_left_out": decoded.left_out,
    }  # fmt: skip


def _row_of_metadata(cluster: str, knowledge: Knowledge, ledger_id: int) -> Row:
    name, named_by = knowledge.name_of(ledger_id) or (LedgerName("unknown"), "nobody")
    verdict, reason = judge(knowledge, ledger_id, name, None)
    return _metadata_row(cluster, knowledge, ledger_id, name, named_by) | {
        "stored": None, "entries": None, "unread_entries": None, "bytes": None, "faults": 0, "first_error": None,
        "verdict": verdict, "reason": reason, "rows_left_out": None,
    }  # fmt: skip


def _metadata_row(cluster: str, knowledge: Knowledge, ledger_id: int, name: LedgerName, named_by: str) -> Row:
    metadata = knowledge.metadata(ledger_id)
    created_ms = metadata.created_ms if metadata else None
    owner = knowledge.owner_of_pending_acks(name.topic)
    if name.kind == "pending_ack" and owner[0] is not None:
        name = LedgerName(name.kind, *owner)
    return {
        "cluster": cluster, "topic": name.topic, "ledger_id": ledger_id, "kind": name.kind or "unknown",
        "name": name.name, "subscription": name.subscription, "named_by": named_by,
        "ledger_state": metadata.state if metadata else None, "created_time": as_time(created_ms),
        "holders": [one.holder for one in knowledge.pointers.get(ledger_id, ())],
    }  # fmt: skip
