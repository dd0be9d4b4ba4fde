"""What a second audit of an unchanged folder costs, as a user sees it: whole processes, timed from outside."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

START_ONLY = """
from pulsar_backlog.spark.session import start_session
session = start_session("bench")
session.range(1).count()
session.stop()
"""
ACCEPTED_EXITS = (0, 1, 99)


@dataclass(frozen=True)
class SecondAudit:
    """Seconds of whole processes (medians but for the first), and whether a later audit wrote to `entries`."""

    start_seconds: float
    first_seconds: float
    second_seconds: float
    rescanned: bool

    @property
    def over_start_seconds(self) -> float:
        """What the second audit takes beyond starting Spark and running one tiny query."""
        return self.second_seconds - self.start_seconds


def audit_twice(folder: Path, out: Path, repetitions: int) -> SecondAudit:
    """Audit `folder` into `out`, and then `repetitions` times again, in turn with starting Spark alone.

    Raises:
        RuntimeError: an audit failed.
    """
    options = ("--out", str(out), "--cluster", "bench", "--fail-on", "never")
    audit = ("-m", "pulsar_backlog.cli", "audit", str(folder), *options)
    first = _seconds(*audit)
    before = _commits(out)
    if not before:
        raise RuntimeError(f"the first audit wrote no entries below {out}")
    pairs = [(_seconds("-c", START_ONLY), _seconds(*audit)) for _ in range(repetitions)]
    start, second = (median(seconds) for seconds in zip(*pairs, strict=True))
    return SecondAudit(start, first, second, rescanned=_commits(out) != before)


def _commits(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "tables" / "entries" / "_delta_log").glob("*.json"))


def _seconds(*arguments: str) -> float:
    began = time.perf_counter()
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own, no shell
    if done.returncode not in ACCEPTED_EXITS:
        raise RuntimeError(f"exit {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return time.perf_counter() - began
