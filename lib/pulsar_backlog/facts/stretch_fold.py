"""The compiled loop over the entries of a stretch: counts, extremes, order and steps. No object per entry."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.facts.entry_numbers import (
    BATCH,
    BATCH_SIZE,
    BROKER,
    BROKER_MS,
    CHUNK_COUNT,
    CHUNK_ID,
    CHUNKS,
    DAMAGED,
    END,
    ENTRY_ID,
    INDEX,
    INDEX_NUMBER,
    LENGTH,
    MARKER,
    METADATA,
    PUBLISH,
    PUBLISH_MS,
    TRANSACTION,
    UNCHECKED,
    UUID,
    WIRE_MS,
    stored_ms,
)
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.wire.loops import Loop

FARTHEST = 1 << 61
"""No broker counts so far. Indexes beyond it count as this, so that their differences are numbers too."""
PUBLISH_TOLERANCE_MS = 1000
"""Steps back of publish times up to here are what several producers on one topic look like."""

(
    BYTES, MESSAGES, BATCHES, CHUNK_ENTRIES, UUIDS, DAMAGED_COUNT, UNCHECKED_COUNT, BROKER_TIMES, PUBLISH_TIMES,
    NO_LENGTH, INDEXES, STORED_TIMES, BOTH_TIMES, TOLD_TIMES, SEEK_TIMES, NOT_ASCENDING, INDEX_BACKWARDS,
    BROKER_BACKWARDS, PUBLISH_BACKWARDS, JUMPS,
) = range(20)  # fmt: skip
"""Sums: `STORED_TIMES` is how many entries have a time of either clock, `TOLD_TIMES` how many undamaged messages have
one of their producer, `SEEK_TIMES` how many one of the broker, else such a one, `JUMPS` how many ids do not follow."""
SUM_COUNT = 20

(
    FIRST_ID, LOWEST_INDEX, OLDEST_STORED, OLDEST_TOLD, OLDEST_TOLD_ID, EARLIEST, EARLIEST_ID, LAST_ID, LAST_BYTE,
    LARGEST, HIGHEST_INDEX, NEWEST_STORED, SKEW, NEWEST_TOLD, LATEST, LATEST_ID,
) = range(16)  # fmt: skip
"""Extremes; of no meaning where the sum that counts what has such a number is 0."""
LEAST_COUNT, EXTREME_COUNT = 7, 16

FIRST_INDEXED, LAST_INDEXED, FIRST_TIMED, LAST_TIMED = range(4)
"""Places: rows, -1 for none."""
PLACE_COUNT = 4

INDEX_GAP, INDEX_OVERLAP, METADATA_CHANGE, BROKER_BACK, PUBLISH_LATE = range(5)
STEP_COUNT = 5
STEPS, SUM, FARTHEST_STEP = range(3)
"""Of each kind of step: how many, how far in sum (`FARTHEST` at most), how far the farthest is."""


@Loop
def fold_stretch(
    flags: Any, numbers: Any, is_known: bool, sums: Any, extremes: Any, places: Any, steps: Any, evidence: Any
) -> None:
    """Fold entries of one ledger in the order of its log.

    Args:
        flags: what is known of each.
        numbers: an int64[n] for each kind of number.
        is_known: whether the topic is.
        sums: int64[20], 0 before.
        extremes: int64[16], the largest number before in the first 7, in the others the smallest.
        places: int64[4], -1 before.
        steps: int64[5, 3], 0 before.
        evidence: int64[5, `MAX_EVIDENCE`], filled with the ids of the first entries of each kind.
    """
    entry_id = wire_ms = 0
    before = 0
    for row in range(len(flags)):
        flag, last_id, last_wire_ms = flags[row], entry_id, wire_ms
        entry_id, wire_ms = numbers[ENTRY_ID][row], numbers[WIRE_MS][row]
        _count(flag, numbers, row, is_known, sums)
        _widen(entry_id, numbers[END][row], numbers[LENGTH][row], extremes)
        if row:
            sums[NOT_ASCENDING] += entry_id <= last_id
            sums[JUMPS] += entry_id != last_id + 1
            sums[PUBLISH_BACKWARDS] += wire_ms < last_wire_ms
            if (flag ^ before) & METADATA:
                _step(METADATA_CHANGE, 0, entry_id, steps, evidence)
        if flag & INDEX:
            adjoins = row > 0 and before & INDEX != 0
            _take_index(flag, numbers, row, adjoins, sums, extremes, places, steps, evidence)
        if flag & BROKER:
            adjoins = row > 0 and before & BROKER != 0
            _take_broker_time(numbers, row, adjoins, sums, places, steps, evidence)
        _take_times(flag, numbers, row, sums, extremes, steps, evidence)
        before = flag


@Loop
def _take_index(
    flag: int, numbers: Any, row: int, adjoins: bool, sums: Any, extremes: Any, places: Any, steps: Any, evidence: Any
) -> None:
    indexes, ids = numbers[INDEX_NUMBER], numbers[ENTRY_ID]
    index, sound, last = indexes[row], flag & DAMAGED == 0, places[LAST_INDEXED]
    extremes[LOWEST_INDEX] = min(extremes[LOWEST_INDEX], index)
    extremes[HIGHEST_INDEX] = max(extremes[HIGHEST_INDEX], index)
    places[LAST_INDEXED] = row
    if last < 0:
        places[FIRST_INDEXED] = row
        return
    messages = 1
    if flag & BATCH and flag & TRANSACTION == 0:
        messages = max(numbers[BATCH_SIZE][row], 1)
    further = _clamped(index) - _clamped(indexes[last])
    if adjoins:
        sums[INDEX_BACKWARDS] += index <= indexes[last]
        if sound and ids[row] == ids[last] + 1 and further > messages:
            _step(INDEX_GAP, further - messages, ids[row], steps, evidence)
    again = (messages if sound else 1) - further
    if again > 0:
        _step(INDEX_OVERLAP, again, ids[row], steps, evidence)


@Loop
def _clamped(index: int) -> Any:
    return max(min(index, FARTHEST), -FARTHEST)


@Loop
def _take_broker_time(numbers: Any, row: int, adjoins: bool, sums: Any, places: Any, steps: Any, evidence: Any) -> None:
    times, last = numbers[BROKER_MS], places[LAST_TIMED]
    places[LAST_TIMED] = row
    if last < 0:
        places[FIRST_TIMED] = row
        return
    if times[last] > times[row]:
        sums[BROKER_BACKWARDS] += adjoins
        _step(BROKER_BACK, times[last] - times[row], numbers[ENTRY_ID][row], steps, evidence)


@Loop
def _take_times(flag: int, numbers: Any, row: int, sums: Any, extremes: Any, steps: Any, evidence: Any) -> None:
    entry_id, broker_ms, publish_ms = numbers[ENTRY_ID][row], numbers[BROKER_MS][row], numbers[PUBLISH_MS][row]
    is_told = flag & (MARKER | DAMAGED | PUBLISH) == PUBLISH
    if flag & (BROKER | PUBLISH):
        _store(stored_ms(flag, numbers, row), extremes)
    if flag & (BROKER | PUBLISH) == BROKER | PUBLISH:
        sums[BOTH_TIMES] += 1
        extremes[SKEW] = max(extremes[SKEW], abs(publish_ms - broker_ms))
    if is_told or flag & BROKER:
        sums[SEEK_TIMES] += 1
        _seek(stored_ms(flag, numbers, row), entry_id, extremes)
    if is_told:
        late_ms = extremes[NEWEST_TOLD] - publish_ms
        if sums[TOLD_TIMES] and late_ms > PUBLISH_TOLERANCE_MS:
            _step(PUBLISH_LATE, late_ms, entry_id, steps, evidence)
        sums[TOLD_TIMES] += 1
        _tell(publish_ms, entry_id, extremes)


@Loop
def _count(flag: int, numbers: Any, row: int, is_known: bool, sums: Any) -> None:
    message = flag & MARKER == 0
    sums[BYTES] += numbers[LENGTH][row]
    sums[NO_LENGTH] += numbers[LENGTH][row] <= 0
    sums[UUIDS] += flag & UUID != 0
    sums[DAMAGED_COUNT] += flag & DAMAGED != 0
    sums[UNCHECKED_COUNT] += flag & UNCHECKED != 0
    sums[BROKER_TIMES] += flag & BROKER != 0
    sums[PUBLISH_TIMES] += flag & PUBLISH != 0
    sums[INDEXES] += flag & INDEX != 0
    sums[STORED_TIMES] += flag & (BROKER | PUBLISH) != 0
    if message:
        sums[CHUNK_ENTRIES] += is_known and flag & (UUID | CHUNK_ID | CHUNKS) != 0
        sums[BATCHES] += flag & BATCH != 0
        # One chunk of one is a message of its own.
        if flag & CHUNKS == 0 or numbers[CHUNK_COUNT][row] <= 1:
            sums[MESSAGES] += numbers[BATCH_SIZE][row] if flag & BATCH else 1


@Loop
def _widen(entry_id: int, end: int, length: int, extremes: Any) -> None:
    extremes[FIRST_ID] = min(extremes[FIRST_ID], entry_id)
    extremes[LAST_ID] = max(extremes[LAST_ID], entry_id)
    extremes[LAST_BYTE] = max(extremes[LAST_BYTE], end)
    extremes[LARGEST] = max(extremes[LARGEST], length)


@Loop
def _store(time_ms: int, extremes: Any) -> None:
    extremes[OLDEST_STORED] = min(extremes[OLDEST_STORED], time_ms)
    extremes[NEWEST_STORED] = max(extremes[NEWEST_STORED], time_ms)


@Loop
def _seek(time_ms: int, entry_id: int, extremes: Any) -> None:
    """The earliest and the latest time, of equal ones the least id of that and the greatest of this."""
    if time_ms < extremes[EARLIEST] or (time_ms == extremes[EARLIEST] and entry_id < extremes[EARLIEST_ID]):
        extremes[EARLIEST], extremes[EARLIEST_ID] = time_ms, entry_id
    if time_ms > extremes[LATEST] or (time_ms == extremes[LATEST] and entry_id > extremes[LATEST_ID]):
        extremes[LATEST], extremes[LATEST_ID] = time_ms, entry_id


@Loop
def _tell(publish_ms: int, entry_id: int, extremes: Any) -> None:
    oldest = extremes[OLDEST_TOLD]
    if publish_ms < oldest or (publish_ms == oldest and entry_id < extremes[OLDEST_TOLD_ID]):
        extremes[OLDEST_TOLD], extremes[OLDEST_TOLD_ID] = publish_ms, entry_id
    extremes[NEWEST_TOLD] = max(extremes[NEWEST_TOLD], publish_ms)


@Loop
def _step(kind: int, far: int, entry_id: int, steps: Any, evidence: Any) -> None:
    count = steps[kind, STEPS]
    if count < MAX_EVIDENCE:
        evidence[kind, count] = entry_id
    steps[kind, STEPS] = count + 1
    steps[kind, SUM] = min(steps[kind, SUM] + min(far, FARTHEST), FARTHEST)
    steps[kind, FARTHEST_STEP] = max(steps[kind, FARTHEST_STEP], far)
