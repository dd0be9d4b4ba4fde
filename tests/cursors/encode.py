"""Cursor state -> bytes, in each form a broker writes: for tests and benchmarks only."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import cramjam
import numpy as np

from pulsar_backlog.cursors.lengths import nested_length, range_lengths, varint_length, words_length
from pulsar_backlog.cursors.sizes import Splitting
from pulsar_backlog.cursors.values import AckState, BatchState, CursorInfo, LongList
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.jit import compiled
from pulsar_backlog.wire.loops import Loop
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb
from pulsar_backlog.wire.state_envelope import CODECS, MAGIC


def encode_position_info(state: AckState) -> bytes:
    """One `PositionInfo`, bare."""
    head = _head(state)
    tail = _properties_and_batches(state)
    lengths = np.empty(len(state.ranges), dtype=np.int64)
    out = np.empty(range_lengths(state.ranges, lengths), dtype=np.uint8)
    put_ranges(state.ranges, out, 0)
    return b"".join((head, out.tobytes(), tail, *map(_long_list, state.long_lists)))


def encode_entries(state: AckState, splitting: Splitting) -> list[bytes]:
    """The entries a broker with PIP-381 appends to the cursor ledger, the footer last where it splits."""
    message = encode_position_info(state)
    data = message if splitting.compression is None else prefixed(message, splitting.compression)
    count = splitting.parts(len(data))
    if count == 1:
        return [data]
    size = splitting.max_entry_bytes
    footer = json.dumps({"numParts": count, "length": len(data)}, separators=(",", ":")).encode()
    return [*(data[at * size : (at + 1) * size] for at in range(count)), footer]


def encode_cursor_info(info: CursorInfo, compression: str | None = None) -> bytes:
    """The value of the metadata store; with a codec in its envelope."""
    message = pb.ManagedCursorInfo(cursors_ledger_id=info.cursors_ledger_id, last_active=info.last_active_ms)
    if info.state is not None:
        message.mark_delete_ledger_id, message.mark_delete_entry_id = info.state.mark_delete
        message.ranges.extend(_range_messages(info.state.ranges))
        message.properties.extend(pb.NumberPair(name=k.encode(), value=v) for k, v in info.state.properties.items())
        message.batches.extend(_batch_message(batch) for batch in info.state.batches)
    message.cursor_properties.extend(
        pb.Pair(name=name.encode(), value=value.encode()) for name, value in info.cursor_properties.items()
    )
    data = message.SerializeToString()
    return data if compression is None else enveloped(data, compression)


def _long_list(one: LongList) -> bytes:
    body = 1 + int(varint_length(one.ledger_id)) + int(words_length(one.words))
    out = np.empty(_long_list_bytes(one), dtype=np.uint8)
    out[0] = 0x32
    at = put_varint(out, 1, body)
    out[at] = 0x08
    at = put_varint(out, at + 1, one.ledger_id)
    put_words(one.words, out, at)
    return out.tobytes()


def _range_messages(ranges: Int64s) -> Iterable[pb.MessageRange]:
    for lower_ledger, lower_entry, upper_ledger, upper_entry in ranges.tolist():
        yield pb.MessageRange(
            lower=pb.NestedPosition(ledger_id=lower_ledger, entry_id=lower_entry),
            upper=pb.NestedPosition(ledger_id=upper_ledger, entry_id=upper_entry),
        )


def enveloped(message: bytes, codec: str) -> bytes:
    """The value of the metadata store for a message, compressed."""
    header = pb.CompressionHeader(compression_type=CODECS.index(codec), uncompressed_size=len(message))
    head = header.SerializeToString()
    return MAGIC + struct.pack(">i", len(head)) + head + compressed(codec, message)


def prefixed(message: bytes, codec: str) -> bytes:
    """A message as PIP-381 writes it into a cursor ledger that has the compression key."""
    return struct.pack(">i", len(message)) + compressed(codec, message)


def compressed(codec: str, data: bytes) -> bytes:
    """What a broker stores of `data` in this codec."""
    if codec == "NONE":
        return data
    if codec == "LZ4":
        return bytes(cramjam.lz4.compress_block(data, store_size=False))
    if codec == "ZLIB":
        deflater = zlib.compressobj()
        return deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)
    if codec == "ZSTD":
        return bytes(cramjam.zstd.compress(data))
    return bytes(cramjam.snappy.compress_raw(data))


@compiled
def put_varint(out: Any, at: int, value: int) -> int:
    """Write a varint at `at`; the position after it."""
    bits = np.uint64(value)
    while bits >= np.uint64(0x80):
        out[at] = np.uint8((bits & np.uint64(0x7F)) | np.uint64(0x80))
        bits >>= np.uint64(7)
        at += 1
    out[at] = np.uint8(bits)
    return at + 1


@Loop
def put_ranges(ranges: Any, out: Any, at: int) -> int:
    """Write the rows of `ranges` as fields 3; the position after them. `out` has the room `range_lengths` says."""
    for row in range(len(ranges)):
        lower = nested_length(ranges[row, 0], ranges[row, 1])
        upper = nested_length(ranges[row, 2], ranges[row, 3])
        out[at] = 0x1A
        at = put_varint(out, at + 1, 2 + varint_length(lower) + varint_length(upper) + lower + upper)
        for side in range(2):
            out[at] = 0x0A if side == 0 else 0x12
            at = put_varint(out, at + 1, lower if side == 0 else upper)
            out[at] = 0x08
            at = put_varint(out, at + 1, ranges[row, 2 * side])
            out[at] = 0x10
            at = put_varint(out, at + 1, ranges[row, 2 * side + 1])
    return at


@compiled
def put_words(words: Any, out: Any, at: int) -> int:
    """Write the words as unpacked fields 2; the position after them."""
    for k in range(len(words)):
        out[at] = 0x10
        at = put_varint(out, at + 1, words[k])
    return at


def _long_list_bytes(one: LongList) -> int:
    body = 1 + int(varint_length(one.ledger_id)) + int(words_length(one.words))
    return 1 + int(varint_length(body)) + body


def _head(state: AckState) -> bytes:
    ledger_id, entry_id = state.mark_delete
    return pb.PositionInfo(ledger_id=ledger_id, entry_id=entry_id).SerializeToString()


def _properties_and_batches(state: AckState) -> bytes:
    message = pb.PositionInfo()
    message.properties.extend(pb.NumberPair(name=k.encode(), value=v) for k, v in state.properties.items())
    message.batches.extend(_batch_message(batch) for batch in state.batches)
    return message.SerializeToString()


def _batch_message(batch: BatchState) -> pb.BatchDeletion:
    position = pb.NestedPosition(ledger_id=batch.ledger_id, entry_id=batch.entry_id)
    return pb.BatchDeletion(position=position, delete_set=batch.words)
