"""What becomes of a cursor's state: sizes in each form, limits, what the next persist drops, what a restart repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet, acked_set, full, runs
from pulsar_backlog.cursors.newest import Newest
from pulsar_backlog.cursors.sizes import (
    Splitting,
    limited,
    limited_lists,
    long_array_bytes,
    position_info_bytes,
    state_of,
)
from pulsar_backlog.terms import Position


@dataclass(frozen=True, slots=True)
class Limits:
    """Broker settings that decide what is persisted; the defaults are those of 4.1 and 4.2.

    Attributes:
        ranges: managedLedgerMaxUnackedRangesToPersist.
        batch_entries: managedLedgerMaxBatchDeletedIndexToPersist.
        metadata_store_ranges: managedLedgerMaxUnackedRangesToPersistInMetadataStore.
        frame_bytes: the largest entry a bookie takes; 5 MiB and its padding.
        long_array: managedLedgerPersistIndividualAckAsLongArray; false through 4.0.
    """

    ranges: int = 10_000
    batch_entries: int = 10_000
    metadata_store_ranges: int = 1_000
    frame_bytes: int = 5 * 1024 * 1024
    long_array: bool = True


@dataclass(frozen=True, slots=True)
class Prediction:
    """Fields are named as in `subscriptions`.

    Attributes:
        redelivered: acknowledged entries that a restart now would deliver again, by ledger.
    """

    acked_entries: int
    acked_ranges: int
    ranges_bytes: int
    long_array_bytes: int
    split_parts: int
    over_limits: tuple[str, ...]
    dropped_ranges: int
    dropped_entries: int
    dropped_batch_entries: int
    redelivered: Mapping[int, BitMap]
    redelivered_from: Position | None


def predict(newest: Newest, limits: Limits, lengths: Mapping[int, int | None]) -> Prediction:
    """What becomes of the newest state of a cursor; `lengths` are entries of the topic's ledgers."""
    acked = newest.chosen.acked
    as_ranges = state_of(acked, long_array=False)
    range_bytes, list_bytes = position_info_bytes(as_ranges), long_array_bytes(acked)
    if limits.long_array:
        persisted = limited_lists(acked, limits.ranges, limits.batch_entries)
    else:
        persisted = acked_set(limited(as_ranges, limits.ranges, limits.batch_entries))
    dropped = missing(acked, persisted, {})
    surviving = newest.stored.acked if newest.stored is not None else persisted
    redelivered = missing(acked, surviving, lengths)
    first = min(redelivered, default=None)
    return Prediction(
        acked_entries=acked.entry_count(),
        acked_ranges=len(as_ranges.ranges),
        ranges_bytes=range_bytes,
        long_array_bytes=list_bytes,
        split_parts=Splitting().parts(min(range_bytes, list_bytes) + 4),
        over_limits=tuple(
            _over(acked, len(as_ranges.ranges), list_bytes if limits.long_array else range_bytes, limits)
        ),
        dropped_ranges=sum(len(runs(bitmap)) for bitmap in dropped.values()),
        dropped_entries=sum(map(len, dropped.values())),
        dropped_batch_entries=len(acked.partly) - len(persisted.partly),
        redelivered=redelivered,
        redelivered_from=None if first is None else (first, int(redelivered[first].min())),
    )


def missing(acked: AckedSet, other: AckedSet, lengths: Mapping[int, int | None]) -> dict[int, BitMap]:
    """Entries acknowledged in one set and not in the other, by ledger.

    Args:
        acked: the one.
        other: the other.
        lengths: entries of the topic's ledgers; entries up to mark-delete of ledgers without one are not seen.
    """
    result: dict[int, BitMap] = {}
    for ledger_id, bitmap in acked.ledgers.items():
        rest = bitmap - _of_ledger(other, ledger_id, int(bitmap.max()))
        if rest:
            result[ledger_id] = rest
    last_ledger, last_entry = acked.mark_delete
    for ledger_id in {*lengths, last_ledger}:
        length = lengths.get(ledger_id)
        count = min(last_entry + 1, length or last_entry + 1) if ledger_id == last_ledger else length or 0
        if count > 0 and other.mark_delete[0] <= ledger_id <= last_ledger:
            rest = full(0, count) - _of_ledger(other, ledger_id, count - 1)
            if rest:
                result[ledger_id] = result.get(ledger_id, BitMap()) | rest
    return result


def _of_ledger(acked: AckedSet, ledger_id: int, up_to: int) -> BitMap:
    """All acknowledged entries of a ledger, those up to mark-delete too."""
    if ledger_id < acked.mark_delete[0]:
        return full(0, up_to + 1)
    bitmap = acked.ledgers.get(ledger_id, BitMap())
    if ledger_id == acked.mark_delete[0]:
        bitmap = bitmap | full(0, acked.mark_delete[1] + 1)
    return bitmap


def _over(acked: AckedSet, ranges: int, state_bytes: int, limits: Limits) -> list[str]:
    # Long lists are cut by acknowledged entries, ranges by their number.
    counted = acked.entry_count() if limits.long_array else ranges
    over = [
        ("ranges", counted > limits.ranges),
        ("batch_entries", len(acked.partly) > limits.batch_entries),
        ("metadata_store_ranges", ranges > limits.metadata_store_ranges),
        ("frame", state_bytes > limits.frame_bytes),
    ]
    return [name for name, is_over in over if is_over]
