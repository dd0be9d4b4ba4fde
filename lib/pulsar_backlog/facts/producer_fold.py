"""The compiled loop over the entries of a stretch: sums, times and places of each producer. No object per entry."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.wire.loops import Loop

MARKER, DAMAGED, BATCH, CHUNKS, TIMED, OWN = (1 << bit for bit in range(6))
"""What is known of an entry: a marker; damaged; says a batch's or a message's chunks' number; has a time of storing;
has both clocks of an undamaged message that was not replicated."""

LENGTH, PAYLOAD_LENGTH, PAYLOAD_OFFSET, BATCH_SIZE, NUM_CHUNKS, CHUNK_ID, STORED_MS, AHEAD_MS = range(8)
"""Numbers of each entry."""

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
        numbers: int64[8, n], what each says.
        sums: int64[producers, 10], 0 before.
        times: int64[producers, 4], the first ones the largest number before, the last ones the smallest.
        places: int64[producers, 7], -1 before.
    """
    for row in range(len(codes)):
        one, flag = codes[row], flags[row]
        message = flag & MARKER == 0
        sound = flag & DAMAGED == 0
        chunk = message and flag & CHUNKS != 0 and numbers[NUM_CHUNKS, row] > 1
        _add(sums[one], numbers[:, row], flag, message, chunk)
        if sound and flag & TIMED:
            stored_ms = numbers[STORED_MS, row]
            times[one, FIRST_MS] = min(times[one, FIRST_MS], stored_ms)
            times[one, LAST_MS] = max(times[one, LAST_MS], stored_ms)
            if chunk:
                times[one, FIRST_CHUNK_MS] = min(times[one, FIRST_CHUNK_MS], stored_ms)
                times[one, LAST_CHUNK_MS] = max(times[one, LAST_CHUNK_MS], stored_ms)
        if places[one, FIRST] < 0:
            places[one, FIRST] = row
        places[one, LAST_ENTRY] = row
        if message:
            places[one, LAST_MESSAGE] = row
            if sound:
                places[one, LAST] = row
        if chunk and sound:
            _largest_chunk(places[one], numbers, row)
        best = places[one, AHEAD]
        if flag & OWN and (best < 0 or numbers[AHEAD_MS, row] >= numbers[AHEAD_MS, best]):
            places[one, AHEAD] = row


@Loop
def _add(sums: Any, numbers: Any, flag: int, message: bool, chunk: bool) -> None:
    sums[ENTRIES] += 1
    sums[BYTES] += numbers[LENGTH]
    sums[LARGEST] = max(sums[LARGEST], numbers[LENGTH])
    if not message:
        sums[MARKERS] += 1
        return
    if chunk:
        sums[CHUNK_ENTRIES] += 1
        sums[CHUNK_BYTES] += numbers[PAYLOAD_LENGTH]
    if flag & BATCH:
        sums[BATCHES] += 1
        sums[BATCHED] += numbers[BATCH_SIZE]
    elif flag & CHUNKS == 0:
        sums[SINGLES] += 1
        sums[SINGLE_BYTES] += numbers[PAYLOAD_LENGTH]


@Loop
def _largest_chunk(places: Any, numbers: Any, row: int) -> None:
    """Note an undamaged chunk where its header or its slice is the largest yet; of equal ones the last counts."""
    best = places[HEADER]
    if best < 0 or numbers[PAYLOAD_OFFSET, row] >= numbers[PAYLOAD_OFFSET, best]:
        places[HEADER] = row
    # A full slice: those before the last are all as large as the producer may make them.
    if numbers[CHUNK_ID, row] >= numbers[NUM_CHUNKS, row] - 1:
        return
    best, payload = places[SLICE], numbers[PAYLOAD_LENGTH, row]
    if (
        best < 0
        or payload > numbers[PAYLOAD_LENGTH, best]
        or (payload == numbers[PAYLOAD_LENGTH, best] and numbers[LENGTH, row] >= numbers[LENGTH, best])
    ):
        places[SLICE] = row
