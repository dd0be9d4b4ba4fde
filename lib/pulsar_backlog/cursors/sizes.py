"""What a broker persists of a cursor's state: the limits that it applies in silence, and how many bytes that takes.

A broker writes ranges (field 3) or, where it is set to and there are any, long lists (field 6), never both. Ranges stop
after `managedLedgerMaxUnackedRangesToPersist`, lowest first. Long lists lose whole ledgers once the running count of
acknowledged *entries* passes that number: the ledger that crosses it is kept. Batch states stop after their own limit.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedCursorImpl.java
and https://github.com/apache/pulsar/pull/22799
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet, long_list_of, runs, word_windows
from pulsar_backlog.cursors.lengths import range_lengths, varint_length, words_length
from pulsar_backlog.cursors.values import NO_RANGES, AckState, BatchState, LongList
from pulsar_backlog.wire.arrays import Int64s
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


def ranges_of(acked: AckedSet) -> Int64s:
    """Rows of `(lower, upper]` of a set, ascending; none crosses ledgers."""
    rows = [NO_RANGES]
    for ledger_id, bitmap in sorted(acked.ledgers.items()):
        of_ledger = runs(bitmap)
        ids = np.full(len(of_ledger), ledger_id)
        rows.append(np.column_stack((ids, of_ledger[:, 0] - 1, ids, of_ledger[:, 1])))
    return np.concatenate(rows)


def limited(state: AckState, max_ranges: int, max_batches: int) -> AckState:
    """What a broker persists of a state, the rest being dropped in silence."""
    lists: list[LongList] = []
    entries = 0
    for one in state.long_lists:
        if entries > max_ranges:
            break
        lists.append(one)
        entries += int(np.bitwise_count(one.words.view(np.uint64)).sum())
    return AckState(
        state.mark_delete, state.ranges[:max_ranges], tuple(lists), state.batches[:max_batches], state.properties
    )


def position_info_bytes(state: AckState) -> int:
    """Bytes of one `PositionInfo`, without making it."""
    lengths = np.empty(len(state.ranges), dtype=np.int64)
    lists = sum(_long_list_bytes(one) for one in state.long_lists)
    return len(_head(state)) + int(range_lengths(state.ranges, lengths)) + lists + len(_properties_and_batches(state))


def long_array_bytes(acked: AckedSet) -> int:
    """Bytes of one `PositionInfo` of a set as long lists, whose words are never in memory together."""
    state = state_of(AckedSet(acked.mark_delete, {}, acked.partly), long_array=True)
    return position_info_bytes(state) + sum(map(_bitmap_bytes, acked.ledgers, acked.ledgers.values()))


def _bitmap_bytes(ledger_id: int, bitmap: BitMap) -> int:
    empty = int(words_length(np.zeros(1, dtype=np.int64)))
    words = (int(bitmap.max()) >> 6) + 1 if bitmap else 0
    more = sum(int(words_length(part)) - empty * len(part) for part in word_windows(bitmap))
    body = 1 + int(varint_length(ledger_id)) + empty * words + more
    return 1 + int(varint_length(body)) + body


def limited_lists(acked: AckedSet, max_ranges: int, max_batches: int) -> AckedSet:
    """What a broker persists of a set as long lists, the rest being dropped in silence."""
    ledgers: dict[int, BitMap] = {}
    entries = 0
    for ledger_id, bitmap in sorted(acked.ledgers.items()):
        if entries > max_ranges:
            break
        ledgers[ledger_id] = bitmap
        entries += len(bitmap)
    return AckedSet(acked.mark_delete, ledgers, dict(sorted(acked.partly.items())[:max_batches]))


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
