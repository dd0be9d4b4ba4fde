"""The entries of one internal ledger -> rows of the table of its kind, and how many no decoder reads.

Damage costs an entry: it is counted, and the next one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsar_backlog.cursors.decode import decode_position_info
from pulsar_backlog.cursors.values import AckState
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.internals.delayed_buckets import decode_bucket_metadata, decode_bucket_segment
from pulsar_backlog.internals.events import EventSchemas, SystemMessage, aborts_of, messages_of_entry, without_nulls
from pulsar_backlog.internals.kinds import LedgerName
from pulsar_backlog.internals.schemas import StoredSchema, decode_schema
from pulsar_backlog.internals.transaction_logs import decode_pending_acks, decode_transaction_log
from pulsar_backlog.json_text import to_json
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.compacted import decode_compacted
from pulsar_backlog.wire.rows import as_time

MAX_CURSOR_STATES = 1000
"""Of one cursor ledger, the newest, that are kept as rows; each is the whole state."""
MAX_ROWS = 100_000
"""Of one ledger, the newest, that are kept as rows."""
MAX_ROW_BYTES = 64 * 1024 * 1024
"""Bytes of entries whose rows are kept together; the older half of the rows goes when there are more."""
MAX_JSON = 256 * 1024
"""Characters of a value that a row keeps as JSON."""

Row = dict[str, Any]


@dataclass
class DecodedLedger:
    """What the entries of a ledger say.

    Attributes:
        name: what the ledger is for.
        ledger_id: which.
        entries: that were there.
        unread: of them, that no decoder reads.
        bytes: of all of them.
        first_error: of the first that was not read, as a sentence; None where all were.
        rows: of the kind's table, without the cluster; none of kinds that have no table.
        left_out: rows of them that were not kept, the oldest; states of cursors are not counted.
        schema: the last one read, of a schema ledger.
        state: the last one read, of a cursor ledger, and its entry.
        compacted: first and last position, of a compacted ledger.
    """

    name: LedgerName
    ledger_id: int
    entries: int = 0
    unread: int = 0
    bytes: int = 0
    first_error: str | None = None
    rows: list[Row] = field(default_factory=list)
    left_out: int = 0
    schema: StoredSchema | None = None
    state: tuple[int, AckState] | None = None
    compacted: tuple[Position, Position] | None = None


def decode_ledger(
    name: LedgerName,
    ledger_id: int,
    entries: Iterable[tuple[int, bytes]],
    schemas: EventSchemas,
    most: int = MAX_ROWS,
) -> DecodedLedger:
    """Decode all entries of one ledger; those of a kind that has no decoder are only counted.

    Args:
        name: what the ledger is for.
        ledger_id: which.
        entries: by id, in order.
        schemas: of events.
        most: rows to keep, the newest.
    """
    decoded = DecodedLedger(name, ledger_id)
    room = _RowRoom(decoded, most)
    decoder = _DECODERS.get(name.kind or "")
    for entry_id, data in entries:
        decoded.entries += 1
        decoded.bytes += len(data)
        if decoder is None:
            decoded.unread += 1
            continue
        try:
            decoder(decoded, entry_id, data, schemas)
            room.take(len(data))
        except DecodeError as error:
            decoded.unread += 1
            decoded.first_error = decoded.first_error or f"entry {entry_id}: {error}"
    room.end()
    return decoded


@dataclass
class _RowRoom:
    """Keeps the newest rows of a ledger, so many and of so many bytes of entries."""

    decoded: DecodedLedger
    most: int
    bytes: int = 0

    def take(self, entry_bytes: int) -> None:
        """Note an entry whose rows were added."""
        self.bytes += entry_bytes
        rows = self.decoded.rows
        if len(rows) > 2 * self.most:
            self._drop(len(rows) - self.most)
        if self.bytes > MAX_ROW_BYTES and len(rows) > 1:
            self._drop(len(rows) // 2)
            self.bytes //= 2

    def end(self) -> None:
        """Keep no more than there is room for."""
        self._drop(len(self.decoded.rows) - self.most)

    def _drop(self, count: int) -> None:
        if count > 0:
            del self.decoded.rows[:count]
            self.decoded.left_out += count


def _row(decoded: DecodedLedger, entry_id: int, **values: Any) -> None:
    decoded.rows.append({"ledger_id": decoded.ledger_id, "entry_id": entry_id, "topic": decoded.name.topic, **values})


def _schema(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    stored = decode_schema(data)
    earlier = [one.version for one in stored.index if one.position is not None]
    _row(
        decoded, entry_id,
        schema_id=stored.schema_id, version=max(earlier) + 1 if earlier else 0, type=stored.type,
        definition=stored.definition.decode("utf-8", "replace")[:MAX_JSON], definition_bytes=len(stored.definition),
        stored_by=stored.user or None, stored_time=as_time(stored.time_ms), is_deletion=stored.is_deletion,
    )  # fmt: skip
    decoded.schema = stored


def _cursor(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    state = decode_position_info(data)
    decoded.state = entry_id, state
    _row(
        decoded, entry_id,
        subscription=decoded.name.subscription, mark_delete_ledger_id=state.mark_delete[0],
        mark_delete_entry_id=state.mark_delete[1], encoding=state.encoding, ranges=len(state.ranges),
        batches=len(state.batches), state_bytes=len(data), properties=list(state.properties.items()),
    )  # fmt: skip
    if len(decoded.rows) > 2 * MAX_CURSOR_STATES:
        del decoded.rows[:-MAX_CURSOR_STATES]


def _transaction_log(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    for number, one in enumerate(decode_transaction_log(data)[0]):
        _row(
            decoded, entry_id,
            record=number, txn=one.txn, operation=one.operation, status=one.status, partitions=list(one.partitions),
            subscriptions=[{"topic": topic, "subscription": name} for topic, name in one.subscriptions],
            timeout_ms=_int64(one.timeout_ms), start_time=as_time(one.start_ms), changed_time=as_time(one.changed_ms),
        )  # fmt: skip


def _pending_acks(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    for number, one in enumerate(decode_pending_acks(data)[0]):
        positions = [
            {"ledger_id": _int64(at.ledger_id), "entry_id": _int64(at.entry_id), "batch_size": at.batch_size}
            for at in one.positions
        ]
        _row(
            decoded, entry_id,
            record=number, txn=one.txn, operation=one.operation, ack_type=one.ack_type, positions=positions,
        )  # fmt: skip


def _compacted(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    one = decode_compacted(data)
    at = one.ledger_id, one.entry_id
    first, last = decoded.compacted or (at, at)
    decoded.compacted = min(first, at), max(last, at)


def _delayed(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    if entry_id == 0:
        decode_bucket_metadata(data)
        return
    for time_ms, ledger, entry in decode_bucket_segment(data)[0].tolist():
        _row(
            decoded, entry_id,
            subscription=decoded.name.subscription, deliver_time=as_time(time_ms), message_ledger_id=ledger,
            message_entry_id=entry,
        )  # fmt: skip


def _policies(decoded: DecodedLedger, entry_id: int, data: bytes, schemas: EventSchemas) -> None:
    for number, message in enumerate(messages_of_entry(data)):
        row: Row = {"action": "delete", "about_topic": message.key, "is_global": None, "policies": None}
        if message.payload is not None:
            value = schemas.read(message.payload, "topic_policies").value
            event = value["topicPoliciesEvent"]
            policies = event.get("policies") or {}
            row = {
                "action": str(value.get("actionType") or "").lower() or None,
                "about_topic": f"{event.get('domain')}://{event.get('tenant')}/{event.get('namespace')}/{event.get('topic')}",
                "is_global": policies.get("isGlobal"),
                "policies": _json(policies),
            }
        _row(decoded, entry_id, **_message(number, message), **row)


def _snapshots(decoded: DecodedLedger, entry_id: int, data: bytes, schemas: EventSchemas) -> None:
    for number, message in enumerate(messages_of_entry(data)):
        row: Row = {"about_topic": message.key, "record_type": None, "aborted": [], "position": (None, None)}
        if message.payload is not None:
            event = schemas.read(message.payload, "transaction_snapshot")
            value = event.value
            snapshot = value.get("snapshot")
            inner: Mapping[str, Any] = snapshot if isinstance(snapshot, dict) else value
            row = {
                "about_topic": value.get("topicName"),
                "record_type": event.record,
                "aborted": [f"{most}:{least}" for most, least in aborts_of(inner)],
                "position": _position_of_snapshot(inner),
            }
        ledger, entry = row.pop("position")
        _row(
            decoded,
            entry_id,
            **_message(number, message),
            **row,
            read_up_to_ledger_id=ledger,
            read_up_to_entry_id=entry,
        )


def _position_of_snapshot(value: Mapping[str, Any]) -> tuple[int | None, int | None]:
    for prefix in ("maxReadPosition", "persistentPosition", "recordedMaxReadPosition"):
        ledger, entry = value.get(f"{prefix}LedgerId"), value.get(f"{prefix}EntryId")
        if isinstance(ledger, int) and isinstance(entry, int):
            return ledger, entry
    return None, None


def _messages(decoded: DecodedLedger, entry_id: int, data: bytes, _: EventSchemas) -> None:
    for number, message in enumerate(messages_of_entry(data)):
        size = None if message.payload is None else len(message.payload)
        _row(
            decoded, entry_id, **_message(number, message), kind=decoded.name.kind, key=message.key, payload_bytes=size
        )


def _message(number: int, message: SystemMessage) -> Row:
    return {"record": number, "publish_time": as_time(message.publish_ms)}


def _json(value: Mapping[str, Any]) -> str:
    return to_json(without_nulls(value), sort_keys=True)[:MAX_JSON]


def _int64(value: int | None) -> int | None:
    """An unsigned number of the wire where a table's column holds it; None where it is absent or too large."""
    return value if value is not None and 0 <= value < 1 << 63 else None


_DECODERS: Mapping[str, Callable[[DecodedLedger, int, bytes, EventSchemas], None]] = {
    "schema": _schema,
    "topic_policies": _policies,
    "transaction_log": _transaction_log,
    "transaction_snapshot": _snapshots,
    "pending_ack": _pending_acks,
    "compacted": _compacted,
    "cursor": _cursor,
    "deduplication": _cursor,
    "delayed_bucket": _delayed,
    "functions": _messages,
    "load_report": _messages,
    "system_topic": _messages,
}
