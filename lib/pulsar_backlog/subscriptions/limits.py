"""Which limits decide what of a cursor is persisted: told by the user, by the broker's saved settings, by its version.

| setting | 2.8 to 4.0 | 4.1, 4.2 | 5.0 |
|---|---|---|---|
| managedLedgerMaxUnackedRangesToPersist | 10,000 | 10,000 | 200,000 |
| managedLedgerMaxBatchDeletedIndexToPersist | 10,000 | 10,000 | 200,000 |
| managedLedgerMaxUnackedRangesToPersistInMetadataStore | 1,000 | 1,000 | 200,000 |
| managedLedgerPersistIndividualAckAsLongArray | false | true | true |

Without any of them those of 4.1 and 4.2 are assumed, and what follows from that cannot be told. Source:
conf/broker.conf of these releases; of 5.0, its M1's.
"""

from __future__ import annotations

from typing import Literal

from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cursors.predict import Limits

LimitsFrom = Literal["options", "settings", "version", "assumed"]
"""Who says how many ranges and batch states a broker persists: the least sure of both."""

_RANGES, _BATCHES = "managedLedgerMaxUnackedRangesToPersist", "managedLedgerMaxBatchDeletedIndexToPersist"
_FIRST_OF_5 = Limits(ranges=200_000, batch_entries=200_000, metadata_store_ranges=200_000)


def limits_of(saved: SavedSettings, max_ack_ranges: int | None, max_batch_acks: int | None) -> Limits:
    """The limits of the brokers.

    Args:
        saved: what a snapshot says.
        max_ack_ranges: ranges, where the user names them.
        max_batch_acks: entries with a batch state, where the user names them.
    """
    usual = _usual(saved.version)
    in_store = saved.number("managedLedgerMaxUnackedRangesToPersistInMetadataStore")
    long_array = saved.flag("managedLedgerPersistIndividualAckAsLongArray")
    return Limits(
        ranges=max_ack_ranges or saved.number(_RANGES) or usual.ranges,
        batch_entries=max_batch_acks or saved.number(_BATCHES) or usual.batch_entries,
        metadata_store_ranges=usual.metadata_store_ranges if in_store is None else in_store,
        long_array=usual.long_array if long_array is None else long_array,
    )


def limits_from(saved: SavedSettings, max_ack_ranges: int | None, max_batch_acks: int | None) -> LimitsFrom:
    """Whose word these limits are; arguments as of `limits_of`."""
    named = (max_ack_ranges, max_batch_acks)
    if all(named):
        return "options"
    if all(one or saved.number(name) for one, name in zip(named, (_RANGES, _BATCHES), strict=True)):
        return "settings"
    return "assumed" if saved.version is None else "version"


def _usual(version: tuple[int, int] | None) -> Limits:
    if version is None or (4, 1) <= version < (5, 0):
        return Limits()
    return _FIRST_OF_5 if version >= (5, 0) else Limits(long_array=False)
