"""The whole audit of the bundled backlog, as its user sees it: seconds of whole processes, and Spark jobs.

    python -m bench.whole_audit

Spark's own event log counts the jobs, switched on by a `spark-defaults.conf` beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.scorecard import Goal, Scorecard

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "tests" / "data" / "backlog"
UNCHANGED = 99
_EVENT_LOG = {"enabled": "true", "compress": "false", "rolling.enabled": "false"}


def measure_whole_audit(repetitions: int, card: Scorecard) -> None:
    """The first audit and one that finds nothing new, in turn; medians of seconds, the most Spark jobs of any."""
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-bench-") as folder:
        first, again = [], []
        for number in range(repetitions):
            out = Path(folder) / str(number)
            first.append(_audit(out, 0))
            again.append(_audit(out, UNCHANGED))
            shutil.rmtree(out)
    for name, runs in (("first", first), ("unchanged", again)):
        words = ", ".join(f"{seconds:.1f} s with {jobs} Spark jobs" for seconds, jobs in runs)
        card.tell(f"bundled backlog, {name} audit", runs, words)
    card.goals += [
        Goal("bundled backlog, first audit", median(seconds for seconds, _ in first), "s", at_most=12, portable=False),
        Goal("bundled backlog, Spark jobs of the first audit", max(jobs for _, jobs in first), "jobs", at_most=0),
        Goal("bundled backlog, unchanged audit", median(s for s, _ in again), "s", at_most=1, portable=False),
        Goal("bundled backlog, Spark jobs of an unchanged audit", max(jobs for _, jobs in again), "jobs", at_most=0),
    ]


def _audit(out: Path, code: int) -> tuple[float, int]:
    """Seconds and Spark jobs of one audit, which must end with this exit code."""
    audit = ("audit", str(BUNDLED / "objects"), "--admin", str(BUNDLED / "admin"), "--cluster", "bench")
    command = [sys.executable, "-m", "pulsar_backlog.cli", *audit, "--out", str(out), "--fail-on", "never"]
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-events-") as events:
        settings = _EVENT_LOG | {"dir": Path(events).as_uri()}
        lines = [f"spark.eventLog.{name} {value}\n" for name, value in settings.items()]
        (Path(events) / "spark-defaults.conf").write_text("".join(lines))
        began = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - our own, no shell
            command, capture_output=True, text=True, check=False, env=os.environ | {"SPARK_CONF_DIR": events}
        )
        seconds = time.perf_counter() - began
        logs = [path for path in Path(events).iterdir() if path.name != "spark-defaults.conf"]
        jobs = sum(line.startswith('{"Event":"SparkListenerJobStart"') for log in logs for line in log.open())
    if done.returncode != code:
        raise RuntimeError(f"exit {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return seconds, jobs


if __name__ == "__main__":
    scorecard = Scorecard()
    measure_whole_audit(3, scorecard)
    print(scorecard.table())
