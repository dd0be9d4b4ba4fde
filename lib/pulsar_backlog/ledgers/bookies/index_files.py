"""The index of InterleavedLedgerStorage and SortedLedgerStorage: a file for each ledger.

```
[ BKLE ][ version i32 ][ n i32 ][ master key, n bytes ][ state i32 ][ … zeros to 1024 ] location of entry 0 i64, of 1, …
  0       4              8        12
```
State 1 is fenced. A location has the entry log in its upper half, and in its lower half the place behind the record's
size; 0 where the bookie has no such entry.

Source: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/FileInfo.java
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.bookies.names import ledger_of_file
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.wire.arrays import Int64s

THREADS = 8
_HEADER_BYTES, _LOCATION_BYTES = 1024, 8
_STEP_BYTES = 1024 * 1024
_HEAD, _STATE = struct.Struct(">4sii"), struct.Struct(">i")
_NEWEST = 1
_FENCED = 1


def read_index_files(source: Source, files: Sequence[StoredObject]) -> tuple[Int64s, set[int], list[str]]:
    """Rows as `index.COLUMNS`, fenced ledgers, and why some files were not read."""
    rows, fenced, notes = [], set(), []
    with ThreadPoolExecutor(THREADS) as pool:
        for one, read in zip(files, pool.map(partial(_read, source), files), strict=True):
            if isinstance(read, str):
                notes.append(f"{one.path} was not read: {read}")
                continue
            row, is_fenced = read
            rows += [row] if row else []
            fenced |= {ledger_of_file(one.path.rpartition("/")[2]) or 0} if is_fenced else set()
    return np.array(rows, dtype=np.int64).reshape(-1, 5), fenced, notes


def _read(source: Source, stored: StoredObject) -> tuple[tuple[int, ...] | None, bool] | str:
    """The row of a ledger, None where no entry of it is named, and whether it is fenced; or why that cannot be read."""
    ledger = ledger_of_file(stored.path.rpartition("/")[2])
    try:
        header = source.read(stored.path, 0, _HEADER_BYTES).tobytes()
        if len(header) < _HEAD.size:
            return None, False  # the bookie died before it wrote the header
        magic, version, key_bytes = _HEAD.unpack_from(header)
        if magic != b"BKLE" or version > _NEWEST or not 0 <= key_bytes <= _HEADER_BYTES - _HEAD.size - _STATE.size:
            return "it does not begin as an index does"
        (state,) = _STATE.unpack_from(header.ljust(_HEADER_BYTES, b"\0"), _HEAD.size + key_bytes)
        count = max(0, stored.size - _HEADER_BYTES) // _LOCATION_BYTES
        starts = range(0, count, _STEP_BYTES // _LOCATION_BYTES)
        first = next(_named(source, stored.path, starts, count, 0), None)
        if first is None:
            return None, bool(state & _FENCED)
        last = next(_named(source, stored.path, reversed(starts), count, -1))
    except SourceError as error:
        return str(error)
    return (ledger or 0, first[0], last[0], first[1], last[1]), bool(state & _FENCED)


def _named(
    source: Source, path: str, starts: Iterator[int] | range, count: int, which: int
) -> Iterator[tuple[int, int]]:
    """Of each part of a file the first or last entry that has a location, with that."""
    for start in starts:
        end = min(count, start + _STEP_BYTES // _LOCATION_BYTES)
        part = source.read(path, _HEADER_BYTES + _LOCATION_BYTES * start, _HEADER_BYTES + _LOCATION_BYTES * end)
        locations = part[: part.size // _LOCATION_BYTES * _LOCATION_BYTES].view(">i8")
        entries = np.flatnonzero(locations)
        if len(entries):
            at = int(entries[which])
            yield start + at, int(locations[at])
