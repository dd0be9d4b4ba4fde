"""CRC-32C of many records at once, compiled. To import this loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.jit import compiled, crc32c

_META = 32
_POLYNOMIAL = np.uint32(0x82F63B78)
_LENGTH_BITS = 32


@compiled
def _joined(crc: int, second: int, length: int, zeros: Any) -> int:
    """CRC-32C of two pieces from the CRC of each and the length of the second one."""
    register = np.uint32(crc)
    bit = 0
    while length:
        if length & 1:
            register = (
                zeros[bit, 0, register & np.uint32(0xFF)]
                ^ zeros[bit, 1, (register >> np.uint32(8)) & np.uint32(0xFF)]
                ^ zeros[bit, 2, (register >> np.uint32(16)) & np.uint32(0xFF)]
                ^ zeros[bit, 3, register >> np.uint32(24)]
            )
        length >>= 1
        bit += 1
    return int(np.uint32(register ^ np.uint32(second)))


def _zero_tables() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Table k: what 2**k zero bytes make of a CRC register, by each of its bytes."""
    registers = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]
    for _ in range(8):
        registers = (registers >> np.uint32(1)) ^ np.where(registers & 1, _POLYNOMIAL, np.uint32(0))
    tables = [registers]
    for _ in range(_LENGTH_BITS - 1):
        last, half = tables[-1], np.zeros_like(registers)
        for k in range(4):
            half ^= last[k][(last >> np.uint32(8 * k)) & np.uint32(0xFF)]
        tables.append(half)
    return np.array(tables)


_ZEROS = _zero_tables()


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
