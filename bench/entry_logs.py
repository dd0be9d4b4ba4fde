"""Entry logs of bookies: the scan of one next to that of the same entries as offloaded objects, two processes each.

What writes here shares no code with the reader. A bookie's storage sorts what it flushes by ledger, so a log is flushes
of a few MiB in which each ledger's entries lie together. The format is in docs/format.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import google_crc32c
import pyarrow as pa

from bench.baseline_crc import pool
from bench.generate import BLOCK_HEADER_BYTES, Spec
from bench.measuring import interleaved, median_ratio
from bench.scorecard import Goal, Scorecard
from bench.subjects import CLUSTER, Backlog
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.scanning.unit import scan_unit

ENTRY_LOGS = Spec(400_000, ledgers=4)
PROCESSES = 2
FLUSH_BYTES = 16 * 1024 * 1024
LOG_HEADER_BYTES = 1024
_FRAME = struct.Struct(">iq")


def write_entry_log(backlog: Backlog) -> Path:
    """One log with the entries of all ledgers, in a bookie's folder below the backlog's own."""
    left = [(int(path.name.rsplit("-", 1)[1]), _entries(path.read_bytes())) for path in _objects(backlog)]
    bookie = backlog.folder / "bookie"
    (bookie / "current").mkdir(parents=True)
    with (bookie / "current" / "0.log").open("wb") as out:
        out.write(struct.pack(">4siqi", b"BKLO", 1, 0, 0).ljust(LOG_HEADER_BYTES, b"\0"))
        while left:
            share = FLUSH_BYTES // len(left)
            left = [(ledger_id, entries) for ledger_id, entries in left if _flush(out, ledger_id, entries, share)]
    return bookie


def _objects(backlog: Backlog) -> list[Path]:
    return sorted(path for path in backlog.folder.glob("*-ledger-*") if not path.name.endswith("-index"))


def _flush(out: object, ledger_id: int, entries: Iterator[tuple[int, bytes]], share: int) -> bool:
    """Write a share of the ledger's entries; whether there may be more."""
    size = 0
    for entry_id, body in entries:
        head = struct.pack(">4q", ledger_id, entry_id, entry_id - 1, 0)
        digest = google_crc32c.extend(google_crc32c.value(head), body)
        out.write(struct.pack(">i", len(head) + 4 + len(body)) + head + struct.pack(">I", digest) + body)  # type: ignore[attr-defined]
        size += len(body)
        if size >= share:
            return True
    return False


def _entries(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = BLOCK_HEADER_BYTES
    while at + _FRAME.size <= len(data):
        length, entry_id = _FRAME.unpack_from(data, at)
        if length < 0:  # padding, and another block behind it
            found = data.find(struct.pack(">Iq", 0xFBDBABCB, BLOCK_HEADER_BYTES), at)
            if found < 0:
                return
            at = found + BLOCK_HEADER_BYTES
            continue
        at += _FRAME.size
        yield entry_id, data[at : at + length]
        at += length


def planned(source: str) -> list[tuple[str, ScanUnit]]:
    """The units of a source, as its inventory plans them."""
    return [(source, unit) for copy in take_inventory(open_source(source)).copies for unit in units_of(copy)]


def scan(unit: tuple[str, ScanUnit], schema: pa.Schema) -> int:
    """Scan a unit as a task does, into Arrow; entries that were found."""
    return sum(piece.account.decoded for piece in scan_unit(open_source(unit[0]), unit[1], CLUSTER, schema))


def measure_entry_logs(backlog: Backlog, schema: pa.Schema, repetitions: int, card: Scorecard) -> None:
    """The lines of the scorecard."""
    objects = planned(str(backlog.folder))
    bookie = str(write_entry_log(backlog))
    logs = planned(bookie)
    with pool(PROCESSES) as workers:
        found = _scan(workers, logs, schema)  # compiles
        _scan(workers, objects, schema)
        timings = interleaved(
            {
                "objects scan": lambda: _scan(workers, objects, schema),
                "entry log scan": lambda: _scan(workers, logs, schema),
                "entry log inventory": lambda: planned(bookie),
            },
            repetitions,
        )
    card.tell_rates(timings, backlog.data_bytes / 1e9, "GB/s")
    ratio = median_ratio(timings["objects scan"], timings["entry log scan"])
    card.goals += [
        Goal("entry log scan, against the same entries as objects", ratio, "x", at_least=0.7),
        Goal("entries of entry logs missing", backlog.entries - found, "entries", at_most=0),
    ]


def _scan(workers: ProcessPoolExecutor, units: list[tuple[str, ScanUnit]], schema: pa.Schema) -> int:
    return sum(workers.map(scan, units, [schema] * len(units)))
