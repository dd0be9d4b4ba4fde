"""Counts and extremes of a stretch of entries; both add up in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np

from pulsar_backlog.facts import stretch_fold as fold
from pulsar_backlog.facts.stretch import Bools, Stretch, equals
from pulsar_backlog.wire.metadata import COMPRESSIONS

UNKNOWN_CODEC = "UNKNOWN"
"""Stands for every codec that has no name, so that nobody makes a long list of them."""


@dataclass(frozen=True)
class Counts:
    """What adds up: columns of `ledger_facts` of the same names, which say what they count."""

    entries: int = 0
    bytes: int = 0
    messages: int = 0
    batches: int = 0
    chunk_entries: int = 0
    entries_with_uuid: int = 0
    checksum_mismatch: int = 0
    checksum_absent: int = 0
    broker_timestamps: int = 0
    publish_time_nulls: int = 0
    non_positive_lengths: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


LEAST, MOST = {"of": min}, {"of": max}


@dataclass(frozen=True)
class Extremes:
    """Least and greatest: columns of `ledger_facts` of the same names; None where there is nothing."""

    first_entry_id: int | None = field(default=None, metadata=LEAST)
    last_entry_id: int | None = field(default=None, metadata=MOST)
    last_byte: int | None = field(default=None, metadata=MOST)
    largest_entry_bytes: int | None = field(default=None, metadata=MOST)
    lowest_index: int | None = field(default=None, metadata=LEAST)
    highest_index: int | None = field(default=None, metadata=MOST)
    oldest_stored_ms: int | None = field(default=None, metadata=LEAST)
    newest_stored_ms: int | None = field(default=None, metadata=MOST)
    max_publish_skew_ms: int | None = field(default=None, metadata=MOST)

    def __add__(self, other: Extremes) -> Extremes:
        """Of both."""
        return Extremes(
            *(_chosen(f.metadata["of"], getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        )


def _chosen(of: Callable[..., int], one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return of(one, other)


def counts_of(stretch: Stretch) -> Counts:
    """The counts of a stretch."""
    sums = stretch.folded.sums.tolist()
    return Counts(
        entries=len(stretch),
        bytes=sums[fold.BYTES],
        messages=sums[fold.MESSAGES],
        batches=sums[fold.BATCHES],
        chunk_entries=sums[fold.CHUNK_ENTRIES],
        entries_with_uuid=sums[fold.UUIDS],
        checksum_mismatch=sums[fold.DAMAGED_COUNT],
        checksum_absent=sums[fold.UNCHECKED_COUNT],
        broker_timestamps=sums[fold.BROKER_TIMES],
        publish_time_nulls=len(stretch) - sums[fold.PUBLISH_TIMES],
        non_positive_lengths=sums[fold.NO_LENGTH],
    )


def extremes_of(stretch: Stretch) -> Extremes:
    """The extremes of a stretch, which has an entry at least."""
    folded = stretch.folded
    return Extremes(
        first_entry_id=int(folded.extremes[fold.FIRST_ID]),
        last_entry_id=int(folded.extremes[fold.LAST_ID]),
        last_byte=int(folded.extremes[fold.LAST_BYTE]),
        largest_entry_bytes=int(folded.extremes[fold.LARGEST]),
        lowest_index=folded.extreme(fold.LOWEST_INDEX, fold.INDEXES),
        highest_index=folded.extreme(fold.HIGHEST_INDEX, fold.INDEXES),
        oldest_stored_ms=folded.extreme(fold.OLDEST_STORED, fold.STORED_TIMES),
        newest_stored_ms=folded.extreme(fold.NEWEST_STORED, fold.STORED_TIMES),
        max_publish_skew_ms=folded.extreme(fold.SKEW, fold.BOTH_TIMES),
    )


def codecs_of(stretch: Stretch) -> Counter[str]:
    """Entries by codec; without one it is the first, `NONE`."""
    column = stretch.rows.column("compression")
    codecs = Counter({COMPRESSIONS[0]: column.null_count})
    if column.null_count < len(column):
        named = {name: _count(equals(column.fill_null(""), name)) for name in COMPRESSIONS}
        codecs.update(named)
        codecs[UNKNOWN_CODEC] = len(column) - codecs.total()
    return +codecs


def _count(when: Bools) -> int:
    return int(np.count_nonzero(when))
