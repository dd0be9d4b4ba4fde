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

from bench.baseline_crc import crc32c_of_span, pool, spans
from bench.generate import Spec
from bench.growth import DATA, Audit, audit_of, written
from bench.scorecard import Goal, Scorecard
from pulsar_backlog.output.data_files import parquet_writer
from pulsar_backlog.tables.entries import TABLE

PROCESSES = 2
FLOOR = Spec(1_000_000, ledgers=10, chunk_share=0.058)
SCAN_AT_MOST = 9.0
AFTER_AT_MOST = 9.0


@dataclass(frozen=True)
class Floor:
    """Seconds of two processes: to read and sum all bytes, and to write the table."""

    read_seconds: float
    write_seconds: float

    @property
    def seconds(self) -> float:
        """Of both."""
        return self.read_seconds + self.write_seconds

    def words(self) -> str:
        """Such as `1.3 s (0.5 read and CRC, 0.8 Parquet)`."""
        return f"{self.seconds:.2f} s ({self.read_seconds:.2f} read and CRC, {self.write_seconds:.2f} Parquet)"


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
    floor_seconds = median(floor.seconds for floor in floors)
    ratios = {
        "scan job, against the floor": (median(audit.scan.seconds for audit in audits), SCAN_AT_MOST),
        "after the scan, against the floor": (median(audit.after.seconds for audit in audits), AFTER_AT_MOST),
    }
    for name, (seconds, most) in ratios.items():
        card.goals.append(Goal(name, seconds / floor_seconds, "x", at_most=most))


def _floor(source: Path, out: Path, workers: Executor) -> Floor:
    began = time.perf_counter()
    list(workers.map(crc32c_of_span, spans(source)))
    read_seconds = time.perf_counter() - began
    files = DeltaTable(str(out / "tables" / TABLE.name)).file_uris()
    return Floor(read_seconds, sum(workers.map(_write_seconds, files)) / PROCESSES)


def _write_seconds(path: str) -> float:
    """How long it takes to write a file of the table again, row group by row group; each is in memory before."""
    seconds, file = 0.0, parquet.ParquetFile(path)
    with TemporaryFile() as sink, parquet_writer(sink, file.schema_arrow, TABLE) as writer:
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number)
            began = time.perf_counter()
            writer.write_table(rows, row_group_size=rows.num_rows)
            seconds += time.perf_counter() - began
        began = time.perf_counter()
        writer.close()
        return seconds + time.perf_counter() - began


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
