"""The digests of records that are checksums, CRC-32C and CRC-32, compiled. To import this loads numba.

Once a record of a window has failed, sums of the window are made: then the digest of any stretch of it costs the same,
however long the stretch says that it is, and a search for records takes time by the window's bytes alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.ledgers.bookies.kernel import CRC32, CRC32C, META_BYTES, SIZE_BYTES, UNPROVED
from pulsar_backlog.wire.big_endian import i32
from pulsar_backlog.wire.jit import compiled, crc32c

SUM_BYTES = 64
"""Bytes of a window between two of its sums."""

_CASTAGNOLI, _IEEE = np.uint32(0x82F63B78), np.uint32(0xEDB88320)
_LENGTH_BITS = 32
_i32 = i32.compiled


@compiled
def _joined(crc: int, second: int, length: int, zeros: Any) -> int:
    """CRC of two pieces from the CRC of each and the length of the second one; or of the second from that of both."""
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


def _byte_table(polynomial: np.uint32) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """What a byte makes of a CRC register."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & np.uint32(1), polynomial, np.uint32(0))
    return table


def _zero_tables(polynomial: np.uint32) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Table k: what 2**k zero bytes make of a CRC register, by each of its bytes."""
    registers = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]
    for _ in range(8):
        registers = (registers >> np.uint32(1)) ^ np.where(registers & np.uint32(1), polynomial, np.uint32(0))
    tables = [registers]
    for _ in range(_LENGTH_BITS - 1):
        last, half = tables[-1], np.zeros_like(registers)
        for k in range(4):
            half ^= last[k][(last >> np.uint32(8 * k)) & np.uint32(0xFF)]
        tables.append(half)
    return np.array(tables)


_TABLE = _byte_table(_IEEE)
_ZEROS_C, _ZEROS = _zero_tables(_CASTAGNOLI), _zero_tables(_IEEE)


@compiled
def crc32(buffer: Any, start: int, end: int) -> int:
    """CRC-32 of `buffer[start:end]`."""
    register = np.uint32(0xFFFFFFFF)
    for at in range(start, end):
        register = (register >> np.uint32(8)) ^ _TABLE[(register ^ buffer[at]) & np.uint32(0xFF)]
    return int(np.uint32(~register))


@compiled
def fill_sums(buffer: Any, sums: Any) -> None:
    """The CRC-32C and the CRC-32 of the first `k * SUM_BYTES` bytes of `buffer`, into the columns k of two rows."""
    sums[0, 0] = sums[1, 0] = 0
    for k in range(buffer.size // SUM_BYTES):
        at = k * SUM_BYTES
        sums[0, k + 1] = _joined(sums[0, k], crc32c(buffer, at, at + SUM_BYTES), SUM_BYTES, _ZEROS_C)
        sums[1, k + 1] = _joined(sums[1, k], crc32(buffer, at, at + SUM_BYTES), SUM_BYTES, _ZEROS)


@compiled
def _summed_c(buffer: Any, start: int, end: int, sums: Any) -> int:
    """CRC-32C of `buffer[start:end]`, from the sums of the buffer."""
    a, b = start // SUM_BYTES, end // SUM_BYTES
    before = _joined(sums[0, a], crc32c(buffer, a * SUM_BYTES, start), start - a * SUM_BYTES, _ZEROS_C)
    both = _joined(sums[0, b], crc32c(buffer, b * SUM_BYTES, end), end - b * SUM_BYTES, _ZEROS_C)
    return int(_joined(before, both, end - start, _ZEROS_C))


@compiled
def _summed(buffer: Any, start: int, end: int, sums: Any) -> int:
    """CRC-32 of `buffer[start:end]`, from the sums of the buffer."""
    a, b = start // SUM_BYTES, end // SUM_BYTES
    before = _joined(sums[1, a], crc32(buffer, a * SUM_BYTES, start), start - a * SUM_BYTES, _ZEROS)
    both = _joined(sums[1, b], crc32(buffer, b * SUM_BYTES, end), end - b * SUM_BYTES, _ZEROS)
    return int(_joined(before, both, end - start, _ZEROS))


@compiled
def quick_proof(buffer: Any, at: int, size: int) -> int:
    """`CRC32C` where the record at `at` carries the CRC-32C of its bytes, else `UNPROVED`; it lies in `buffer`."""
    if size < META_BYTES + 4:
        return UNPROVED
    start, end = at + SIZE_BYTES, at + SIZE_BYTES + size
    digest = start + META_BYTES
    length = end - digest - 4
    whole = _joined(crc32c(buffer, start, digest), crc32c(buffer, digest + 4, end), length, _ZEROS_C)
    return CRC32C if whole == _i32(buffer, digest) & 0xFFFFFFFF else UNPROVED


@compiled
def summed_proof(buffer: Any, at: int, size: int, sums: Any) -> int:
    """Which digest the record at `at` carries, by the sums of `buffer`: `CRC32C`, `CRC32`, or `UNPROVED`."""
    if size < META_BYTES + 4:
        return UNPROVED
    start, end = at + SIZE_BYTES, at + SIZE_BYTES + size
    digest = start + META_BYTES
    first = _i32(buffer, digest) & 0xFFFFFFFF
    whole = _joined(crc32c(buffer, start, digest), _summed_c(buffer, digest + 4, end, sums), end - digest - 4, _ZEROS_C)
    if whole == first:
        return CRC32C
    if size < META_BYTES + 8 or first:
        return UNPROVED
    whole = _joined(crc32(buffer, start, digest), _summed(buffer, digest + 8, end, sums), end - digest - 8, _ZEROS)
    return CRC32 if whole == _i32(buffer, digest + 4) & 0xFFFFFFFF else UNPROVED
