"""Entries behind the recorded ends of ledgers in the files of bookies: rows of `cut_off_entries`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.internals.references import Knowledge
from pulsar_backlog.ledgers.bookies.cut_off import CutOffEntry, cut_off_entries
from pulsar_backlog.ledgers.bookies.walk import StoredRecord, stored_records
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.messages.provenance import LOOP_PROPERTY
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.wire.entry import Entry, decode_entry, is_chunk
from pulsar_backlog.wire.metadata import FLAG_UNKNOWN_FIELDS
from pulsar_backlog.wire.rows import as_time

MAX_ENTRIES = 10_000
"""Behind the end of one ledger, the first, that are rows."""

_OF_MESSAGE = (
    "producer_name", "sequence_id", "publish_time", "messages", "index", "checksum", "payload_length",
    "highest_sequence_id", "batched", "encrypted", "hindrance",
)  # fmt: skip

Row = dict[str, Any]


def cut_off_rows(context: JobContext, source: Source, knowledge: Knowledge, ledgers: pa.Table) -> Iterator[Row]:
    """Rows of `cut_off_entries`, without the cluster.

    Args:
        context: of the job.
        source: where the files lie.
        knowledge: of the ledgers' own metadata.
        ledgers: rows of `ledgers` with the columns of a plan.
    """
    chosen = _with_surplus(ledgers).to_pylist()
    firsts = _first_indexes(context) if chosen else {}
    for row in chosen:
        copy = PlannedCopy.from_row(row)
        try:
            records = _records(source, copy)
        except SourceError:
            continue  # the scan has said that it cannot be read
        yield from _rows_of(knowledge, copy, records, firsts.get(copy.topic, []))


def _with_surplus(ledgers: pa.Table) -> pa.Table:
    """Ledgers in the files of bookies that have stretches with entries behind the ledger's end."""
    is_candidate = pc.and_(pc.equal(ledgers["kind"], "bookies"), pc.is_valid(ledgers["expected_entries"]))
    some = ledgers.filter(is_candidate).combine_chunks()
    if not some.num_rows:
        return some
    blocks = some["blocks"].combine_chunks()
    parents = pc.list_parent_indices(blocks)
    ends = some["expected_entries"].combine_chunks().take(parents)
    is_behind = pc.greater_equal(pc.struct_field(pc.list_flatten(blocks), "last_entry_id"), ends)
    return some.take(pc.unique(parents.filter(is_behind)))


def _records(source: Source, copy: PlannedCopy) -> list[StoredRecord]:
    """Copies of entries behind the end of one ledger."""
    end = copy.expected_entries or 0
    blocks = tuple(block for block in copy.blocks if block.last_entry_id is None or block.last_entry_id >= end)
    records: list[StoredRecord] = []
    for unit in units_of(replace(copy, blocks=blocks, expected_entries=None)):
        low, high = unit.ids or (0, None)
        records += stored_records(source, replace(unit, ids=(max(low, end), high)))
        if len({one.entry_id for one in records}) > MAX_ENTRIES:
            break
    return records


def _rows_of(
    knowledge: Knowledge, copy: PlannedCopy, records: list[StoredRecord], firsts: list[tuple[int, int]]
) -> Iterator[Row]:
    end, metadata = copy.expected_entries or 0, knowledge.metadata(copy.ledger_id)
    ack_quorum = metadata.ack_quorum if metadata else None
    decoded = {one.entry_id: _message(one.data) for one in records if one.is_proved}
    following = next((index for ledger_id, index in firsts if ledger_id > copy.ledger_id), None)
    indexes = [(entry_id, row["index"]) for entry_id, row in decoded.items() if row["index"] is not None]
    counted = [entry_id for entry_id, index in indexes if following is not None and index < following]
    entries = cut_off_entries(records, end, ack_quorum, max(counted, default=None))
    for one in islice(entries, MAX_ENTRIES):
        yield decoded[one.record.entry_id] | _row(copy, one, end, ack_quorum)


def _row(copy: PlannedCopy, one: CutOffEntry, end: int, ack_quorum: int | None) -> Row:
    return {
        "topic": copy.topic, "ledger_id": copy.ledger_id, "entry_id": one.record.entry_id, "end_entries": end,
        "grade": one.grade, "reason": one.reason, "bookies": one.bookies, "ack_quorum": ack_quorum,
        "uri": one.record.path, "offset": one.record.offset, "length": len(one.record.data),
    }  # fmt: skip


def _message(data: bytes) -> Row:
    """Columns that come from the entry's own bytes; null where it cannot be read."""
    blank: Row = dict.fromkeys(_OF_MESSAGE)
    try:
        entry = decode_entry(data)
    except DecodeError:
        return blank
    metadata = entry.metadata
    return {
        "producer_name": metadata.producer_name, "sequence_id": metadata.sequence_id,
        "publish_time": as_time(metadata.publish_time), "messages": metadata.num_messages_in_batch or 1,
        "index": entry.broker.index if entry.broker else None, "checksum": entry.layout.checksum,
        "payload_length": entry.layout.payload_length,
        "highest_sequence_id": metadata.highest_sequence_id,
        "batched": metadata.num_messages_in_batch is not None, "encrypted": bool(metadata.encryption_keys),
        "hindrance": _hindrance(entry),
    }  # fmt: skip


def _hindrance(entry: Entry) -> str:
    """Why an entry cannot be published again by itself; empty when nothing hinders."""
    metadata = entry.metadata
    reasons = {
        "marker": metadata.marker_type is not None,
        "replicated": metadata.replicated_from is not None,
        "chunk": is_chunk(metadata) or metadata.uuid is not None,
        "transaction": metadata.txnid_most_bits is not None or metadata.txnid_least_bits is not None,
        "copy": LOOP_PROPERTY in (metadata.properties or {}),
        "unknown_fields": FLAG_UNKNOWN_FIELDS in entry.flags,
        "checksum": entry.checksum_state != "valid",
    }
    return next((name for name, applies in reasons.items() if applies), "")


def _first_indexes(context: JobContext) -> dict[str | None, list[tuple[int, int]]]:
    """Of each topic the ledgers whose first message has an index, in order, with that index."""
    rows = context.small_rows("ledger_facts") if context.has("ledger_facts") else None
    plan = context.small_rows("ledgers")
    if rows is None or plan is None:
        return {}
    topics = dict(zip(plan["ledger_id"].to_pylist(), plan["topic"].to_pylist(), strict=True))
    firsts: dict[str | None, list[tuple[int, int]]] = {}
    for ledger_id, index in zip(rows["ledger_id"].to_pylist(), rows["first_message_index"].to_pylist(), strict=True):
        if index is not None and topics.get(ledger_id) is not None:
            firsts.setdefault(topics[ledger_id], []).append((ledger_id, index))
    return {topic: sorted(some) for topic, some in firsts.items()}
