"""What a person waits for who asks one thing: whole processes, over a small audit and over four million entries.

    python -m bench.answers

Spark's start with one tiny query is timed in turn with them: it is what each of these commands waited for once.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.audit_twice import START_ONLY
from bench.generate import Spec, write_backlog
from bench.measuring import Timing, interleaved, median_ratio
from bench.scorecard import Goal, Scorecard

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "tests" / "data" / "backlog"
LARGE = Spec(4_000_000, entry_bytes=100, ledgers=20, chunk_share=0.058, block_bytes=8 * 1024 * 1024)
"""One chunked message in fifty or so; small entries, because questions are asked of tables, which hold no payload."""

START = "Spark's start"
FILTERED = "SELECT producer_name, count(*), min(publish_time) FROM entries WHERE ledger_id = 1003 GROUP BY 1"
LIMITS: dict[str, float] = {
    "help": 0.5,
    "a mistake": 0.5,
    "explain": 1.0,
    "locate --id": 2.0,
    "locate --time": 2.0,
    "sql, a view": 2.0,
    "messages, 4 M entries": 2.0,
    "sql, 4 M entries": 3.0,
    "locate, 4 M entries": 3.0,
}
"""Seconds that each may take."""


def make_audits(folder: Path, large: Spec) -> tuple[Path, Path]:
    """The tables of the bundled backlog, and those of a large one, scanned and assembled."""
    small, many, source = folder / "bundled", folder / "many", folder / "source"
    audit = ("audit", str(BUNDLED / "objects"), "--admin", str(BUNDLED / "admin"), "--cluster", "bench")
    _run("-m", "pulsar_backlog.cli", *audit, "--out", str(small), "--fail-on", "never", ok=(0, 1, 4))
    write_backlog(large, source)
    for job in ("inventory_ledgers", "scan_entries", "assemble_chunks"):
        options = ("--source", str(source), "--out", str(many), "--cluster", "bench", "--fail-on", "never")
        _run(str(ROOT / "jobs" / f"{job}.py"), *options)
    return small, many


def questions(small: Path, many: Path) -> dict[str, Callable[[], None]]:
    """Each command, as a process of its own."""
    asked: dict[str, tuple[str, ...]] = {
        "help": ("--help",),
        "a mistake": ("audit", "SOURCE", "--frob"),
        "explain": ("explain", str(BUNDLED / "objects"), "24:0"),
        "locate --id": ("locate", str(small), "--id", "24:3"),
        "locate --time": ("locate", str(small), "--time", "2026-11-21T10:57:50Z"),
        "sql, a view": ("sql", str(small), "SELECT * FROM topic_overview"),
        "messages, 4 M entries": ("messages", str(many.with_name("source")), "--topic", "*", "--json"),
        "sql, 4 M entries": ("sql", str(many), FILTERED),
        "locate, 4 M entries": ("locate", str(many), "--id", "1003:86"),
    }
    return {name: lambda argv=argv: _command(argv) for name, argv in asked.items()}  # type: ignore[misc]


def measure_answers(small: Path, many: Path, repetitions: int, card: Scorecard) -> None:
    """Seconds of each whole process, against what it may take and against Spark's start."""
    _command(("--help",))  # once unmeasured, so that Python's own caches are there
    timings = interleaved({START: lambda: _run("-c", START_ONLY), **questions(small, many)}, repetitions)
    for name, timing in timings.items():
        card.tell(name, timing, timing.words())
    card.goals += goals(timings)


def goals(timings: dict[str, Timing]) -> list[Goal]:
    """What is asked of each."""
    found = [Goal(name, timings[name].median, "s", at_most=most, portable=False) for name, most in LIMITS.items()]
    start = timings[START]
    return [
        *found,
        Goal("Spark's start against sql", median_ratio(start, timings["sql, a view"]), "x", at_least=4),
        Goal("Spark's start against explain", median_ratio(start, timings["explain"]), "x", at_least=4),
        Goal("Spark's start against help", median_ratio(start, timings["help"]), "x", at_least=8),
    ]


def _command(argv: tuple[str, ...]) -> None:
    _run("-m", "pulsar_backlog.cli", *argv, ok=(2,) if "--frob" in argv else (0,))


def _run(*argv: str, ok: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run(  # noqa: S603 - our own, no shell
        [sys.executable, *argv], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode not in ok:
        raise RuntimeError(f"exit {done.returncode} of {' '.join(argv)[:200]}: {(done.stderr or done.stdout)[-2000:]}")


def main() -> int:
    """Make both audits, and measure."""
    folder = ROOT / "bench-data" / "answers"
    shutil.rmtree(folder, ignore_errors=True)
    card = Scorecard()
    try:
        measure_answers(*make_audits(folder, LARGE), 5, card)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(card.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
