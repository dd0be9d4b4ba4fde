"""Ledgers that were read out of BookKeeper into a file: records of entry length, entry id and bytes.

    [ length i32 ][ entry id i64 ][ length bytes ]   one after another, numbers big-endian

As entries stand in a block of an offloaded ledger, without what lies around them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pulsar_backlog.errors import UsageError

MAX_ENTRY_BYTES = 256 * 1024 * 1024
"""No broker stores a larger entry: a length above it is damage."""

_HEAD = struct.Struct(">iq")


@dataclass(frozen=True)
class Dumped:
    """One record: its place in the file and the entry; `entry` is None where the rest of the file cannot be read."""

    offset: int
    entry_id: int
    entry: bytes | None


def read_dump(path: Path) -> Iterator[Dumped]:
    """The records of a dump in order; one without bytes ends a file that is cut off or damaged.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            offset = 0
            while head := file.read(_HEAD.size):
                length, entry_id = _HEAD.unpack(head) if len(head) == _HEAD.size else (-1, -1)
                entry = file.read(length) if 0 <= length <= MAX_ENTRY_BYTES else b""
                if length < 0 or len(entry) != length:
                    yield Dumped(offset, entry_id, None)
                    return
                yield Dumped(offset, entry_id, entry)
                offset += _HEAD.size + length
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
