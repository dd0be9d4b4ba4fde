"""Entries as a test wants them: whole messages, batches, and chunks that no client would send."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable

from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata, SingleMessageMetadata
from tests.broker.process import Broker
from tests.broker.protocol import connected

Position = tuple[int, int]


def publish(
    broker: Broker, topic: str, entries: Iterable[tuple[MessageMetadata, bytes]], name: str = "by-hand"
) -> list[Position]:
    """Store entries one after the other, as a producer of a name; their positions."""
    with connected(broker.service_url, broker.token_file.read_text()) as connection:
        producer = connection.producer(topic, name)
        return [producer.send(metadata, payload) for metadata, payload in entries]


def message(sequence_id: int, payload: bytes) -> tuple[MessageMetadata, bytes]:
    """One message of one entry."""
    return _metadata(sequence_id), payload


def batch(sequence_id: int, payloads: list[bytes]) -> tuple[MessageMetadata, bytes]:
    """Several messages in one entry."""
    metadata = _metadata(sequence_id)
    metadata.num_messages_in_batch = len(payloads)
    parts = []
    for payload in payloads:
        head = SingleMessageMetadata(payload_size=len(payload)).SerializeToString()
        parts.append(struct.pack(">i", len(head)) + head + payload)
    return metadata, b"".join(parts)


def chunks(
    sequence_id: int, payload: bytes, count: int, ids: Iterable[int], name: str = "by-hand"
) -> list[tuple[MessageMetadata, bytes]]:
    """The chunks with these ids, in this order, of a message that is cut into `count`; all share one publish time."""
    size = -(-len(payload) // count)
    whole = _metadata(sequence_id)
    entries = []
    for chunk_id in ids:
        metadata = MessageMetadata()
        metadata.CopyFrom(whole)
        metadata.producer_name = name.encode()
        metadata.uuid = f"{name}-{sequence_id}".encode()
        metadata.num_chunks_from_msg = count
        metadata.total_chunk_msg_size = len(payload)
        metadata.uncompressed_size = len(payload)
        metadata.chunk_id = chunk_id
        entries.append((metadata, payload[chunk_id * size : (chunk_id + 1) * size]))
    return entries


def _metadata(sequence_id: int) -> MessageMetadata:
    return MessageMetadata(producer_name=b"by-hand", sequence_id=sequence_id, publish_time=time.time_ns() // 1_000_000)
