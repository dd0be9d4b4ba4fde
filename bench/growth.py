"""The whole audit at size, as whole processes: next to the plain scan alone, with more entries, and with more chunks.

    python -m bench.growth            # writes and deletes some 5 GB in bench-data/

Core seconds stand beside seconds, for a machine that is busy otherwise.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deltalake import DeltaTable
from pyarrow import parquet

from bench.generate import Spec, write_backlog
from bench.scorecard import Goal, Scorecard
from bench.watching import Watched, watch

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "bench-data" / "growth"
BEFORE = ("inventory_ledgers", "scan_entries")
PLAIN = """
import sys
from pathlib import Path
from bench import subjects
from pulsar_backlog.spark.session import start_session
folder, out = sys.argv[1:]
session = start_session("bench")
subjects.write_plain(session, subjects.Backlog(Path(folder), 0, 0), subjects.empty_table(session, out))
session.stop()
"""


@dataclass(frozen=True)
class Growth:
    """What is audited.

    Attributes:
        mixed: entries of 1 KB with chunks among them, for the comparison with the plain scan.
        plain: two backlogs without a chunk, the larger with ten times the entries.
        chunks: two backlogs of chunks alone.
        many: entries for the memory, small ones.
    """

    mixed: Spec
    plain: tuple[Spec, Spec]
    chunks: tuple[Spec, Spec]
    many: Spec

    def smaller(self, by: int) -> Growth:
        """The same with fewer entries, but for the fewest chunks."""
        few, many = self.chunks
        return Growth(
            mixed=_smaller(self.mixed, by),
            plain=(_smaller(self.plain[0], by), _smaller(self.plain[1], by)),
            chunks=(few, _smaller(many, by)),
            many=_smaller(self.many, by),
        )


def _smaller(spec: Spec, by: int) -> Spec:
    return replace(spec, entries=spec.entries // by)


_SMALL_ENTRIES = Spec(400_000, entry_bytes=60, ledgers=20, chunk_share=0, block_bytes=8 * 1024 * 1024)
_CHUNKS_ALONE = replace(_SMALL_ENTRIES, entries=20_000, chunk_share=1.0, batch_share=0, key_share=0)
GROWTH = Growth(
    mixed=Spec(4_000_000, ledgers=20, chunk_share=0.058),
    plain=(_SMALL_ENTRIES, replace(_SMALL_ENTRIES, entries=4_000_000)),
    chunks=(_CHUNKS_ALONE, replace(_CHUNKS_ALONE, entries=2_000_000)),
    many=replace(_SMALL_ENTRIES, entries=40_000_000, ledgers=40, chunk_share=0.01),
)


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of all cores together."""

    seconds: float
    core_seconds: float

    def words(self) -> str:
        """Such as `12.3 s, 20.1 core-s`."""
        return f"{self.seconds:.1f} s, {self.core_seconds:.1f} core-s"


@dataclass(frozen=True)
class Audit:
    """One audit from an empty folder: the whole process, its scan job, and all that comes after the scan."""

    whole: Spent
    scan: Spent
    after: Spent
    peak_bytes: dict[str, int]

    def words(self) -> str:
        """All of it in a line."""
        memory = ", ".join(f"{kind} {size / 2**30:.2f} GiB" for kind, size in sorted(self.peak_bytes.items()))
        return f"{self.whole.words()}; scan {self.scan.words()}; after it {self.after.words()}; {memory}"


def measure_growth(growth: Growth, card: Scorecard) -> None:
    """Every backlog once: what is compared is far apart."""
    audit, cold, plain = _mixed(growth.mixed)
    card.tell("whole audit, mixed", None, audit.words())
    card.tell("the same, from the disk", None, cold.words())
    card.tell("plain scan alone", None, plain.words())
    small, large = (_audited(spec) for spec in growth.plain)
    few, many = (_audited(spec) for spec in growth.chunks)
    card.tell("no chunks, few entries", None, small.words())
    card.tell("no chunks, ten times as many", None, large.words())
    card.tell("chunks alone, few", None, few.words())
    card.tell("chunks alone, many", None, many.words())
    rows = growth.chunks[1].entries - growth.chunks[0].entries
    a_row_us = (many.after.core_seconds - few.after.core_seconds) / rows * 1e6
    card.goals += [
        Goal("whole audit, against the plain scan alone", plain.seconds / audit.whole.seconds, "x", at_least=2),
        Goal(
            "whole audit from the disk, against files in the page cache",
            cold.whole.seconds / audit.whole.seconds,
            "x",
            at_most=1.15,
            portable=False,
        ),
        Goal("scan job, against the plain scan", plain.seconds / audit.scan.seconds, "x", at_least=8),
        Goal("after the scan, against the scan", audit.after.seconds / audit.scan.seconds, "x", at_most=1),
        Goal(
            "after the scan, ten times as many plain entries",
            large.after.seconds / small.after.seconds,
            "x",
            at_most=1.3,
        ),
        Goal("a chunk row after the scan, three models", a_row_us, "core us", at_most=60, portable=False),
    ]
    card.goals += _memory("4 M entries", audit)


def measure_many(growth: Growth, card: Scorecard) -> None:
    """What memory ten times as many entries take."""
    audit = _audited(growth.many)
    card.tell("40 M small entries", None, audit.words())
    card.goals += _memory("40 M entries", audit)


def _memory(what: str, audit: Audit) -> list[Goal]:
    """The JVM runs driver and tasks here, and counts as the driver, with the Python process beside it."""
    driver = (audit.peak_bytes["driver"] + audit.peak_bytes.get("java", 0)) / 2**30
    worker = audit.peak_bytes.get("worker", 0) / 2**30
    return [
        Goal(f"driver's memory, {what}", driver, "GiB", at_most=2),
        Goal(f"worker's memory, {what}", worker, "GiB", at_most=1),
    ]


def _mixed(spec: Spec) -> tuple[Audit, Audit, Spent]:
    """An audit of files in the page cache, one of files on the disk, and the plain scan."""
    with written(spec) as source:
        found = watch([sys.executable, "-c", PLAIN, str(source), str(DATA / "plain")])
        plain = Spent(found.seconds, found.core_seconds[-1])
        shutil.rmtree(DATA / "plain")
        audit = audit_of(source)
        shutil.rmtree(DATA / "out")
        _leave_to_the_disk(source)
        return audit, audit_of(source), plain


def _leave_to_the_disk(folder: Path) -> None:
    """Let the system forget what it holds of files in memory; Linux does as it is advised, of what is written."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _audited(spec: Spec) -> Audit:
    with written(spec) as source:
        return audit_of(source)


@contextmanager
def written(spec: Spec) -> Iterator[Path]:
    """The backlog, in a folder that goes away with all in `DATA`."""
    shutil.rmtree(DATA, ignore_errors=True)
    try:
        write_backlog(spec, DATA / "source")
        yield DATA / "source"
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def audit_of(source: Path) -> Audit:
    """One audit into `DATA / "out"`, which stays."""
    out = DATA / "out"
    options = ("--out", str(out), "--cluster", "bench", "--fail-on", "never")
    found = watch([sys.executable, "-m", "pulsar_backlog.cli", "audit", str(source), *options])
    # Not by `to_pyarrow_table`, whose threads may abort a program that ends.
    files = DeltaTable(str(out / "tables" / "runs")).file_uris()
    rows = parquet.read_table(files, columns=["job", "started", "seconds"]).to_pylist()
    rows.sort(key=lambda row: row["started"])
    starts = {row["job"]: row["started"].timestamp() for row in rows}
    scan = next(row for row in rows if row["job"] == "scan_entries")
    scanned = starts["scan_entries"] + scan["seconds"]
    ended = found.moments[-1]
    return Audit(
        whole=Spent(found.seconds, found.core_seconds[-1]),
        scan=_between(found, starts["scan_entries"], scanned),
        after=_between(found, scanned, ended),
        peak_bytes=found.peak_bytes,
    )


def _between(found: Watched, start: float, end: float) -> Spent:
    return Spent(end - start, found.used_between(start, end))


if __name__ == "__main__":
    scorecard = Scorecard()
    measure_growth(GROWTH, scorecard)
    measure_many(GROWTH, scorecard)
    print(scorecard.table())
