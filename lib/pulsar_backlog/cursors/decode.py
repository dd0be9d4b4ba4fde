"""Bytes -> cursor state; every form a broker writes or has written.

`PositionInfo` is the entry of a cursor ledger, `ManagedCursorInfo` a value of the metadata store, in an envelope or not
(`wire/state_envelope.py`). Long states go through the compiled reader, everything it does not
recognise as plain through the protobuf classes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from pulsar_backlog.cursors.values import NO_RANGES, AckState, BatchState, CursorInfo, LongList
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb
from pulsar_backlog.wire.state_envelope import opened

UNDECODABLE = "cursor_state_undecodable"


def decode_position_info(data: bytes) -> AckState:
    """The state in one `PositionInfo`, not compressed and without a size before it.

    Raises:
        DecodeError: `cursor_state_undecodable`.
    """
    from pulsar_backlog.cursors import kernel  # noqa: PLC0415 - numba, of no use to who decodes no cursor

    buffer = np.frombuffer(data, dtype=np.uint8)
    head = np.zeros(9, dtype=np.int64)
    none, pairs, triples = (np.empty(0, np.int64), np.empty((0, 2), np.int64), np.empty((0, 3), np.int64))
    plain = kernel.scan_position_info(buffer, head, NO_RANGES, pairs, none, triples, none, False)
    if not plain or not head[2] or head[8]:
        return _position_info_by_protobuf(data)
    ranges, lists = np.empty((head[3], 4), np.int64), np.empty((head[4], 2), np.int64)
    words, batches = np.empty(head[5], np.int64), np.empty((head[6], 3), np.int64)
    batch_words = np.empty(head[7], np.int64)
    kernel.scan_position_info(buffer, head, ranges, lists, words, batches, batch_words, True)
    return AckState(
        mark_delete=(int(head[0]), int(head[1])),
        ranges=ranges,
        long_lists=tuple(LongList(int(key), part) for (key, _), part in zip(lists, _parts(words, lists), strict=True)),
        batches=tuple(
            BatchState(int(ledger), int(entry), tuple(part.tolist()))
            for (ledger, entry, _), part in zip(batches, _parts(batch_words, batches), strict=True)
        ),
    )


def _parts(words: Int64s, ends: Int64s) -> list[Int64s]:
    """The words of each row, whose last column says where they end."""
    return np.split(words, ends[:-1, -1]) if len(ends) else []


def _position_info_by_protobuf(data: bytes) -> AckState:
    message = pb.PositionInfo()
    _parse(message, data)
    if not (message.HasField("ledger_id") and message.HasField("entry_id")):
        raise _error("a position", "none")
    return AckState(
        mark_delete=(message.ledger_id, message.entry_id),
        ranges=_ranges(message.ranges),
        long_lists=tuple(LongList(one.key, np.array(one.values, dtype=np.int64)) for one in message.long_lists),
        batches=_batches(message.batches),
        properties={_text(one.name): one.value for one in message.properties},
        unknown_fields=len(UnknownFieldSet(message)) > 0,
    )


def decode_cursor_info(value: bytes) -> CursorInfo:
    """The `ManagedCursorInfo` in a value of the metadata store.

    Raises:
        DecodeError: `cursor_state_undecodable`, or an error of the envelope.
    """
    body, compression = opened(value)
    message = pb.ManagedCursorInfo()
    _parse(message, body)
    if not message.HasField("cursors_ledger_id"):
        raise _error("a cursor ledger id", "none")
    state = None
    if message.HasField("mark_delete_ledger_id"):
        # An absent entry id reads as 0 with the broker's own classes; only damaged values lack it.
        if not message.HasField("mark_delete_entry_id"):
            raise _error("a mark-delete entry id beside the ledger id", "none")
        state = AckState(
            mark_delete=(message.mark_delete_ledger_id, message.mark_delete_entry_id),
            ranges=_ranges(message.ranges),
            batches=_batches(message.batches),
            properties={_text(one.name): one.value for one in message.properties},
            unknown_fields=len(UnknownFieldSet(message)) > 0,
        )
    return CursorInfo(
        cursors_ledger_id=message.cursors_ledger_id,
        state=state,
        cursor_properties={_text(one.name): _text(one.value) for one in message.cursor_properties},
        last_active_ms=message.last_active if message.HasField("last_active") else None,
        compression=compression,
    )


def _ranges(messages: Iterable[pb.MessageRange]) -> Int64s:
    rows = [(m.lower.ledger_id, m.lower.entry_id, m.upper.ledger_id, m.upper.entry_id) for m in messages]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _batches(messages: Iterable[pb.BatchDeletion]) -> tuple[BatchState, ...]:
    return tuple(BatchState(m.position.ledger_id, m.position.entry_id, tuple(m.delete_set)) for m in messages)


def _parse(message: Message, data: bytes) -> None:
    try:
        message.ParseFromString(data)
    except ProtobufError as error:
        raise _error(f"a {message.DESCRIPTOR.name}", "bytes that are not one") from error


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _error(expected: str, found: str) -> DecodeError:
    return DecodeError(UNDECODABLE, offset=0, field="cursor", expected=expected, found=found)
