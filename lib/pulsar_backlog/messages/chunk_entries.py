"""Stored chunk entries as the rows that the chunk fold reads."""

from __future__ import annotations

from pulsar_backlog.chunks.rows import ChunkRow
from pulsar_backlog.chunks.shared_fields import shared_values
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.wire.entry import Entry


def chunk_row(entry: Entry, ledger_id: int, entry_id: int, payload: Place) -> ChunkRow:
    """What the fold reads of a chunk; `payload` is where its payload lies."""
    m = entry.metadata
    return ChunkRow(
        ledger_id, entry_id, m.uuid or "", m.publish_time, m.chunk_id, m.num_chunks_from_msg, m.total_chunk_msg_size,
        payload.path, payload.offset, entry.layout.payload_length, entry.payload_crc32c, entry.checksum_state,
        m.producer_name, m.sequence_id, m.compression, m.uncompressed_size, m.encryption_keys is not None,
        m.num_messages_in_batch, hash(shared_values(m)), entry.broker.broker_timestamp if entry.broker else None,
    )  # fmt: skip
