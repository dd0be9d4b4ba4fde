"""Compiling the kernel: numba settings, unaligned loads, and CRC-32C in machine instructions.

CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, initial value and final XOR all ones) is one instruction on
x86 with SSE4.2; elsewhere eight tables do it. google-crc32c is the oracle of both in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_POLYNOMIAL = 0x82F63B78
_STRIPE_BYTES = 256
"""The instruction's result comes three clock ticks later, but one can begin each tick: three stripes run abreast."""
_IS_FILE = Path(__file__).exists()
"""Numba caches compiled code beside the module; inside a zip there is no beside, so it compiles anew (seconds)."""

_OPTIONS: dict[str, Any] = {"nogil": True, "boundscheck": False, "forceinline": True, "_nrt": False}

HAS_CRC_INSTRUCTION = "x86_64" in binding.get_default_triple() and bool(
    binding.get_host_cpu_features().get("sse4.2", False)
)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile for this machine, without the interpreter lock, cached on disk where that is possible.

    Into its callers, too: a call hands over each array as seven words. None counts references to its arrays, which cost
    half of the time of reading an entry: who calls a loop holds its arrays, and no loop makes one.
    """
    return njit(function, cache=_IS_FILE, **_OPTIONS)


@intrinsic
def load_u64(_context: Any, _buffer: Any, _offset: Any) -> Any:
    """The eight bytes of `buffer` (uint8 array) at `offset`, little-endian, however they are aligned."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        address = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [args[1]])
        return builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(_buffer, types.int64), generate


@intrinsic
def _store_u64(_context: Any, _buffer: Any, _offset: Any, _word: Any) -> Any:
    """Write eight bytes to `buffer` at `offset`, little-endian, however they are aligned."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        address = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [args[1]])
        builder.store(args[2], builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(_buffer, types.int64, types.uint64), generate


@intrinsic
def _crc_instruction(_context: Any, _crc: Any, _data: Any) -> Any:
    """Eight more bytes into a CRC-32C, by SSE4.2."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, word]), "llvm.x86.sse42.crc32.64.64"
        )
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), generate


def _tables() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Eight tables: table k advances a byte over k zero bytes more."""
    tables = np.zeros((8, 256), dtype=np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = (tables[k - 1] >> 8) ^ tables[0][tables[k - 1] & 0xFF]
    return tables


_TABLES = _tables()


def _stripe_tables() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """What a stripe of zero bytes makes of a CRC register: table k for the register's byte k."""
    registers = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]
    for _ in range(_STRIPE_BYTES):
        registers = (registers >> np.uint32(8)) ^ _TABLES[0][registers & np.uint32(0xFF)]
    return registers


_AFTER_STRIPE = _stripe_tables()


@compiled
def crc32c_by_tables(buffer: Any, start: int, end: int) -> int:
    """CRC-32C of `buffer[start:end]`, on any machine."""
    crc = np.uint32(0xFFFFFFFF)
    position = start
    while position + 8 <= end:
        word = load_u64(buffer, position) ^ np.uint64(crc)
        crc = np.uint32(0)
        for k in range(8):
            crc ^= _TABLES[7 - k, (word >> np.uint64(8 * k)) & np.uint64(0xFF)]
        position += 8
    while position < end:
        crc = (crc >> np.uint32(8)) ^ _TABLES[0, (crc ^ buffer[position]) & np.uint32(0xFF)]
        position += 1
    return np.int64(np.uint32(~crc))


@compiled
def _after_stripe(crc: Any) -> Any:
    """The register after a stripe of zero bytes; so registers of neighbouring stripes become one by XOR."""
    low = _AFTER_STRIPE[0, crc & np.uint64(0xFF)] ^ _AFTER_STRIPE[1, (crc >> np.uint64(8)) & np.uint64(0xFF)]
    high = _AFTER_STRIPE[2, (crc >> np.uint64(16)) & np.uint64(0xFF)] ^ _AFTER_STRIPE[3, crc >> np.uint64(24)]
    return np.uint64(low ^ high)


@compiled
def _crc32c_by_instruction(buffer: Any, start: int, end: int) -> int:
    crc = np.uint64(0xFFFFFFFF)
    position = start
    while position + 3 * _STRIPE_BYTES <= end:
        second, third = np.uint64(0), np.uint64(0)
        for at in range(position, position + _STRIPE_BYTES, 8):
            crc = _crc_instruction(crc, load_u64(buffer, at))
            second = _crc_instruction(second, load_u64(buffer, at + _STRIPE_BYTES))
            third = _crc_instruction(third, load_u64(buffer, at + 2 * _STRIPE_BYTES))
        crc = _after_stripe(_after_stripe(crc) ^ second) ^ third
        position += 3 * _STRIPE_BYTES
    while position + 8 <= end:
        crc = _crc_instruction(crc, load_u64(buffer, position))
        position += 8
    tail = np.uint32(crc)
    while position < end:
        tail = (tail >> np.uint32(8)) ^ _TABLES[0, (tail ^ buffer[position]) & np.uint32(0xFF)]
        position += 1
    return np.int64(np.uint32(~tail))


crc32c = _crc32c_by_instruction if HAS_CRC_INSTRUCTION else crc32c_by_tables
"""CRC-32C of `buffer[start:end]` (uint8 array) as an unsigned number; the caller keeps start and end inside."""


@compiled
def copy_bytes(source: Any, start: int, target: Any, at: int, length: int) -> None:
    """Copy `length` bytes of `source` from `start` into `target` at `at`; both have room for them.

    Metadata runs are short: eight bytes at a time beats a call of memcpy, and nothing outside the runs is touched.
    """
    done = 0
    while done + 8 <= length:
        _store_u64(target, at + done, load_u64(source, start + done))
        done += 8
    while done < length:
        target[at + done] = source[start + done]
        done += 1
