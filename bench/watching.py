"""A whole process as its user meets it: seconds, core seconds at any moment, and the memory of each kind of process.

Spark's JVM and its Python workers are not waited for by the driver, so the kernel's account of children misses them:
the tree of processes is sampled while it runs.
"""

from __future__ import annotations

import bisect
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

from bench.measuring import below, processes, resident_bytes

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_SECONDS = 0.1
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Watched:
    """One process and all below it, from its start to its end.

    Attributes:
        seconds: from start to end.
        peak_bytes: most resident memory that one process of a kind had: `driver`, `java`, `worker`.
        moments: Unix seconds of the samples.
        core_seconds: what all processes had used together at each of them.
    """

    seconds: float = 0.0
    peak_bytes: dict[str, int] = field(default_factory=dict)
    moments: list[float] = field(default_factory=list)
    core_seconds: list[float] = field(default_factory=list)

    def used_between(self, start: float, end: float) -> float:
        """Core seconds between two moments in Unix seconds, to the width of a sample."""
        last = len(self.moments) - 1
        before, after = (min(bisect.bisect_left(self.moments, moment), last) for moment in (start, end))
        return self.core_seconds[after] - self.core_seconds[before]


def watch(command: Sequence[str]) -> Watched:
    """Run a command to its end, from the root of the repository.

    Raises:
        RuntimeError: it ended with an exit code other than 0.
    """
    found, used = Watched(), dict[int, int]()
    with TemporaryFile("w+") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - our own, no shell
            list(command), stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT
        )
        while process.poll() is None:
            _sample(process.pid, found, used)
            time.sleep(SAMPLE_SECONDS)
        found.seconds = time.perf_counter() - began
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"exit {process.returncode} of {' '.join(command)[:200]}: {errors.read()[-2000:]}")
    return found


def _sample(root: int, found: Watched, used: dict[int, int]) -> None:
    """Add what the tree has used up to now; `used` keeps the ticks of processes that have ended."""
    running = processes()
    for pid in (root, *below(root, running)):
        if (process := running.get(pid)) is None:
            continue
        used[pid] = process.own_ticks
        kind = "driver" if pid == root else "java" if process.name == "java" else "worker"
        found.peak_bytes[kind] = max(found.peak_bytes.get(kind, 0), resident_bytes(pid))
    found.moments.append(time.time())
    found.core_seconds.append(sum(used.values()) / TICKS)
