"""Writes offload objects for tests, by the format's own rules and with no code of the reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER_UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
MANAGED_LEDGER = "tenant/space/persistent/topic"


@dataclass(frozen=True)
class Offloaded:
    """A data object, its index, and where each block begins."""

    data: bytes
    index: bytes
    offsets: tuple[int, ...]
    first_ids: tuple[int, ...]
    entries: tuple[bytes, ...]


def header(length: int, first_entry_id: int) -> bytes:
    return struct.pack(">Iqqq", 0xFBDBABCB, 128, length, first_entry_id) + bytes(100)


def block_entry(entry_id: int, body: bytes) -> bytes:
    return struct.pack(">iq", len(body), entry_id) + body


def padding(length: int) -> bytes:
    return (b"\xfe\xdc\xde\xad" * (length // 4 + 1))[:length]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


CREATED_MS = 1_700_000_000_000


def metadata(
    length: int, last_entry_id: int | None, managed_ledger: str | None = MANAGED_LEDGER, created_ms: int = CREATED_MS
) -> bytes:
    """LedgerMetadataFormat of a closed ledger."""
    last = b"" if last_entry_id is None else field(4, last_entry_id)
    custom = field(11, field(1, b"application") + field(2, b"pulsar"))
    if managed_ledger is not None:
        custom += field(11, field(1, b"pulsar/managed-ledger") + field(2, managed_ledger.encode()))
    head = field(1, 1) + field(2, 1) + field(3, length) + last + field(5, 3)
    return head + field(9, 1) + field(10, created_ms) + custom


def index(data_length: int, meta: bytes, entries: Sequence[tuple[int, int, int]], header_length: int = 128) -> bytes:
    length = 32 + len(meta) + 20 * len(entries)
    head = struct.pack(">Iiqqii", 0xDE47DE47, length, data_length, header_length, len(entries), len(meta))
    return head + meta + b"".join(struct.pack(">qiq", *entry) for entry in entries)


def offload(
    bodies: Sequence[bytes],
    block_bytes: int = 1 << 26,
    managed_ledger: str | None = MANAGED_LEDGER,
    created_ms: int = CREATED_MS,
) -> Offloaded:
    """What the offloader stores of a ledger: blocks of `block_bytes`, the last one as long as it must be."""
    data, offsets, first_ids, entry_id = b"", [], [], 0
    while entry_id < len(bodies):
        left = bodies[entry_id:]
        length = min(block_bytes, 128 + 12 * len(left) + sum(map(len, left)))
        block = header(length, entry_id)
        offsets.append(len(data))
        first_ids.append(entry_id)
        while entry_id < len(bodies) and len(block) + 12 + len(bodies[entry_id]) <= length:
            block += block_entry(entry_id, bodies[entry_id])
            entry_id += 1
        data += block + padding(length - len(block))
    meta = metadata(sum(map(len, bodies)), len(bodies) - 1, managed_ledger, created_ms)
    named = [(first, part, offset) for part, (first, offset) in enumerate(zip(first_ids, offsets, strict=True), 1)]
    return Offloaded(data, index(len(data), meta, named), tuple(offsets), tuple(first_ids), tuple(bodies))
