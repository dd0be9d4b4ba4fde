"""The floor: what nobody who makes the table `entries` can do without, measured beside a whole audit in one run.

    python -m bench.floor [--entries 1000000]        # writes and deletes 1.2 GB in bench-data/

Two processes read every byte, compute CRC-32C over it, and write the table `entries` of the audit again with pyarrow,
from rows in memory, with the settings of the audit. All but the work itself (start, imports, reading Parquet) is left
out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile

from deltalake import DeltaTable
from pyarrow import parquet

from bench.baseline_crc import Span, crc32c_of_span, pool, spans
from bench.generate import Spec
from bench.growth import DATA, Audit, audit_of, written
from bench.scorecard import Goal, Scorecard
from pulsar_backlog.output.data_files import parquet_writer
from pulsar_backlog.tables.entries import TABLE

PROCESSES = 2
FLOOR = Spec(1_000_000, ledgers=10, chunk_share=0.02)
SCAN_CORE_AT_MOST = 16.0
AFTER_CORE_AT_MOST = 9.0
"""What `make bench-check` insists on, by the cores' time, which other programs hardly change. Measured: see
CONTRIBUTING.md. An audit that needs more has lost ground."""


@dataclass(frozen=True)
class Floor:
    """Seconds of two processes: to read and sum all bytes, and to write the table; and of their cores together."""

    read_seconds: float
    write_seconds: float
    core_seconds: float

    @property
    def seconds(self) -> float:
        """Of both."""
        return self.read_seconds + self.write_seconds

    def words(self) -> str:
        """Such as `1.3 s (0.5 read and CRC, 0.8 Parquet), 2.5 core-s`."""
        parts = f"{self.read_seconds:.2f} read and CRC, {self.write_seconds:.2f} Parquet"
        return f"{self.seconds:.2f} s ({parts}), {self.core_seconds:.2f} core-s"


def measure_floor(spec: Spec, repetitions: int, card: Scorecard) -> None:
    """Whole audits and the floor in turn; ratios of medians."""
    audits: list[Audit] = []
    floors: list[Floor] = []
    with written(spec) as source, pool(PROCESSES) as workers:
        for _ in range(repetitions):
            audits.append(audit_of(source))
            floors.append(_floor(source, DATA / "out", workers))
            shutil.rmtree(DATA / "out")
    for audit, floor in zip(audits, floors, strict=True):
        card.tell("whole audit, and the floor", None, f"{audit.words()}; floor {floor.words()}")
    floor_seconds, core = (median(getattr(one, name) for one in floors) for name in ("seconds", "core_seconds"))
    whole, scan, after = (
        median(getattr(audit, part).seconds for audit in audits) for part in ("whole", "scan", "after")
    )
    scan_core, after_core = (median(getattr(one, part).core_seconds for one in audits) for part in ("scan", "after"))
    card.goals += [
        Goal("whole audit, against the floor", whole / floor_seconds, "x", at_most=2.7, portable=False),
        Goal("scan job, against the floor", scan / floor_seconds, "x", at_most=1.6, portable=False),
        Goal("after the scan, against the scan", after / scan, "x", at_most=0.3, portable=False),
        Goal("scan job, cores against the floor's", scan_core / core, "x", at_most=SCAN_CORE_AT_MOST),
        Goal("after the scan, cores against the floor's", after_core / core, "x", at_most=AFTER_CORE_AT_MOST),
    ]


def _floor(source: Path, out: Path, workers: Executor) -> Floor:
    began = time.perf_counter()
    read_core_seconds = sum(workers.map(_read_core_seconds, spans(source)))
    read_seconds = time.perf_counter() - began
    files = DeltaTable(str(out / "tables" / TABLE.name)).file_uris()
    written = list(workers.map(_write_seconds, files))
    write_seconds, write_core_seconds = (sum(one) for one in zip(*written, strict=True))
    return Floor(read_seconds, write_seconds / PROCESSES, read_core_seconds + write_core_seconds)


def _read_core_seconds(span: Span) -> float:
    began = time.process_time()
    crc32c_of_span(span)
    return time.process_time() - began


def _write_seconds(path: str) -> tuple[float, float]:
    """How long it takes to write a file of the table again, row group by row group; each is in memory before.

    By the clock, and of the cores.
    """
    seconds, core_seconds, file = 0.0, 0.0, parquet.ParquetFile(path)
    with TemporaryFile() as sink, parquet_writer(sink, file.schema_arrow, TABLE) as writer:
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number)
            began, core_began = time.perf_counter(), time.process_time()
            writer.write_table(rows, row_group_size=rows.num_rows)
            seconds += time.perf_counter() - began
            core_seconds += time.process_time() - core_began
        began, core_began = time.perf_counter(), time.process_time()
        writer.close()
        return seconds + time.perf_counter() - began, core_seconds + time.process_time() - core_began


def main(argv: list[str]) -> int:
    """Measure one size alone."""
    parser = argparse.ArgumentParser(prog="bench.floor")
    parser.add_argument("--entries", type=int, default=FLOOR.entries)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args(argv)
    card = Scorecard()
    measure_floor(replace(FLOOR, entries=options.entries), options.repetitions, card)
    print(card.table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
