"""Decoders of internal ledgers on hostile bytes: each entry is read or counted, and every row fits its table.

Entries are made of the fields that the formats have, with values that their writers would never store; of real entries
whose bytes were moved about; and of events whose payload was changed before it got its checksum.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.internals.decoding import decode_ledger
from pulsar_backlog.internals.events import EventSchemas, messages_of_entry
from pulsar_backlog.internals.kinds import KINDS, LedgerName
from pulsar_backlog.internals.recognized import kind_by_bytes, kind_of_messages
from pulsar_backlog.internals.references import Knowledge
from pulsar_backlog.internals.summaries import bucket_rows
from pulsar_backlog.steps.internal_tables import as_table, tables_of
from pulsar_backlog.wire.proto import internal_state_pb2 as pb
from pulsar_backlog.wire.proto import managed_ledger_pb2 as ml
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.examples import examples
from tests.internals.bookie import BOOKIE, ledgers_of
from tests.internals.test_written_by_5_0 import LEDGERS as LEDGERS_OF_5_0
from tests.internals.test_written_by_5_0 import entries_of
from tests.wire.encode import entry

SCHEMAS = EventSchemas()
TYPES: dict[str, tuple[type[Message], ...]] = {
    "schema": (pb.SchemaEntry,),
    "transaction_log": (pb.TransactionMetadataEntry, pb.BatchedTransactionMetadataEntry),
    "pending_ack": (pb.PendingAckMetadataEntry, pb.BatchedPendingAckMetadataEntry),
    "delayed_bucket": (pb.SnapshotMetadata, pb.SnapshotSegment),
    "cursor": (ml.PositionInfo,),
    "deduplication": (ml.PositionInfo,),
}
OF_TOPICS = ("topic_policies", "transaction_snapshot", "functions", "load_report", "system_topic")
REAL = [
    *(one for ledger in ledgers_of(BOOKIE).values() for one in ledger.entries[:3]),
    *(entry for number in LEDGERS_OF_5_0 for entry in entries_of(number)[:8]),
]
EDGES = (0, 1, 2, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 62) + 1, (1 << 63) - 1, 1_795_255_988_429)
TEXTS = st.one_of(st.binary(max_size=12), st.sampled_from([b"persistent://t/n/x", b"\xff\xfe", b"\x00", b"'\n\x1b[2J"]))


def values_of(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return messages_of(field.message_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        if field.name != "schema_data":
            return TEXTS
        return messages_of(pb.SchemaInfo.DESCRIPTOR).map(lambda one: one.SerializePartialToString())
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    is_small = field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32)
    bits = 31 if is_small else 63
    some = [value for value in EDGES if value < 1 << bits]
    if field.type in (FieldDescriptor.TYPE_UINT64,):
        some.append((1 << 64) - 1)
    elif field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64):
        some += [-1, -(1 << bits)]
    return st.sampled_from(some)


@cache
def messages_of(kind: Descriptor) -> st.SearchStrategy[Any]:
    """A message each of whose fields is there or not, mostly is."""
    made: type[Any] = kind._concrete_class
    fields = {
        field.name: st.lists(values_of(field), max_size=3) if field.is_repeated else values_of(field)
        for field in kind.fields
    }
    parts = st.fixed_dictionaries({}, optional=fields)
    return st.one_of(st.fixed_dictionaries(fields), st.fixed_dictionaries(fields), parts).map(
        lambda pairs: made(**pairs)
    )


def checked(kind: str, entries: list[bytes]) -> None:
    """Nothing is raised, entries are read or counted, and the rows are as their tables promise."""
    decoded = decode_ledger(LedgerName(kind, "persistent://t/n/x", "s"), 7, enumerate(entries), SCHEMAS)
    assert decoded.entries == len(entries)
    assert 0 <= decoded.unread <= len(entries)
    assert (decoded.first_error is None) == (decoded.unread == 0 or kind == "unknown")
    tables = tables_of("c", Knowledge(), [decoded], [])
    for name, table in tables.items():
        assert as_table(name, "c", []).schema == table.schema
    kind_by_bytes(entries)
    kind_of_messages(entries, SCHEMAS)


@pytest.mark.parametrize("kind", TYPES)
@examples(60)
@given(data=st.data())
def test_fields_that_no_writer_stores(kind: str, data: st.DataObject) -> None:
    entries = []
    for _ in range(data.draw(st.integers(1, 4))):
        made = data.draw(st.sampled_from(TYPES[kind]))
        body = data.draw(messages_of(made.DESCRIPTOR)).SerializePartialToString()
        entries.append((b"\x0e\x01\x00\x01" if made.__name__.startswith("Batched") else b"") + body)
    checked(kind, entries)


@pytest.mark.parametrize("kind", sorted(KINDS))
@examples(60)
@given(data=st.data())
def test_real_entries_that_were_moved_about(kind: str, data: st.DataObject) -> None:
    entries = [moved(data) for _ in range(data.draw(st.integers(1, 3)))]
    checked(kind, entries)


def moved(data: st.DataObject) -> bytes:
    one, other = (data.draw(st.sampled_from(REAL)) for _ in range(2))
    first, last = (data.draw(st.integers(0, min(len(one), 400))) for _ in range(2))
    cut = data.draw(st.integers(0, min(len(other), 400)))
    return one[:first] + data.draw(st.binary(max_size=6)) + other[cut : cut + 200] + one[last:]


@pytest.mark.parametrize("kind", OF_TOPICS)
@examples(60)
@given(data=st.data())
def test_events_whose_payload_was_changed_before_its_checksum(kind: str, data: st.DataObject) -> None:
    real = [one.payload for one in messages_of_entry(ledgers_of(BOOKIE)[24].entries[0]) if one.payload]
    changed = bytearray(data.draw(st.sampled_from(real)))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        changed = changed or bytearray(b"\x00")
    metadata = MessageMetadata(
        producer_name=b"p", sequence_id=data.draw(st.sampled_from([0, (1 << 63) - 1])),
        publish_time=data.draw(st.sampled_from([0, (1 << 64) - 1, 1_795_255_988_429])),
    )  # fmt: skip
    if data.draw(st.booleans()):
        metadata.num_messages_in_batch = data.draw(st.sampled_from([-1, 0, 1, 1 << 30]))
    if data.draw(st.booleans()):
        metadata.compression = data.draw(st.integers(0, 4))
        metadata.uncompressed_size = data.draw(st.sampled_from([0, 10, (1 << 32) - 1]))
    if data.draw(st.booleans()):
        metadata.partition_key = (
            data.draw(st.sampled_from([b"", b"k\xff", b"persistent://t/n/x"])).decode("latin-1").encode()
        )
    checked(kind, [entry(metadata.SerializePartialToString(), bytes(changed))])


def test_rows_are_bounded_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    log = [
        pb.TransactionMetadataEntry(
            metadata_op=0, txnid_least_bits=number, txnid_most_bits=1, max_sequence_id=1
        ).SerializeToString()
        for number in range(50)
    ]
    decoded = decode_ledger(LedgerName("transaction_log"), 1, enumerate(log), SCHEMAS, most=7)
    assert [row["entry_id"] for row in decoded.rows] == list(range(43, 50))
    assert (decoded.left_out, decoded.entries, decoded.unread) == (43, 50, 0)
    monkeypatch.setattr("pulsar_backlog.internals.decoding.MAX_ROW_BYTES", 10 * len(log[-1]))
    decoded = decode_ledger(LedgerName("transaction_log"), 1, enumerate(log), SCHEMAS)
    assert len(decoded.rows) <= 12
    assert decoded.rows[-1]["entry_id"] == 49
    assert decoded.left_out + len(decoded.rows) == 50


def test_an_index_that_is_not_kept_whole_proves_nothing() -> None:
    segment = pb.SnapshotSegment(indexes=[pb.DelayedIndex(timestamp=1, ledger_id=5, entry_id=n) for n in range(9)])
    head = pb.SnapshotMetadata().SerializeToString()
    name = LedgerName("delayed_bucket", "t", "s")
    entries = list(enumerate([head, segment.SerializeToString()]))
    row = {"kind": "delayed_bucket", "ledger_id": 7, "topic": "t", "subscription": "s", "verdict": "ok"}
    for most, verdict in ((9, "ok"), (8, "cannot_tell")):
        decoded = decode_ledger(name, 7, entries, SCHEMAS, most)
        (bucket,) = bucket_rows(Knowledge(), [row], [decoded])
        assert (bucket["messages"], bucket["verdict"]) == (9, verdict)
