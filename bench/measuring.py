"""Clocks and scales: interleaved timings, and the memory of Spark's Python workers as the kernel counts it."""

from __future__ import annotations

import math
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

SAMPLE_SECONDS = 0.02
WARM_AT_LEAST, WARM_AT_MOST = 8, 16
"""Repetitions before which no session counts as warm, and after which every one does."""


@dataclass(frozen=True)
class Timing:
    """Seconds of each repetition of one thing, by the clock and of all cores together (this process and below).

    The latter are nan where a process ended meanwhile that was there before.
    """

    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest less fastest, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median

    def words(self) -> str:
        """Such as `4.10 s (spread 3%, 7.9 core-s)`."""
        known = not math.isnan(sum(self.cpu_seconds))
        cpu = f", {statistics.median(self.cpu_seconds):.1f} core-s" if known else ""
        return f"{self.median:.2f} s (spread {self.spread:.0%}{cpu})"


def interleaved(
    actions: Mapping[str, Callable[[], object]], repetitions: int, prepare: Callable[[], object] = lambda: None
) -> dict[str, Timing]:
    """Time each action `repetitions` times in the order A B A B, so that a slow minute of the machine hits all.

    What `prepare` does before each of them is not timed.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
    for _ in range(repetitions):
        for name, action in actions.items():
            prepare()
            began, before = time.perf_counter(), _tree_ticks()
            action()
            taken[name].append((time.perf_counter() - began, _core_seconds(before, _tree_ticks())))
    return {name: Timing(*zip(*pairs, strict=True)) for name, pairs in taken.items()}


def warm_up(action: Callable[[], object]) -> int:
    """Repeat an action until two more times bring nothing, as the JVM compiles what it runs often; how many it took."""
    taken: list[float] = []
    while len(taken) < WARM_AT_LEAST or (len(taken) < WARM_AT_MOST and min(taken[-2:]) < 0.95 * min(taken[:-2])):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return len(taken)


def median_ratio(above: Timing, below: Timing) -> float:
    """Median of the ratios of neighbours in an interleaved run, by the clock."""
    return statistics.median(a / b for a, b in zip(above.seconds, below.seconds, strict=True))


def core_ratio(above: Timing, below: Timing) -> float:
    """The same in core seconds, which another load on the machine hardly changes."""
    return statistics.median(a / b for a, b in zip(above.cpu_seconds, below.cpu_seconds, strict=True))


def _tree_ticks() -> dict[int, int]:
    """What this process and each below it has used, with the children that it waited for."""
    running = processes()
    return {pid: running[pid].cpu_ticks for pid in (os.getpid(), *below(os.getpid(), running))}


def _core_seconds(before: dict[int, int], after: dict[int, int]) -> float:
    """What was used in between; nan where a process has gone, for Spark's daemon does not wait for its workers."""
    if not before.keys() <= after.keys():
        return math.nan
    return (sum(after.values()) - sum(before.values())) / os.sysconf("SC_CLK_TCK")


class WorkerMemory:
    """Samples the resident memory of all Python processes below this one while it is entered.

    Attributes:
        largest_bytes: most that one worker had; pages it shares with its siblings are counted to each.
        together_bytes: most that all of them had at one time, counted in the same way.
    """

    def __init__(self) -> None:
        self.largest_bytes = 0
        self.together_bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            sizes = [resident_bytes(pid) for pid in _worker_pids()]
            self.largest_bytes = max(self.largest_bytes, *sizes, 0)
            self.together_bytes = max(self.together_bytes, sum(sizes))


@dataclass(frozen=True)
class Process:
    """What the kernel says of a process.

    Attributes:
        name: of its program.
        parent: the id of the process that started it.
        own_ticks: what it has used, in clock ticks of one core.
        cpu_ticks: the same with the children that it waited for.
    """

    name: str
    parent: int
    own_ticks: int
    cpu_ticks: int


def processes() -> dict[int, Process]:
    """Everything that runs, from /proc."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # the process ended meanwhile
            continue
        fields = rest.split()  # from the third field of proc(5) on
        found[int(stat.parent.name)] = Process(
            name, int(fields[1]), sum(map(int, fields[11:13])), sum(map(int, fields[11:15]))
        )
    return found


def below(root: int, running: dict[int, Process]) -> list[int]:
    """Ids of all descendants of `root`."""
    children: dict[int, list[int]] = {}
    for pid, process in running.items():
        children.setdefault(process.parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        started = children.get(waiting.pop(), [])
        waiting += started
        found += started
    return found


def _worker_pids() -> list[int]:
    """Ids of Spark's Python daemon and its workers, when this process is the driver."""
    running = processes()
    return [pid for pid in below(os.getpid(), running) if "python" in running[pid].name]


def resident_bytes(pid: int) -> int:
    """Its pages in memory, those it shares too; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def machine() -> dict[str, str | int | float]:
    """What the numbers were measured on, with the load that others put on it at the start."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }
