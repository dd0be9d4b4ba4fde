"""Decoders of internal ledgers on real entries, whole and damaged: damage is counted and costs nothing else."""

from __future__ import annotations

import pytest

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.internals.decoding import decode_ledger
from pulsar_backlog.internals.events import EventSchemas
from pulsar_backlog.internals.kinds import KINDS, LedgerName
from pulsar_backlog.internals.schemas import decode_schema
from pulsar_backlog.internals.transaction_logs import decode_pending_acks, decode_transaction_log
from pulsar_backlog.wire.proto import internal_state_pb2 as pb
from tests.internals.bookie import BOOKIE, ledgers_of

SCHEMAS = EventSchemas()
LEDGERS = {"schema": 4, "transaction_log": 2, "cursor": 13, "compacted": 39, "transaction_snapshot": 24}


@pytest.mark.parametrize("kind", LEDGERS)
def test_every_entry_is_read(kind: str) -> None:
    entries = ledgers_of(BOOKIE)[LEDGERS[kind]].entries
    decoded = decode_ledger(LedgerName(kind), 1, enumerate(entries), SCHEMAS)
    assert (decoded.entries, decoded.unread, decoded.first_error) == (len(entries), 0, None)
    assert decoded.bytes == sum(map(len, entries))


@pytest.mark.parametrize("kind", LEDGERS)
def test_prefixes_and_flipped_bits(kind: str) -> None:
    """Nothing but a count comes of damage."""
    entries = ledgers_of(BOOKIE)[LEDGERS[kind]].entries
    whole = entries[-1][:600] if kind == "schema" else entries[-1]
    damaged = [whole[:n] for n in range(len(whole))]
    for at in range(len(whole)):
        for bit in (0, 3, 7):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << bit
            damaged.append(bytes(flipped))
    for one in KINDS:
        decoded = decode_ledger(LedgerName(one), 1, enumerate(damaged), SCHEMAS)
        assert decoded.entries == len(damaged)
        assert 0 <= decoded.unread <= len(damaged)
    # Of a checksummed entry every flipped bit is noticed, but one in the broker's own metadata.
    if kind == "transaction_snapshot":
        decoded = decode_ledger(LedgerName(kind), 1, enumerate(damaged), SCHEMAS)
        assert decoded.unread > 0.9 * len(damaged)


def test_a_schema() -> None:
    schema = decode_schema(ledgers_of(BOOKIE)[4].entries[0])
    assert (schema.schema_id, schema.type, schema.is_deletion) == ("lab/sub/__change_events", "AVRO", False)
    assert schema.definition.startswith(b'{"type":"record","name":"PulsarEvent"')
    with pytest.raises(DecodeError, match="internal_undecodable"):
        decode_schema(b"")


def test_a_transaction_log() -> None:
    decoded = decode_ledger(LedgerName("transaction_log"), 2, enumerate(ledgers_of(BOOKIE)[2].entries), SCHEMAS)
    steps = [(row["txn"], row["operation"], row["status"]) for row in decoded.rows]
    assert [step for step in steps if step[0] == "0:0"] == [
        ("0:0", "new", "open"), ("0:0", "add_partition", None), ("0:0", "update", "committing"),
        ("0:0", "update", "committed"),
    ]  # fmt: skip
    assert {row["partitions"][0] for row in decoded.rows if row["partitions"]} == {"persistent://lab/s3/txn"}


def test_a_batch_of_records() -> None:
    """Where brokers batch the log (PIP-160), an entry holds several records behind a magic number."""
    records = [
        pb.TransactionMetadataEntry(
            metadata_op=0, txnid_least_bits=n, txnid_most_bits=3, start_time=1, max_sequence_id=n
        )
        for n in range(3)
    ]
    data = b"\x0e\x01\x00\x01" + pb.BatchedTransactionMetadataEntry(transaction_logs=records).SerializeToString()
    read, exact = decode_transaction_log(data)
    assert exact and [one.txn for one in read] == ["3:0", "3:1", "3:2"]
    with pytest.raises(DecodeError, match="a batch of version 1"):
        decode_transaction_log(b"\x0e\x01\x00\x02" + data[4:])
    acks = pb.BatchedPendingAckMetadataEntry(
        pending_ack_logs=[
            pb.PendingAckMetadataEntry(
                pending_ack_op=1, ack_type=0, txnid_least_bits=5, txnid_most_bits=1,
                pending_ack_metadata=[pb.PendingAckMetadata(ledger_id=7, entry_id=9, ack_set=[3], batch_size=4)],
            ),
            pb.PendingAckMetadataEntry(pending_ack_op=3, txnid_least_bits=5, txnid_most_bits=1),
        ]
    )  # fmt: skip
    pending, exact = decode_pending_acks(b"\x0e\x01\x00\x01" + acks.SerializeToString())
    assert exact and [(one.txn, one.operation) for one in pending] == [("1:5", "ack"), ("1:5", "abort")]
    assert (pending[0].positions[0].entry_id, pending[0].positions[0].ack_set) == (9, (3,))


def test_a_kind_without_decoder_counts_all() -> None:
    decoded = decode_ledger(LedgerName("unknown"), 1, enumerate([b"a", b"bc"]), SCHEMAS)
    assert (decoded.entries, decoded.unread, decoded.bytes) == (2, 2, 3)
