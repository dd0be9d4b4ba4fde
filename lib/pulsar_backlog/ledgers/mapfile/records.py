"""Records of a SequenceFile that is not in blocks: values as they are, or each compressed by itself.

```
record  [ length i32 ][ key length i32 = 8 ][ key: i64 ][ value, length - 8 bytes ]
value   [ n i32 ][ n bytes ], compressed as a whole where records are compressed
```

Source: https://github.com/apache/hadoop/blob/02c6d7d36b48a4c1d80dadec25e70b15eecab63b/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/io/SequenceFile.java
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.blocks import MAX_BLOCK_BYTES, Records
from pulsar_backlog.ledgers.mapfile.codecs import inflate
from pulsar_backlog.ledgers.mapfile.header import Header
from pulsar_backlog.ledgers.mapfile.reading import Window
from pulsar_backlog.wire.arrays import Bytes, Int64s

MAX_RUN_RECORDS = 1 << 16
"""Records looked at together at most."""


@dataclass(frozen=True, slots=True)
class Run:
    """Records that follow each other, as they are stored.

    Attributes:
        keys: of each.
        places: first byte of each in the file.
        starts: first byte of each value in the file.
        lengths: bytes of each value.
        reason: why the run ends, one of the kernel's.
        end: where it ends in the file.
        needed: bytes from there on that the next record takes, where the window ends before.
    """

    keys: Int64s
    places: Int64s
    starts: Int64s
    lengths: Int64s
    reason: int
    end: int
    needed: int


def read_run(header: Header, window: Window, position: int) -> Run:
    """The records from `position` on, as far as the window has them."""
    keys, places, starts, lengths = (np.empty(MAX_RUN_RECORDS, dtype=np.int64) for _ in range(4))
    state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
    state[kernel.POSITION] = position - window.base
    sync = np.frombuffer(header.sync, dtype=np.uint8)
    end = window.end - window.base
    kernel.walk_records(window.buffer, end, sync, MAX_BLOCK_BYTES, state, places, keys, starts, lengths)
    stop, n, reason, needed = state.tolist()
    base = window.base
    return Run(keys[:n], places[:n] + base, starts[:n] + base, lengths[:n], reason, base + stop, needed)


def settled(run: Run) -> Run:
    """The run without its last records, where those that follow them in the next window say what their keys mean."""
    if run.reason != kernel.NEED_MORE or len(run.keys) < 2:
        return run
    tail = max(len(run.keys) - kernel.LOOK_AHEAD, 1)
    breaks = np.flatnonzero(run.keys[tail:] != run.keys[tail - 1 : -1] + 1)
    if not breaks.size:
        return run
    n = tail + int(breaks[0])
    end = int(run.places[n])
    needed = run.end + run.needed - end  # with what did not find room
    return Run(run.keys[:n], run.places[:n], run.starts[:n], run.lengths[:n], run.reason, end, needed)


def open_run(header: Header, window: Window, run: Run) -> Iterator[tuple[slice, Records]]:
    """The records of a run, decompressed, with the part of the run that they are; about `WINDOW_BYTES` at once."""
    starts = run.starts - window.base
    if not len(run.keys):
        return
    if header.codec is None:
        yield slice(0, len(run.keys)), _records(run.keys, window.buffer, starts, run.lengths, run.places, {})
        return
    view = window.buffer.data
    bounds = list(zip(starts.tolist(), (starts + run.lengths).tolist(), strict=True))
    first = 0
    while first < len(bounds):
        values: list[Bytes] = []
        damaged: dict[int, str] = {}
        size = 0
        for start, end in bounds[first:]:
            value, fault = inflate(header.codec, view[start:end], MAX_BLOCK_BYTES)
            if fault:
                damaged[len(values)] = fault
            values.append(value)
            size += value.size
            if size >= WINDOW_BYTES:
                break
        chosen = slice(first, first + len(values))
        lengths = np.fromiter((value.size for value in values), np.int64, len(values))
        buffer = np.concatenate(values)
        yield (
            chosen,
            _records(run.keys[chosen], buffer, lengths.cumsum() - lengths, lengths, run.places[chosen], damaged),
        )
        first = chosen.stop


def _records(
    keys: Int64s, buffer: Bytes, starts: Int64s, lengths: Int64s, places: Int64s, damaged: dict[int, str]
) -> Records:
    """Records whose values lie at `starts`; of a damaged one there may be less than it says."""
    head = kernel.LENGTH_BYTES
    counts = np.full(len(keys), -1, dtype=np.int64)
    there = np.flatnonzero(lengths >= head)
    heads = np.empty(len(there), dtype=np.int64)
    kernel.read_counts(buffer, starts[there], heads)
    counts[there] = heads
    bodies = lengths - head
    faults = []
    for at in np.flatnonzero(counts != bodies).tolist():
        if at not in damaged:
            expected = f"{max(int(bodies[at]), 0)} bytes"
            faults.append(_fault("record_bad_length", buffer, starts, at, places, expected, str(int(counts[at]))))
    for at, fault in damaged.items():
        faults.append(_fault("record_damaged", buffer, starts, at, places, "a value", fault))
        bodies[at] = counts[at] if 0 <= counts[at] <= bodies[at] else -1
    return Records(keys, buffer, starts + head, bodies, np.full(len(keys), head), tuple(faults))


def _fault(code: str, buffer: Bytes, starts: Int64s, at: int, places: Int64s, expected: str, found: str) -> Fault:
    place, start = int(places[at]), int(starts[at])
    context = buffer[start : start + CONTEXT_BYTES].tobytes()
    return Fault(code, place, place, 0, "record.value", expected, found, context)
