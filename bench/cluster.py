"""Tables in a bucket and executors on a cluster: tasks' own files next to Spark's writer, two executors to one, growth.

    python -m bench.cluster [--quick]

A process of its own, for a JVM gets the classes of `s3a://` when it starts. The S3 server and the standalone cluster
are those of the tests, on loopback; what the server needs is measured with the rest.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from pyspark.sql import SparkSession

from bench import subjects
from bench.generate import Spec, write_backlog
from bench.measuring import interleaved, median_ratio, warm_up
from bench.scorecard import Goal, Scorecard
from bench.subjects import Backlog
from pulsar_backlog.spark.session import start_session
from tests.spark_cluster.cluster import Cluster, running_cluster, zipped
from tests.spark_cluster.running import BUCKET, Bucket
from tests.stores.servers import running_s3

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "bench-data" / "cluster"
LEAST_CORES = 3
"""Of a machine for which two executors, which have a driver and a server beside them, have a goal."""


@dataclass(frozen=True)
class Size:
    """What is scanned.

    Attributes:
        repetitions: of what is compared side by side.
        written: by both writers, and by one and two executors.
        grown: the fewer entries, and how many times as many.
    """

    repetitions: int
    written: Spec
    grown: tuple[Spec, int]


FULL = Size(3, Spec(400_000, ledgers=4), (Spec(250_000, entry_bytes=60, ledgers=4, chunk_share=0), 40))
QUICK = Size(1, Spec(60_000, ledgers=4), (Spec(50_000, entry_bytes=60, ledgers=4, chunk_share=0), 4))


@contextmanager
def written(spec: Spec) -> Iterator[Backlog]:
    """A backlog in a folder of its own, which goes away afterwards."""
    DATA.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=DATA) as folder:
        made = write_backlog(spec, Path(folder))
        yield Backlog(Path(folder), made.entries, made.data_bytes)


def measure_writers(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """The scan into tables in the bucket, both ways; the tables must agree."""
    warm_up(lambda: subjects.to_nothing(subjects.scan(spark, backlog)))
    outs = [subjects.empty_table(spark, f"s3a://{BUCKET}/writers/{number}") for number in range(2 * repetitions + 2)]
    ways = {"direct files": subjects.write_ours, "Spark's writer": subjects.write_by_spark}
    for way in ways.values():
        way(spark, backlog, outs.pop())
    waiting = iter(outs)
    timings = interleaved(
        {name: partial(_write, way, spark, backlog, waiting) for name, way in ways.items()},
        repetitions,
    )
    card.tell_rates(timings, backlog.entries / 1e6, "M entries/s")
    differ = len({subjects.digest(spark, out) for out in outs[-2:]}) - 1
    ratio = median_ratio(timings["Spark's writer"], timings["direct files"])
    card.goals += [
        Goal("tables in a bucket: direct files, against Spark's writer", ratio, "x", at_least=3),
        Goal("digests of these tables that differ", differ, "", at_most=0),
    ]


def _write(
    way: Callable[[SparkSession, Backlog, str], None], spark: SparkSession, backlog: Backlog, waiting: Iterator[str]
) -> None:
    way(spark, backlog, next(waiting))


def measure_growth(spark: SparkSession, few: Spec, times: int, card: Scorecard) -> None:
    """What one entry costs, by the clock, where there are many times as many."""
    costs = []
    for number, spec in enumerate((few, replace(few, entries=few.entries * times))):
        with written(spec) as backlog:
            out = subjects.empty_table(spark, f"s3a://{BUCKET}/growth/{number}")
            action = partial(subjects.write_ours, spark, backlog, out)
            (timing,) = interleaved({f"{backlog.entries:,} entries": action}, 1).values()
            card.tell_rates({f"{backlog.entries:,} entries": timing}, backlog.entries / 1e6, "M entries/s")
            costs.append(timing.median / backlog.entries)
    card.goals.append(Goal(f"an entry into a bucket, {times} times as many", costs[1] / costs[0], "x", at_most=1.1))


def measure_executors(cluster: Cluster, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """The scan's tasks on one executor of one core, and on two; whole applications."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for number in range(repetitions):
        for executors, seconds in taken.items():
            place = ("--out", f"s3a://{BUCKET}/executors/{number}-{executors}", "--cluster", "bench")
            for job in ("inventory_ledgers", "scan_entries"):
                argv = (*place, "--source", str(backlog.folder), "--fail-on", "never")
                done = cluster.submit(job, *argv, conf=(f"spark.cores.max={executors}",))
                if done.returncode:
                    raise RuntimeError(f"{job}: {done.stderr[-2000:]}")
            seconds.append(_seconds_of_tasks(cluster))
    one, two = (min(seconds) for seconds in taken.values())
    free = (os.cpu_count() or 1) - os.getloadavg()[2]
    card.tell(
        "one executor, two executors", taken, f"{one:.1f} s, {two:.1f} s: {one / two:.2f} x, {free:.1f} cores free"
    )
    if free >= LEAST_CORES:
        card.goals.append(Goal("two executors, against one", one / two, "x", at_least=1.7, portable=False))


def _seconds_of_tasks(cluster: Cluster) -> float:
    """From the start of the scan's first task to the end of its last."""
    tasks = [event["Task Info"] for event in cluster.events("scan_entries") if event["Event"] == "SparkListenerTaskEnd"]
    return float(max(task["Finish Time"] for task in tasks) - min(task["Launch Time"] for task in tasks)) / 1000


def measure(size: Size, card: Scorecard) -> None:
    """All of it."""
    shutil.rmtree(DATA, ignore_errors=True)
    (DATA / "s3").mkdir(parents=True)
    (DATA / "cluster").mkdir()
    try:
        with running_s3(DATA / "s3", "filesystem") as store, written(size.written) as backlog:
            store.fill(BUCKET, {})
            bucket = Bucket(store)
            with patch.dict(os.environ, bucket.environment):
                spark = start_session("bench", f"s3a://{BUCKET}/writers/0")
                measure_writers(spark, backlog, size.repetitions, card)
                measure_growth(spark, *size.grown, card)
                spark.stop()
            zipped(DATA / "cluster")
            with running_cluster(DATA / "cluster", bucket) as cluster:
                measure_executors(cluster, backlog, size.repetitions, card)
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def measure_cluster(quick: bool, card: Scorecard) -> None:
    """All of it in a process of its own; its lines, and its goals."""
    DATA.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=DATA.parent) as folder:
        result = Path(folder) / "bench.json"
        command = [sys.executable, "-m", "bench.cluster", "--json", str(result), *(["--quick"] if quick else [])]
        subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own, no shell
        found = json.loads(result.read_text())
    card.details |= found["details"]
    for goal in found["goals"]:
        del goal["met"]
        card.goals.append(Goal(**goal | {"value": math.nan if goal["value"] is None else goal["value"]}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.cluster", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    scorecard = Scorecard()
    measure(QUICK if options.quick else FULL, scorecard)
    if options.json:
        scorecard.write(options.json)
    print(scorecard.table())
