"""An encoder of entries, written for tests only: it shares no code with the readers."""

from __future__ import annotations

import struct

import google_crc32c


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def run(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def pair(key: bytes, value: bytes) -> bytes:
    return run(4, run(1, key) + run(2, value))


REQUIRED = run(1, b"p") + number(2, 0) + number(3, 1000)


def entry(
    metadata: bytes = REQUIRED, payload: bytes = b"hi", *, broker: bytes | None = None, checksum: bool = True
) -> bytes:
    covered = struct.pack(">I", len(metadata)) + metadata + payload
    head = b"" if broker is None else struct.pack(">HI", 0x0E02, len(broker)) + broker
    if checksum:
        head += struct.pack(">HI", 0x0E01, google_crc32c.value(covered))
    return head + covered
