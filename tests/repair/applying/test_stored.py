"""Entries that are published as they are stored: only those that the plan was made of, and with all that opens them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.repair.applying.sealed_entries import published_again, read_stored, sealed_sha256
from pulsar_backlog.repair.broker.cluster import Ledgers
from pulsar_backlog.repair.broker.reading import RawEntry
from pulsar_backlog.repair.values import AsStored, StoredEntry
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.wire.encode import entry

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

ORIGIN = {"pulsar-backlog.plan": "p", "pulsar-backlog.original-id": "5:1"}


def chunk(chunk_id: int) -> MessageMetadata:
    """With every field that a stored chunk can have."""
    metadata = MessageMetadata(
        producer_name=b"app", sequence_id=7, publish_time=1000, replicated_from=b"other", partition_key=b"a2V5",
        partition_key_b64_encoded=True, ordering_key=b"\xff", replicate_to=[b"here"], compression=2,
        uncompressed_size=99, event_time=12, encryption_algo=b"AES", encryption_param=bytes([chunk_id] * 12),
        schema_version=b"\1", schema_id=b"\2", deliver_at_time=5, txnid_least_bits=1, txnid_most_bits=2,
        highest_sequence_id=9, null_value=False, uuid=b"app-7", num_chunks_from_msg=2, total_chunk_msg_size=8,
        chunk_id=chunk_id,
    )  # fmt: skip
    for name in (b"one", b"two"):
        key = metadata.encryption_keys.add(key=name, value=b"wrapped-" + name)
        key.metadata.add(key=b"version", value=b"3")
    metadata.properties.add(key=b"a", value=b"\xff")
    return metadata


ENTRIES = tuple(RawEntry(chunk(chunk_id), b"sealed-%d" % chunk_id) for chunk_id in range(2))


def at_source(folder: Path, entries: tuple[RawEntry, ...] = ENTRIES, checksum: bool = True) -> AsStored:
    """The entries in one object, each behind twelve bytes and with broker metadata; what a plan says of them."""
    content, found = b"", []
    for number, one in enumerate(entries):
        body = entry(one.metadata.SerializeToString(), one.payload, broker=b"\x08\x01", checksum=checksum)
        content += bytes(12)
        crc = struct.unpack(">I", body[10:14])[0] if checksum else 0
        found.append(StoredEntry((5, number), "ledger", len(content), len(body), crc))
        content += body
    (folder / "ledger").write_bytes(content)
    return AsStored(str(folder), tuple(found))


def test_entries_come_back_as_they_are(tmp_path: Path) -> None:
    assert read_stored(Ledgers(), at_source(tmp_path)) == ENTRIES


def test_the_source_may_have_moved(tmp_path: Path) -> None:
    plan = replace(at_source(tmp_path), source="/nowhere/at/all")
    with pytest.raises(SourceError, match="is not a folder"):
        read_stored(Ledgers(), plan)
    assert read_stored(Ledgers(str(tmp_path)), plan) == ENTRIES


def test_the_source_may_be_a_bucket(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = replace(at_source(tmp_path), source="s3://sealed/offloaded")
    s3_server.fill("sealed", {"offloaded/ledger": ((tmp_path / "ledger").read_bytes(), {})})
    ledgers = Ledgers(endpoint=s3_server.endpoint)
    assert read_stored(ledgers, plan) == ENTRIES
    s3_server.client().put_object(Bucket="sealed", Key="offloaded/ledger", Body=b"another")
    with pytest.raises(SourceError, match=r"s3://sealed/offloaded/ledger.* is cut off"):
        read_stored(ledgers, plan)
    s3_server.client().delete_object(Bucket="sealed", Key="offloaded/ledger")
    with pytest.raises(SourceError, match="no such object"):
        read_stored(ledgers, plan)


def test_each_bit_that_changed_is_noticed(tmp_path: Path) -> None:
    plan = at_source(tmp_path)
    path = tmp_path / "ledger"
    sound = path.read_bytes()
    last = plan.entries[-1]
    for at in range(last.offset + 8, last.offset + last.length):  # the broker's own metadata is nobody's business
        for bit in (1, 128):
            path.write_bytes(sound[:at] + bytes([sound[at] ^ bit]) + sound[at + 1 :])
            with pytest.raises(SourceError, match=f"entry 5:1 at byte {last.offset} has changed"):
                read_stored(Ledgers(), plan)
    for cut in range(1, last.length + 1):
        path.write_bytes(sound[:-cut])
        with pytest.raises(SourceError, match="is cut off"):
            read_stored(Ledgers(), plan)


def _clear(metadata: MessageMetadata) -> None:
    metadata.ClearField("encryption_keys")


def _loop(metadata: MessageMetadata) -> None:
    metadata.properties.add(key=b"pulsar-backlog.plan", value=b"another")


@pytest.mark.parametrize(("change", "words"), [(_clear, "it is not encrypted"), (_loop, "would make a loop")])
def test_what_is_never_published(change: Callable[[MessageMetadata], None], words: str, tmp_path: Path) -> None:
    odd = chunk(1)
    change(odd)
    with pytest.raises(SourceError, match=words):
        read_stored(Ledgers(), at_source(tmp_path, (ENTRIES[0], RawEntry(odd, b"x"))))


def test_an_entry_without_a_checksum_is_not_the_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has changed"):
        read_stored(Ledgers(), at_source(tmp_path, checksum=False))


def test_what_changes_and_what_stays() -> None:
    again = published_again(ENTRIES, "pulsar-backlog-p", 4, 2000, ORIGIN, same_topic=True)
    assert [payload for _, payload in again] == [b"sealed-0", b"sealed-1"]
    for chunk_id, (head, _) in enumerate(again):
        wanted = chunk(chunk_id)
        for name in (
            "replicated_from",
            "deliver_at_time",
            "txnid_least_bits",
            "txnid_most_bits",
            "highest_sequence_id",
        ):
            wanted.ClearField(name)  # type: ignore[arg-type]
        wanted.producer_name, wanted.sequence_id, wanted.publish_time = b"pulsar-backlog-p", 4, 2000
        wanted.uuid = b"pulsar-backlog-p-4"
        for key, value in ORIGIN.items():
            wanted.properties.add(key=key.encode(), value=value.encode())
        assert head == wanted
    elsewhere = published_again(ENTRIES, "p", 4, 2000, ORIGIN, same_topic=False)
    assert not any(head.HasField("schema_version") or head.HasField("schema_id") for head, _ in elsewhere)


def test_an_entry_that_is_no_chunk_gets_no_uuid() -> None:
    single = MessageMetadata(producer_name=b"app", sequence_id=7, publish_time=1000, num_messages_in_batch=3)
    ((head, _),) = published_again((RawEntry(single, b"x"),), "p", 4, 2000, ORIGIN, same_topic=True)
    assert (head.HasField("uuid"), head.num_messages_in_batch) == (False, 3)


def test_original_and_copy_have_one_digest_and_nothing_else_has() -> None:
    copy = [RawEntry(*one) for one in published_again(ENTRIES, "p", 4, 2000, ORIGIN, same_topic=False)]
    assert sealed_sha256(copy) == sealed_sha256(ENTRIES)
    other = chunk(1)
    other.encryption_keys[1].value = b"another"
    assert sealed_sha256((ENTRIES[0], RawEntry(other, ENTRIES[1].payload))) != sealed_sha256(ENTRIES)
    assert sealed_sha256((ENTRIES[0], RawEntry(chunk(1), b"sealed-x"))) != sealed_sha256(ENTRIES)
    assert sealed_sha256(ENTRIES[:1]) != sealed_sha256(ENTRIES)
    assert sealed_sha256(ENTRIES[::-1]) != sealed_sha256(ENTRIES)


def test_what_no_consumer_could_get_keeps_its_time_of_delivery() -> None:
    """And under its own number the last number of its batch, by which a broker drops duplicates."""
    (own, _), _ = published_again(ENTRIES, "app", 7, 5, ORIGIN, same_topic=True, is_late=True)
    assert (own.deliver_at_time, own.highest_sequence_id, own.publish_time) == (5, 9, 5)
    (new, _), _ = published_again(ENTRIES, "plan", 8, 5, ORIGIN, same_topic=True, is_late=True)
    assert (new.deliver_at_time, new.HasField("highest_sequence_id")) == (5, False)
    (other, _), _ = published_again(ENTRIES, "plan", 7, 5, ORIGIN, same_topic=True)
    assert not (other.HasField("deliver_at_time") or other.HasField("highest_sequence_id"))


def test_what_is_not_encrypted_is_read_only_where_the_plan_says_so(tmp_path: Path) -> None:
    plain = RawEntry(MessageMetadata(producer_name=b"app", sequence_id=7, publish_time=1000), b"open")
    plan = at_source(tmp_path, (plain,))
    assert read_stored(Ledgers(), plan, encrypted=False) == (plain,)
    with pytest.raises(SourceError, match="it is not encrypted"):
        read_stored(Ledgers(), plan)
