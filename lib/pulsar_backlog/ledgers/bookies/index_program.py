"""The program that reads a copy of one RocksDB database of a bookie: a process of its own, as the bytes may be hostile.

RocksDB is C++ that was not made for bytes that somebody chose. It has bounds here of memory, time and output, which
the system holds, and when it dies, only this process does.

| database | key | value |
|---|---|---|
| `locations` | `[ ledger i64 ][ entry i64 ]` | `[ entry log i32 ][ place behind the record's size i32 ]` |
| `ledgers` | `[ ledger i64 ]` | LedgerData |

Of `locations` only a ledger's first and last entries are looked up, so that time goes by ledgers.

Sources: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/storage/ldb/EntryLocationIndex.java
https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/storage/ldb/LedgerMetadataIndex.java
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

MAX_LEDGERS = 1_000_000
"""Ledgers of a database that are read: what it names beyond is not."""
MAX_OUTPUT_BYTES = 256 * 1024 * 1024
MEMORY_BYTES = 3 * 1024 * 1024 * 1024
"""Address space, of which a database whose write-ahead logs are as long as they may be (512 MiB) takes a half."""
SECONDS = 120
"""Processor time."""
MAX_VALUE_BYTES = 4096
"""Longest record of a ledger that is given; those of bookies have about 30 bytes."""

ENDED, SKIPPED, MORE = "ended", "skipped", "more"
"""What is said on standard error: all was read; all but damaged records of the write-ahead log; or the first
`MAX_LEDGERS`. Anything else is why the rest was not read."""

LOCATION = struct.Struct(">5q")
"""Output of `locations`: ledger, first entry, last entry, location of the first, location of the last."""
LEDGER = struct.Struct(">qH")
"""Output of `ledgers`: ledger, length of the record that follows."""

_KEY, _VALUE = struct.Struct(">qq"), struct.Struct(">q")
_LAST_ID = 2**63 - 1


def main(argv: list[str]) -> int:
    """Read the database in the folder `argv[1]`, which is `locations` or `ledgers` by `argv[0]`, to standard output."""
    kind, folder = argv
    _bound()
    try:
        database, word = _opened(folder)
        word = _write(kind, database.iter()) or word
    except Exception as error:  # rocksdict raises bare exceptions
        word = str(error) or type(error).__name__
    sys.stdout.buffer.flush()
    sys.stderr.write(word)
    sys.stderr.flush()
    os._exit(0)  # threads of RocksDB have nothing to end


def _write(kind: str, at: Any) -> str | None:
    """Write what the database holds; `MORE` where that is too much.

    Raises:
        Exception: it is damaged.
    """
    try:
        for number, row in enumerate(_locations(at) if kind == "locations" else _ledgers(at)):
            if number == MAX_LEDGERS:
                return MORE
            sys.stdout.buffer.write(row)
    finally:
        at.status()  # says more than that a key has no bytes
    return None


def _bound() -> None:
    """Bounds that the system holds; one that it does not know is left out."""
    import resource  # noqa: PLC0415 - of this process alone

    for name, most in (
        ("RLIMIT_AS", MEMORY_BYTES), ("RLIMIT_CPU", SECONDS), ("RLIMIT_FSIZE", MAX_OUTPUT_BYTES), ("RLIMIT_CORE", 0),
    ):  # fmt: skip
        with suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (most, most))


def _opened(folder: str) -> tuple[Any, str]:
    """The database, and `SKIPPED` where records of its write-ahead log are damaged: then those are left out."""
    from rocksdict import AccessType, DBRecoveryMode, Options, Rdict  # noqa: PLC0415 - within the bounds

    def opened(mode: Any) -> Any:
        options = Options(raw_mode=True)
        options.set_wal_recovery_mode(mode)
        options.set_max_open_files(64)
        options.set_skip_stats_update_on_db_open(True)
        return Rdict(folder, options=options, access_type=AccessType.read_only(False))

    try:  # the end of a log is torn where the bookie was killed; that is no damage
        return opened(DBRecoveryMode.tolerate_corrupted_tail_records()), ENDED
    except Exception:  # rocksdict raises bare exceptions
        return opened(DBRecoveryMode.skip_any_corrupted_record()), SKIPPED


def _locations(at: Any) -> Iterator[bytes]:
    """Each ledger's first and last entry, by two seeks."""
    at.seek(_KEY.pack(0, 0))
    while at.valid():
        ledger, first = _KEY.unpack(at.key())
        (place,) = _VALUE.unpack(at.value())
        if ledger < 0:  # keys are compared as bytes, so these come last
            break
        at.seek_for_prev(_KEY.pack(ledger, _LAST_ID))
        _, last = _KEY.unpack(at.key())
        (last_place,) = _VALUE.unpack(at.value())
        yield LOCATION.pack(ledger, first, last, place, last_place)
        at.next()


def _ledgers(at: Any) -> Iterator[bytes]:
    at.seek_to_first()
    while at.valid():
        (ledger,), value = _VALUE.unpack(at.key()), at.value()[:MAX_VALUE_BYTES]
        if ledger < 0:  # flags of the storage
            break
        yield LEDGER.pack(ledger, len(value)) + value
        at.next()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
