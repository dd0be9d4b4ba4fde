"""A hash of what all chunks of one healthy message share besides sizes and codec, for many entries at once.

It is stored, and equal for equal metadata only, but for chance (64 bits). Who changes it needs a new column: chunks of
one message may have been scanned by two versions. FNV-1a over bytes, and the finalizer of MurmurHash3 to mix numbers
(https://datatracker.ietf.org/doc/html/draft-eastlake-fnv,
https://github.com/aappleby/smhasher/blob/61a0530f28277f2e850bfc39600ce61d02b518de/src/MurmurHash3.cpp).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.chunks.shared_fields import REPLICATION_POSITION, SHARED_FIELDS
from pulsar_backlog.facts.stretch import nullable, present
from pulsar_backlog.wire.loops import Loop

DIGESTED = (*SHARED_FIELDS, "properties")
"""Columns of `entries` that a digest is made of; the order of the fields is part of the hash."""

Hashes = npt.NDArray[np.uint64]


def metadata_digests(entries: pa.RecordBatch) -> Hashes:
    """The hash of each row of `entries`. Absent and empty are two values; properties may be in any order."""
    digests = np.zeros(entries.num_rows, dtype=np.uint64)
    for number, name in enumerate(SHARED_FIELDS, start=1):
        column = entries.column(name)
        if column.null_count < len(column):
            own = mixed(digests ^ hashes_of(column) ^ np.uint64(number))
            digests = np.where(present(column), own, digests)
    return mixed(digests ^ properties_hashes(entries.column("properties")))


def properties_hashes(column: pa.MapArray, prefix: str | None = None) -> Hashes:
    """The sum of the hashes of each row's pairs, but for the replicator's and those that begin with `prefix`."""
    if column.null_count == len(column):
        return np.zeros(len(column), dtype=np.uint64)
    offsets = column.offsets.to_numpy().astype(np.int64)
    keys, items = (part[offsets[0] : offsets[-1]] for part in (column.keys, column.items))
    pairs = mixed(hashes_of(keys) * np.uint64(31) ^ hashes_of(items))
    pairs[pc.equal(keys, REPLICATION_POSITION).to_numpy(zero_copy_only=False)] = 0
    if prefix is not None:
        pairs[pc.starts_with(keys, prefix).to_numpy(zero_copy_only=False)] = 0
    sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(pairs, dtype=np.uint64)))
    ends = offsets - offsets[0]
    of_rows: Hashes = sums[ends[1:]] - sums[ends[:-1]]
    return of_rows


def hashes_of(column: pa.Array) -> Hashes:
    """The hash of each value; those of nulls mean nothing."""
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        numbers = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
        return mixed(nullable(numbers).values.view(np.uint64) + np.uint64(1))
    _, offsets, data = column.buffers()
    hashes = np.empty(len(column), dtype=np.uint64)
    starts = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    _hash_runs(np.frombuffer(data or b"", dtype=np.uint8), starts, hashes)
    return hashes


def mixed(hashes: Hashes) -> Hashes:
    """Numbers that differ in any bit become numbers that differ in half of them."""
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return hashes ^ (hashes >> np.uint64(33))


@Loop
def _hash_runs(data: Any, starts: Any, hashes: Any) -> None:
    """FNV-1a of `data[starts[i]:starts[i + 1]]` into `hashes[i]`."""
    for row in range(len(hashes)):
        digest = np.uint64(0xCBF29CE484222325)
        for at in range(starts[row], starts[row + 1]):
            digest = (digest ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        hashes[row] = digest
