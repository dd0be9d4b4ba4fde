"""How many bytes values take in Avro's binary encoding, at least: a writer may write a number longer than it needs.

Encoding: https://avro.apache.org/docs/1.11.1/specification/#binary-encoding
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.byte_views import run_lengths

Sizes = Callable[[pa.Array], Int64s]
"""Fewest bytes of each value of a column that pyruhvro made."""


def number_sizes(numbers: pa.Array) -> Int64s:
    """Of longs, and of ints, dates, times and enums that are read as such."""
    return _coded_sizes(np.frombuffer(numbers.buffers()[1], np.int64, len(numbers), 8 * numbers.offset))


def text_sizes(texts: pa.Array) -> Int64s:
    """Of texts: the number of their bytes, and these."""
    lengths = run_lengths(texts)
    return lengths + _coded_sizes(lengths)


def nullable_sizes(inner: Sizes | None) -> Sizes | None:
    """Of unions of null and values of such sizes: a byte for the branch, and the value if there is one."""
    if inner is None:
        return None

    def sizes(values: pa.Array) -> Int64s:
        there = inner(values)
        if values.null_count:
            there = np.where(values.is_valid().to_numpy(zero_copy_only=False), there, 0)
        return there + 1

    return sizes


def record_sizes(fields: Sequence[Sizes | None]) -> Sizes | None:
    """Of records with fields of such sizes, one after the other."""
    sizes_of = [one for one in fields if one is not None]
    if len(sizes_of) < len(fields):
        return None

    def sizes(records: pa.Array) -> Int64s:
        together = np.zeros(len(records), dtype=np.int64)
        for at, one in enumerate(sizes_of):
            together += one(records.field(at))
        return together

    return sizes


def long_bytes(number: int) -> bytes:
    """A number of at least 0 as Avro writes a long."""
    rest, coded = number << 1, bytearray()
    while rest > 0x7F:
        coded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*coded, rest])


def _coded_sizes(numbers: Int64s) -> Int64s:
    sizes = np.ones(len(numbers), dtype=np.int64)
    rest = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64) >> 7
    while rest.any():
        sizes += rest > 0
        rest = rest >> 7
    return sizes
