"""How an entry log or a journal of a bookie begins.

```
entry log  [ BKLO ][ version i32 ][ offset of the ledgers map i64 ][ ledgers i32 ][ zeros to 1024 ]
             0       4              8                                16
journal    [ BKLG ][ version i32 ][ zeros to 512 from version 5 on ]
             0       4
```
Version 0 of an entry log has no ledgers map, version 1 has one at its end, or 0 for its offset where it was not closed.
What is written by direct I/O has a record of no ledger from 1024 to 4096, so that all readers begin at 1024. A journal
of version 1 has no header at all; versions 2 to 4 have the first 8 bytes of it.

The map, whose records look like all others, says which ledgers the file holds, and how many bytes of each:
`[ size i32 ][ -1 i64 ][ -2 i64 ][ n i32 ]`, n times `[ ledger id i64 ][ bytes i64 ]`.

Sources: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/DefaultEntryLogger.java
https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/JournalChannel.java
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.bookies.names import Role
from pulsar_backlog.ledgers.store import Source

ENTRY_LOG_MAGIC, JOURNAL_MAGIC = b"BKLO", b"BKLG"
HEADER_BYTES = 20
ENTRY_LOG_START = 1024
MAX_MAP_BYTES = 16 * 1024 * 1024
"""Largest ledgers map that is read: a million ledgers, which take ten times as much in memory."""

_ENTRY_LOG = struct.Struct(">4siqi")
_JOURNAL = struct.Struct(">4si")
_MAP = struct.Struct(">iqqi")
_NEWEST_ENTRY_LOG, _NEWEST_JOURNAL = 1, 6
_JOURNAL_STARTS = {2: 8, 3: 8, 4: 8, 5: 512, 6: 512}


@dataclass(frozen=True, slots=True)
class Header:
    """Where the records of a log begin, and its ledgers map is; 0 where it has none."""

    start: int
    map_offset: int = 0
    ledgers: int = 0


def read_header(role: Role, data: bytes) -> Header:
    """The header of a log, from its first bytes.

    Raises:
        DecodeError: `log_bad_header`: it is none, or of a newer version.
    """
    if role == "journal":
        if not data.startswith(JOURNAL_MAGIC):
            return Header(0)  # version 1
        version = _JOURNAL.unpack_from(data.ljust(_JOURNAL.size, b"\xff"))[1]
        if version not in _JOURNAL_STARTS:
            raise _bad(data, "header.version", f"2 to {_NEWEST_JOURNAL}", str(version))
        return Header(_JOURNAL_STARTS[version])
    if len(data) < HEADER_BYTES or not data.startswith(ENTRY_LOG_MAGIC):
        raise _bad(data, "header.magic", "BKLO and 16 bytes more", ascii(data[:4]))
    _, version, map_offset, ledgers = _ENTRY_LOG.unpack_from(data)
    if not 0 <= version <= _NEWEST_ENTRY_LOG:
        raise _bad(data, "header.version", f"0 to {_NEWEST_ENTRY_LOG}", str(version))
    return Header(ENTRY_LOG_START, map_offset if version else 0, ledgers)


def mapped_ledgers(source: Source, path: str, size: int, header: Header) -> dict[int, int] | None:
    """The bytes of each ledger by the map of an entry log; None where it has no map, or one that cannot be right.

    Raises:
        SourceError: the file cannot be read.
    """
    if not ENTRY_LOG_START <= header.map_offset < size or size - header.map_offset > MAX_MAP_BYTES:
        return None
    data = source.read(path, header.map_offset, size).tobytes()
    sizes: dict[int, int] = {}
    at = 0
    while len(sizes) < header.ledgers and at + _MAP.size <= len(data):
        length, ledger, entry, count = _MAP.unpack_from(data, at)
        if ledger == -1 and entry != -2:  # a filler
            at += 4 + max(length, 0)
            continue
        is_map = (ledger, entry) == (-1, -2) and count >= 0 and length == _MAP.size - 4 + 16 * count
        if not is_map or at + 4 + length > len(data):
            return None
        pairs = np.frombuffer(data, dtype=">i8", count=2 * count, offset=at + _MAP.size)
        sizes.update(zip(pairs[::2].tolist(), pairs[1::2].tolist(), strict=True))
        at += 4 + length
    return sizes if len(sizes) == header.ledgers else None


def _bad(data: bytes, field: str, expected: str, found: str) -> DecodeError:
    return DecodeError("log_bad_header", offset=0, field=field, expected=expected, found=found, context=data)
