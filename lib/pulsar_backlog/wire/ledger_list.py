"""`ManagedLedgerInfo`: which ledgers a topic has, as the metadata store keeps it.

```
1  ledger_info          repeated: 1 ledger id, 2 entries, 3 size, 4 timestamp, 5 offload context
2  terminated_position  of a terminated topic, and of a sealed segment
3  properties
```

A ledger that is open has no entries and no size; the last one of a sealed segment has neither, though it is closed.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/proto/MLDataFormats.proto
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb
from pulsar_backlog.wire.state_envelope import opened


@dataclass(frozen=True, slots=True)
class LedgerInfo:
    """One ledger in a `ManagedLedgerInfo`.

    Attributes:
        ledger_id: ledger.
        entries: how many entries; None while it is open (0 or absent on the wire).
        size_bytes: their bytes; None while it is open.
        timestamp_ms: when it was closed; None when absent or 0.
        offload_uuid: the attempt's UUID; None without one.
        offload_complete: None without an offload context.
    """

    ledger_id: int
    entries: int | None = None
    size_bytes: int | None = None
    timestamp_ms: int | None = None
    offload_uuid: str | None = None
    offload_complete: bool | None = None


@dataclass(frozen=True, slots=True)
class LedgerList:
    """A `ManagedLedgerInfo`.

    Attributes:
        ledgers: in order.
        terminated: last position of a terminated topic; None otherwise.
        compression: codec of the envelope; None without one.
    """

    ledgers: tuple[LedgerInfo, ...]
    terminated: Position | None = None
    compression: str | None = None


def decode_ledger_list(value: bytes) -> LedgerList:
    """The `ManagedLedgerInfo` in a value of the metadata store; a new one may have no bytes at all.

    Raises:
        DecodeError: `cursor_state_undecodable`, or an error of the envelope.
    """
    body, compression = opened(value)
    message = pb.ManagedLedgerInfo()
    try:
        message.ParseFromString(body)
    except ProtobufError as error:
        raise _undecodable("a ManagedLedgerInfo", "bytes that are not one") from error
    if any(not one.HasField("ledger_id") for one in message.ledger_info):
        raise _undecodable("a ledger id in each ledger", "none")
    end = message.terminated_position
    return LedgerList(
        ledgers=tuple(_ledger(one) for one in message.ledger_info),
        terminated=(end.ledger_id, end.entry_id) if message.HasField("terminated_position") else None,
        compression=compression,
    )


def _ledger(message: pb.ManagedLedgerInfo.LedgerInfo) -> LedgerInfo:
    offload = message.offload_context if message.HasField("offload_context") else None
    # A context without a UUID is what a broker leaves of one that was cleared.
    named = offload is not None and (offload.HasField("uid_msb") or offload.HasField("uid_lsb"))
    return LedgerInfo(
        ledger_id=message.ledger_id,
        entries=message.entries or None,
        size_bytes=message.size or None,
        timestamp_ms=message.timestamp or None,
        offload_uuid=_uuid(offload.uid_msb, offload.uid_lsb) if offload is not None and named else None,
        offload_complete=offload.complete if offload is not None else None,
    )


def _uuid(most: int, least: int) -> str:
    return str(uuid.UUID(int=(most & (1 << 64) - 1) << 64 | least & (1 << 64) - 1))


def _undecodable(expected: str, found: str) -> DecodeError:
    return DecodeError("cursor_state_undecodable", offset=0, field="ledgers", expected=expected, found=found)
