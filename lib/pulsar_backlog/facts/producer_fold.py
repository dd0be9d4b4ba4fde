"""The compiled loop over the entries of a stretch: sums, times and places of each producer. No object per entry."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.facts.entry_numbers import (
    BATCH,
    BATCH_SIZE,
    BROKER,
    BROKER_MS,
    CHUNK,
    CHUNK_COUNT,
    CHUNK_ID,
    CHUNKS,
    DAMAGED,
    LENGTH,
    MARKER,
    PAYLOAD_LENGTH,
    PAYLOAD_OFFSET,
    PUBLISH,
    PUBLISH_MS,
    REPLICATED,
    stored_ms,
)
from pulsar_backlog.wire.loops import Loop

ENTRIES, MARKERS, CHUNK_ENTRIES, SINGLES, SINGLE_BYTES, BATCHES, BATCHED, BYTES, CHUNK_BYTES, LARGEST = range(10)
"""Sums of each producer, and the bytes of its largest entry."""
SUM_COUNT = 10

FIRST_MS, LAST_MS, FIRST_CHUNK_MS, LAST_CHUNK_MS = range(4)
"""Times of each producer."""

FIRST, LAST_ENTRY, LAST, LAST_MESSAGE, HEADER, SLICE, AHEAD = range(7)
"""Places of each producer: rows, -1 for none; `LAST` is the last undamaged message."""
PLACE_COUNT = 7


@Loop
def fold_producers(codes: Any, flags: Any, numbers: Any, sums: Any, times: Any, places: Any) -> None:
    """Fold entries into their producers.

    Args:
        codes: producer of each entry.
        flags: what is known of each.
        numbers: an int64[n] for each kind of number.
        sums: int64[producers, 10], 0 before.
        times: int64[producers, 4], the first ones the largest number before, the last ones the smallest.
        places: int64[producers, 7], -1 before.
    """
    for row in range(len(codes)):
        one, flag = codes[row], flags[row]
        message, sound = flag & MARKER == 0, flag & DAMAGED == 0
        chunk = message and flag & CHUNKS != 0 and numbers[CHUNK_COUNT][row] > 1
        _add(sums[one], numbers, row, flag, chunk)
        if sound and flag & (BROKER | PUBLISH):
            time_ms = stored_ms(flag, numbers, row)
            times[one, FIRST_MS] = min(times[one, FIRST_MS], time_ms)
            times[one, LAST_MS] = max(times[one, LAST_MS], time_ms)
            if chunk:
                times[one, FIRST_CHUNK_MS] = min(times[one, FIRST_CHUNK_MS], time_ms)
                times[one, LAST_CHUNK_MS] = max(times[one, LAST_CHUNK_MS], time_ms)
        if places[one, FIRST] < 0:
            places[one, FIRST] = row
        places[one, LAST_ENTRY] = row
        if message:
            places[one, LAST_MESSAGE] = row
            if sound:
                places[one, LAST] = row
        if chunk and sound:
            _largest_chunk(places[one], numbers, row, flag)
        # The message that came fastest tells most about the clock: queues and replication only add to its age.
        if flag & (MARKER | DAMAGED | REPLICATED | BROKER | PUBLISH) == BROKER | PUBLISH:
            best = places[one, AHEAD]
            if best < 0 or _ahead_ms(numbers, row) >= _ahead_ms(numbers, best):
                places[one, AHEAD] = row


@Loop
def _ahead_ms(numbers: Any, row: int) -> Any:
    return numbers[PUBLISH_MS][row] - numbers[BROKER_MS][row]


@Loop
def _add(sums: Any, numbers: Any, row: int, flag: int, chunk: bool) -> None:
    sums[ENTRIES] += 1
    sums[BYTES] += numbers[LENGTH][row]
    sums[LARGEST] = max(sums[LARGEST], numbers[LENGTH][row])
    if flag & MARKER:
        sums[MARKERS] += 1
        return
    if chunk:
        sums[CHUNK_ENTRIES] += 1
        sums[CHUNK_BYTES] += numbers[PAYLOAD_LENGTH][row]
    if flag & BATCH:
        sums[BATCHES] += 1
        sums[BATCHED] += numbers[BATCH_SIZE][row]
    elif flag & CHUNKS == 0:
        sums[SINGLES] += 1
        sums[SINGLE_BYTES] += numbers[PAYLOAD_LENGTH][row]


@Loop
def _largest_chunk(places: Any, numbers: Any, row: int, flag: int) -> None:
    """Note an undamaged chunk where its header or its slice is the largest yet; of equal ones the last counts."""
    headers, payloads, lengths = numbers[PAYLOAD_OFFSET], numbers[PAYLOAD_LENGTH], numbers[LENGTH]
    best = places[HEADER]
    if best < 0 or headers[row] >= headers[best]:
        places[HEADER] = row
    # A full slice: those before the last are all as large as the producer may make them.
    if flag & CHUNK_ID == 0 or numbers[CHUNK][row] >= numbers[CHUNK_COUNT][row] - 1:
        return
    best, payload = places[SLICE], payloads[row]
    if best < 0 or payload > payloads[best] or (payload == payloads[best] and lengths[row] >= lengths[best]):
        places[SLICE] = row
