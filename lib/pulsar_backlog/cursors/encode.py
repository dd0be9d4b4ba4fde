"""Cursor state -> bytes, in each form, with the limits that brokers apply in silence; and sizes without encoding.

A broker writes ranges (field 3) or, where it is set to and there are any, long lists (field 6), never both. Ranges stop
after `managedLedgerMaxUnackedRangesToPersist`, lowest first. Long lists lose whole ledgers once the running count of
acknowledged *entries* passes that number: the ledger that crosses it is kept. Batch states stop after their own limit.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedCursorImpl.java
and https://github.com/apache/pulsar/pull/22799
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.cursors import kernel
from pulsar_backlog.cursors.acked import AckedSet, long_list_of, runs
from pulsar_backlog.cursors.envelope import enveloped, prefixed
from pulsar_backlog.cursors.values import NO_RANGES, AckState, BatchState, CursorInfo, LongList, Longs
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb


@dataclass(frozen=True, slots=True)
class Splitting:
    """The three settings of PIP-381.

    Attributes:
        enabled: `persistentUnackedRangesWithMultipleEntriesEnabled`.
        max_entry_bytes: `persistentUnackedRangesMaxEntrySize`.
        compression: the codec of `cursorInfoCompressionType`; None leaves the ledger without the key, so bare.
    """

    enabled: bool = True
    max_entry_bytes: int = 1 << 20
    compression: str | None = "NONE"

    def parts(self, stored_bytes: int) -> int:
        """Entries that a state of this many bytes takes, without the footer."""
        return 1 + stored_bytes // self.max_entry_bytes if self.enabled else 1


def state_of(acked: AckedSet, long_array: bool, properties: Mapping[str, int] | None = None) -> AckState:
    """The whole state of a set in one of the two forms, without limits."""
    batches = tuple(BatchState(ledger, entry, words) for (ledger, entry), words in sorted(acked.partly.items()))
    lists: tuple[LongList, ...] = ()
    ranges = NO_RANGES
    if long_array:
        lists = tuple(long_list_of(ledger_id, bitmap) for ledger_id, bitmap in sorted(acked.ledgers.items()))
    else:
        ranges = ranges_of(acked)
    return AckState(acked.mark_delete, ranges, lists, batches, properties or {})


def ranges_of(acked: AckedSet) -> Longs:
    """Rows of `(lower, upper]` of a set, ascending; none crosses ledgers."""
    rows = [NO_RANGES]
    for ledger_id, bitmap in sorted(acked.ledgers.items()):
        of_ledger = runs(bitmap)
        ids = np.full(len(of_ledger), ledger_id)
        rows.append(np.column_stack((ids, of_ledger[:, 0] - 1, ids, of_ledger[:, 1])))
    return np.concatenate(rows)


def limited(state: AckState, max_ranges: int, max_batches: int) -> AckState:
    """What a broker persists of a state, the rest being dropped in silence."""
    kept: list[LongList] = []
    entries = 0
    for one in state.long_lists:
        if entries > max_ranges:
            break
        kept.append(one)
        entries += int(np.bitwise_count(one.words.view(np.uint64)).sum())
    return AckState(
        state.mark_delete, state.ranges[:max_ranges], tuple(kept), state.batches[:max_batches], state.properties
    )


def encode_position_info(state: AckState) -> bytes:
    """One `PositionInfo`, bare."""
    head = _head(state)
    tail = _properties_and_batches(state)
    lengths = np.empty(len(state.ranges), dtype=np.int64)
    out = np.empty(kernel.range_lengths(state.ranges, lengths), dtype=np.uint8)
    kernel.put_ranges(state.ranges, out, 0)
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


def position_info_bytes(state: AckState) -> int:
    """How long `encode_position_info` is, without making it."""
    lengths = np.empty(len(state.ranges), dtype=np.int64)
    lists = sum(_long_list_bytes(one) for one in state.long_lists)
    return (
        len(_head(state))
        + int(kernel.range_lengths(state.ranges, lengths))
        + lists
        + len(_properties_and_batches(state))
    )


def _long_list_bytes(one: LongList) -> int:
    body = 1 + int(kernel.varint_length(one.ledger_id)) + int(kernel.words_length(one.words))
    return 1 + int(kernel.varint_length(body)) + body


def _long_list(one: LongList) -> bytes:
    body = 1 + int(kernel.varint_length(one.ledger_id)) + int(kernel.words_length(one.words))
    out = np.empty(_long_list_bytes(one), dtype=np.uint8)
    out[0] = 0x32
    at = kernel.put_varint(out, 1, body)
    out[at] = 0x08
    at = kernel.put_varint(out, at + 1, one.ledger_id)
    kernel.put_words(one.words, out, at)
    return out.tobytes()


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


def _range_messages(ranges: Longs) -> Iterable[pb.MessageRange]:
    for lower_ledger, lower_entry, upper_ledger, upper_entry in ranges.tolist():
        yield pb.MessageRange(
            lower=pb.NestedPosition(ledger_id=lower_ledger, entry_id=lower_entry),
            upper=pb.NestedPosition(ledger_id=upper_ledger, entry_id=upper_entry),
        )
