"""Entries of transaction logs (`__transaction_log_<coordinator>`) and of pending acknowledgements.

```
TransactionMetadataEntry   1 op  2 txnid least  3 txnid most  4 expected status  5 new status  6 partitions
                           7 subscriptions {1 topic, 2 subscription}  8 timeout  9 start  10 changed
                           11 max sequence id
PendingAckMetadataEntry    1 op  2 ack type  3 txnid least  4 txnid most  5 {1 ledger, 2 entry, 3 ack_set, 4 batch size}
batch of either            0E 01, version u16 (1), then a message whose field 1 repeats them
```

A log is replayed from its cursor's mark-delete on; transactions whose end is in it are forgotten. Pending
acknowledgements lie in `<topic>-<subscription>__transaction_pending_ack`.
Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-transaction/coordinator/src/main/proto/PulsarTransactionMetadata.proto,
https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/proto/TransactionPendingAck.proto and
https://github.com/apache/pulsar/blob/492eb456/pulsar-transaction/coordinator/src/main/java/org/apache/pulsar/transaction/coordinator/impl/TxnLogBufferedWriter.java
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from pulsar_backlog.internals.protobuf import is_exact, parsed, text_of, undecodable
from pulsar_backlog.wire.proto import internal_state_pb2 as pb

OPERATIONS = ("new", "add_partition", "add_subscription", "update")
STATUSES = ("open", "committing", "committed", "aborting", "aborted")
ACK_OPERATIONS = (None, "ack", "commit", "abort")
ACK_TYPES = ("individual", "cumulative")
MAX_RECORDS = 1_000_000
"""Records of one entry; a batch is bounded by the entry, this by memory."""

_BATCH_MAGIC = b"\x0e\x01"
_BATCH_VERSION = b"\x00\x01"
_M = TypeVar("_M", bound=Message)
_B = TypeVar("_B", bound=Message)


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """One record of a transaction log, under the names of the wire.

    Attributes:
        txn: `most:least`, as brokers print it.
        operation: one of `OPERATIONS`.
        status: that the transaction has then; None where the record does not change it.
        partitions: topics added.
        subscriptions: topic and subscription of those added.
        timeout_ms: how long it may stay open; None except in `new`.
        start_ms: when it was opened; None except in `new`.
        changed_ms: when the record was made; None where it does not say.
    """

    txn: str
    operation: str
    status: str | None
    partitions: tuple[str, ...]
    subscriptions: tuple[tuple[str, str], ...]
    timeout_ms: int | None
    start_ms: int | None
    changed_ms: int | None


@dataclass(frozen=True, slots=True)
class PendingAck:
    """A position that a transaction acknowledges: entry, batch size and acknowledgement set where it is of a batch."""

    ledger_id: int
    entry_id: int
    batch_size: int | None
    ack_set: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PendingAckRecord:
    """One record of a log of pending acknowledgements; `operation` is `ack`, `commit` or `abort`."""

    txn: str
    operation: str
    ack_type: str | None
    positions: tuple[PendingAck, ...]


def decode_transaction_log(data: bytes) -> tuple[list[TransactionRecord], bool]:
    """The records of one entry, and whether the bytes are exactly such.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    messages, exact = _messages(data, pb.TransactionMetadataEntry, pb.BatchedTransactionMetadataEntry)
    return [_transaction(one, data) for one in messages], exact


def decode_pending_acks(data: bytes) -> tuple[list[PendingAckRecord], bool]:
    """The records of one entry, and whether the bytes are exactly such.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    messages, exact = _messages(data, pb.PendingAckMetadataEntry, pb.BatchedPendingAckMetadataEntry)
    return [_pending(one, data) for one in messages], exact


def _messages(data: bytes, single: type[_M], batched: type[_B]) -> tuple[list[_M], bool]:
    if not data.startswith(_BATCH_MAGIC):
        message = parsed(single, data, single.__name__)
        return [message], is_exact(message)
    if data[2:4] != _BATCH_VERSION:
        raise undecodable("a batch of version 1", f"version {data[2:4].hex()}", data)
    batch = parsed(batched, data[4:], batched.__name__)
    messages = next((list(value) for field, value in batch.ListFields() if field.number == 1), [])
    if not 0 < len(messages) <= MAX_RECORDS:
        raise undecodable(f"1 to {MAX_RECORDS} records", str(len(messages)), data)
    return messages, is_exact(batch)


def _transaction(message: pb.TransactionMetadataEntry, data: bytes) -> TransactionRecord:
    is_timed = message.HasField("last_modification_time") or message.HasField("max_sequence_id")
    if not (message.HasField("metadata_op") and is_timed):
        raise undecodable("an operation and a time", "a record without", data)
    status = message.new_status if message.HasField("new_status") else None
    if message.metadata_op == 0:
        status = 0
    return TransactionRecord(
        txn=f"{message.txnid_most_bits}:{message.txnid_least_bits}",
        operation=_named(OPERATIONS, message.metadata_op),
        status=None if status is None else _named(STATUSES, status),
        partitions=tuple(text_of(one) for one in message.partitions),
        subscriptions=tuple((text_of(one.topic), text_of(one.subscription)) for one in message.subscriptions),
        timeout_ms=message.timeout_ms if message.HasField("timeout_ms") else None,
        start_ms=message.start_time if message.HasField("start_time") else None,
        changed_ms=message.last_modification_time if message.HasField("last_modification_time") else None,
    )


def _pending(message: pb.PendingAckMetadataEntry, data: bytes) -> PendingAckRecord:
    if not (message.HasField("pending_ack_op") and message.HasField("txnid_least_bits")):
        raise undecodable("an operation and a transaction", "a record without", data)
    return PendingAckRecord(
        txn=f"{message.txnid_most_bits}:{message.txnid_least_bits}",
        operation=_named(ACK_OPERATIONS, message.pending_ack_op),
        ack_type=_named(ACK_TYPES, message.ack_type) if message.HasField("ack_type") else None,
        positions=tuple(
            PendingAck(
                one.ledger_id, one.entry_id, one.batch_size if one.HasField("batch_size") else None, tuple(one.ack_set)
            )
            for one in message.pending_ack_metadata
        ),
    )


def _named(names: tuple[str | None, ...], number: int) -> str:
    name = names[number] if 0 <= number < len(names) else None
    return name or f"unknown({number})"
