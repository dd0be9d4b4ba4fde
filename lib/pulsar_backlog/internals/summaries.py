"""What several internal ledgers say together: versions of schemas, compaction, deduplication, what is in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pulsar_backlog.internals.decoding import DecodedLedger, Row
from pulsar_backlog.internals.kinds import COMPACTION_CURSOR, DEDUPLICATION_CURSOR, LedgerName, topic_of_schema
from pulsar_backlog.internals.references import COMPACTED_PROPERTY, Knowledge, add_compacted
from pulsar_backlog.internals.verdicts import judge_schema_version
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.message_id import decode_message_id


def note_compaction(knowledge: Knowledge, decoded: Iterable[DecodedLedger]) -> None:
    """Note the compacted ledgers that cursors of compaction name in their newest state."""
    for one in decoded:
        if one.state is None or one.name.kind != "cursor":
            continue
        topic, cursor = one.name.topic, one.name.subscription
        current = knowledge.cursor_ledgers.get((topic or "", cursor or ""))
        if current is not None and current != one.ledger_id:
            continue  # an earlier ledger of the same cursor
        compacted = one.state[1].properties.get(COMPACTED_PROPERTY)
        if cursor == COMPACTION_CURSOR and topic is not None:
            knowledge.read_cursors.add(one.ledger_id)
            if compacted is not None and compacted >= 0:
                add_compacted(knowledge, topic, compacted)
        elif cursor is None and compacted is not None and compacted >= 0:
            knowledge.add(compacted, LedgerName("compacted"), f"compaction, by cursor ledger {one.ledger_id}")


def schema_rows(knowledge: Knowledge, decoded: Sequence[DecodedLedger]) -> Iterator[Row]:
    """Rows of `schema_versions`: every version that the store or a ledger knows, with the ledgers that claim it."""
    stored = [(one, row) for one in decoded for row in one.rows if one.name.kind == "schema"]
    places: dict[tuple[str, int], list[Row]] = {}
    seen: set[Position] = set()
    for one, row in stored:
        schema_id, at = row["schema_id"], (one.ledger_id, row["entry_id"])
        versions = knowledge.locators.get(schema_id, ())
        number = next((v.version for v in versions if v.position == at), row["version"])
        places.setdefault((schema_id, number), []).append(row | {"version": number})
        seen.add(at)
    for schema_id, versions in knowledge.locators.items():
        for version in versions:
            if version.position is None or version.position not in seen:
                ledger_id, entry_id = version.position or (None, None)
                row = {"schema_id": schema_id, "version": version.version, "ledger_id": ledger_id, "entry_id": entry_id}
                places.setdefault((schema_id, version.version), []).append(row)
    for (schema_id, number), rows in sorted(places.items(), key=lambda item: item[0]):
        newest = max((one.version for one in knowledge.locators.get(schema_id, ())), default=None)
        for place, row in enumerate(sorted(rows, key=lambda one: one["ledger_id"] or -1)):
            verdict, reason = judge_schema_version(knowledge, schema_id, number, row["ledger_id"], "type" in row)
            yield row | {
                "topic": topic_of_schema(schema_id), "number": place, "verdict": verdict, "reason": reason,
                "is_listed": _is_pointed(knowledge, schema_id, row) if knowledge.locators else None,
                "is_current": None if newest is None else number == newest and _is_pointed(knowledge, schema_id, row),
            }  # fmt: skip


def _is_pointed(knowledge: Knowledge, schema_id: str, row: Row) -> bool:
    at = row["ledger_id"], row["entry_id"]
    return any(one.position == at for one in knowledge.locators.get(schema_id, ()))


def compacted_rows(knowledge: Knowledge, decoded: Sequence[DecodedLedger]) -> Iterator[Row]:
    """Rows of `compacted_ledgers`."""
    read = {one.ledger_id: one for one in decoded if one.name.kind == "compacted"}
    named = {
        ledger_id for ledger_id in knowledge.internal_ids()
        if (label := knowledge.name_of(ledger_id)) and label[0].kind == "compacted"
    }  # fmt: skip
    for ledger_id in sorted({*read, *named}):
        one, label = read.get(ledger_id), knowledge.name_of(ledger_id)
        topic = label[0].topic if label else None
        first, last = (one.compacted if one else None) or ((None, None), (None, None))
        horizon = _horizon(knowledge, ledger_id)
        pointers = [pointer for pointer in knowledge.pointers.get(ledger_id, ()) if pointer.name.kind == "compacted"]
        is_known = topic is not None and ((topic, COMPACTION_CURSOR) not in knowledge.cursor_ledgers or bool(pointers))
        yield {
            "topic": topic, "ledger_id": ledger_id, "entries": one.entries if one else None,
            "first_ledger_id": first[0], "first_entry_id": first[1], "last_ledger_id": last[0],
            "last_entry_id": last[1], "horizon_ledger_id": horizon[0], "horizon_entry_id": horizon[1],
            "is_current": bool(pointers) if is_known and knowledge.nodes.ledgers else (True if pointers else None),
        }  # fmt: skip


def _horizon(knowledge: Knowledge, ledger_id: int) -> Position | tuple[None, None]:
    metadata = knowledge.metadata(ledger_id)
    value = dict(metadata.custom).get("pulsar/compactedTo") if metadata else None
    try:
        message_id = decode_message_id(value) if value else None
    except ValueError:
        message_id = None
    return (message_id.ledger_id, message_id.entry_id) if message_id else (None, None)


def bucket_rows(knowledge: Knowledge, rows: Iterable[Row], decoded: Sequence[DecodedLedger]) -> Iterator[Row]:
    """Rows of `delayed_buckets`.

    Args:
        knowledge: of the buckets that cursors name.
        rows: of `internal_ledgers`.
        decoded: ledgers that were read.
    """
    read = {one.ledger_id: one for one in decoded if one.name.kind == "delayed_bucket"}
    for row in rows:
        if row["kind"] != "delayed_bucket":
            continue
        one, bucket = read.get(row["ledger_id"]), knowledge.buckets.get(row["ledger_id"])
        times = [at["deliver_time"] for at in one.rows if at["deliver_time"] is not None] if one else []
        first, last = bucket.span if bucket else (None, None)
        yield {
            "topic": bucket.topic if bucket else row["topic"], "ledger_id": row["ledger_id"],
            "subscription": bucket.subscription if bucket else row["subscription"],
            "first_ledger_id": first, "last_ledger_id": last, "messages": len(one.rows) + one.left_out if one else None,
            "first_deliver_time": min(times, default=None), "last_deliver_time": max(times, default=None),
            "is_named": bucket is not None,
            "verdict": "cannot_tell" if one and one.left_out and row["verdict"] == "ok" else row["verdict"],
        }  # fmt: skip


def deduplication_rows(knowledge: Knowledge, decoded: Sequence[DecodedLedger]) -> Iterator[Row]:
    """Rows of `deduplication_snapshots`: of each topic the newest state of its cursor."""
    newest: dict[str, tuple[int, DecodedLedger]] = {}
    for one in decoded:
        topic = one.name.topic
        if one.name.kind != "deduplication" or one.state is None or topic is None:
            continue
        current = knowledge.cursor_ledgers.get((topic, DEDUPLICATION_CURSOR))
        rank = 1 << 62 if one.ledger_id == current else one.ledger_id
        if topic not in newest or newest[topic][0] < rank:
            newest[topic] = rank, one
    for topic, (_, one) in sorted(newest.items()):
        if one.state is not None:
            yield from _sequence_ids(topic, one.state[1], "cursor_ledger", one.ledger_id)
    for topic, state in sorted(knowledge.deduplication.items()):
        if topic not in newest:
            yield from _sequence_ids(topic, state, "metadata_store", None)


def _sequence_ids(topic: str, state: Any, source: str, ledger_id: int | None) -> Iterator[Row]:
    for producer, sequence_id in state.properties.items():
        yield {
            "topic": topic, "producer": producer, "sequence_id": sequence_id, "source": source, "ledger_id": ledger_id,
            "position_ledger_id": state.mark_delete[0], "position_entry_id": state.mark_delete[1],
        }  # fmt: skip


def mark_current(rows: Sequence[Row]) -> None:
    """Of rows about topics, set `is_current` of the newest one about each in each system topic."""
    newest: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        row["is_current"] = False
        key = row["topic"], row["about_topic"], row.get("record_type") if "record_type" in row else row.get("is_global")
        place = row["ledger_id"], row["entry_id"], row["record"]
        last = newest.get(key)
        if last is None or (last["ledger_id"], last["entry_id"], last["record"]) < place:
            newest[key] = row
    for row in newest.values():
        row["is_current"] = True


def mark_outcomes(knowledge: Knowledge, rows: Sequence[Row]) -> None:
    """Of records of pending acknowledgements, set whose they are and what became of their transactions."""
    words = {"commit": "committed", "abort": "aborted"}
    ends = {
        (row["topic"] or row["ledger_id"], row["txn"]): words[row["operation"]]
        for row in rows
        if row["operation"] in words
    }
    for row in rows:
        row["about_topic"], row["subscription"] = knowledge.owner_of_pending_acks(row["topic"])
        row["outcome"] = ends.get((row["topic"] or row["ledger_id"], row["txn"]), "pending")
