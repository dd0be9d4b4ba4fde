"""CRC-32C of many records at once, compiled. To import this loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.jit import compiled, crc32c

_META = 32


@compiled
def _joined(crc: int, second: int, length: int, zeros: Any) -> int:
    """CRC-32C of two pieces from the CRC of each and the length of the second one."""
    register = np.uint32(crc)
    bit = 0
    while length:
        if length & 1:
            product = np.uint32(0)
            for i in range(32):
                if register & (np.uint32(1) << np.uint32(i)):
                    product ^= zeros[bit, i]
            register = product
        length >>= 1
        bit += 1
    return int(np.uint32(register ^ np.uint32(second)))


def _zero_operators() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Row k: what 2**k zero bytes make of each bit of a CRC register."""
    byte = np.empty(32, dtype=np.uint64)
    for i in range(32):
        register = 1 << i
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
        byte[i] = register
    rows = [byte]
    for _ in range(31):
        last = rows[-1]
        rows.append(np.array([_apply(last, int(column)) for column in last], dtype=np.uint64))
    return np.array(rows).astype(np.uint32)


def _apply(operator: Any, register: int) -> int:
    result = 0
    for i in range(32):
        if register >> i & 1:
            result ^= int(operator[i])
    return result


_ZEROS = _zero_operators()


@compiled
def agreeing(buffer: Any, places: Any, sizes: Any, found: Any) -> None:
    """Which records carry the CRC-32C of their metadata and payload; a record begins with its size."""
    for i in range(places.size):
        start, end = places[i] + 4, places[i] + 4 + sizes[i]
        if sizes[i] < _META + 4:
            continue
        at = start + _META
        stored = (
            (np.int64(buffer[at]) << 24)
            | (np.int64(buffer[at + 1]) << 16)
            | (np.int64(buffer[at + 2]) << 8)
            | np.int64(buffer[at + 3])
        )
        head = crc32c(buffer, start, at)
        body = crc32c(buffer, at + 4, end)
        found[i] = _joined(head, body, end - at - 4, _ZEROS) == stored
