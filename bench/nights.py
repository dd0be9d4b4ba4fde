"""Night after night at size: a first audit of many small topics, then nights with one topic in a hundred changed.

    python -m bench nights --topics 2000             # 4,000 ledgers, 6,000 subscriptions
    python -m bench nights --topics 10000 --nights 5 # the goal; the folder is kept with --folder

Each topic has two ledgers of twenty entries and three subscriptions; of twenty one has a message that lacks a chunk, on
which a subscription is stalled. In a night every hundredth topic gets a ledger, and its subscriptions go on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from bench.watching import watch
from tests.simulated_cluster import PUBLISHED_MS, Cluster, Cursor, Topic, chunk, plain

ENTRIES = 20
NEWS = 100
"""Of so many topics one has something new."""
BROKEN = 20
"""Of so many topics one has a broken message."""
_PEAK = 2**20


def bodies(topic: str, ledger: int, broken: bool) -> list[bytes]:
    """Entries of a ledger: plain ones, and a chunked message of three chunks, of which a broken one lacks the last."""
    first = ledger * ENTRIES
    at_ms = PUBLISHED_MS + first * 1000
    chunks = [chunk(topic, first, at_ms, number, 3) for number in range(2 if broken else 3)]
    return [*chunks, *(plain(topic, first + number, at_ms + number) for number in range(3, ENTRIES))]


def add_ledger(cluster: Cluster, topic: Topic, number: int) -> None:
    """A ledger more; subscriptions go on: one to its end, one with a hole, one not at all."""
    broken = number % BROKEN == 0 and not topic.ledgers
    ledger_id = cluster.append(topic, bodies(topic.name, len(topic.ledgers), broken))
    entries = topic.ledgers[ledger_id][0]
    hole = ((ledger_id, 8), (ledger_id, 12))
    topic.cursors["done"] = Cursor((ledger_id, entries - 1))
    topic.cursors["holes"] = Cursor((ledger_id, 3), [hole])
    if "behind" not in topic.cursors:
        stuck = Cursor((ledger_id, -1), [((ledger_id, 1), (ledger_id, 10))])
        topic.cursors["behind"] = stuck if broken else Cursor((ledger_id, 5))


def first_day(cluster: Cluster, topics: int) -> None:
    """All topics with two ledgers each."""
    for number in range(topics):
        topic = cluster.topic(f"orders-{number:06d}")
        for _ in range(2):
            add_ledger(cluster, topic, number)
    cluster.save()


def next_day(cluster: Cluster, day: int) -> None:
    """News of one topic in a hundred."""
    changed = [topic for number, topic in enumerate(cluster.topics.values()) if number % NEWS == day % NEWS]
    for topic in changed:
        add_ledger(cluster, topic, int(topic.name.split("-")[1]))
    cluster.save(changed)


@dataclass(frozen=True)
class Night:
    """What an audit took; memory is the most that one process had.

    Attributes:
        jobs: by job, seconds by the clock and of all cores together, which other work on the machine hardly changes.
    """

    seconds: float
    core_seconds: float
    driver_mib: int
    java_mib: int
    worker_mib: int
    jobs: dict[str, tuple[float, float]]


def audit(cluster: Cluster, out: Path) -> Night:
    """Audit as a process of its own."""
    command = [sys.executable, "-m", "pulsar_backlog.cli", "audit", str(cluster.objects), "--admin", str(cluster.admin)]
    seen = watch([*command, "--cluster", "bench", "--out", str(out), "--fail-on", "never"])
    peak = {kind: bytes_ // _PEAK for kind, bytes_ in seen.peak_bytes.items()}
    runs = DeltaTable(out / "tables" / "runs").to_pyarrow_table().sort_by("started")
    times = {}
    for run in runs.select(["job", "started", "seconds"]).to_pylist():
        began = run["started"].timestamp()
        times[run["job"]] = round(run["seconds"], 1), round(seen.used_between(began, began + run["seconds"]), 1)
    return Night(
        round(seen.seconds, 1), round(seen.core_seconds[-1], 1), peak.get("driver", 0), peak.get("java", 0),
        peak.get("worker", 0), times,
    )  # fmt: skip


def measure(topics: int, nights: int, folder: Path) -> list[Night]:
    """The first audit and those of the nights after it, printed as they come."""
    cluster, out, seen = Cluster(folder), folder / "out", []
    first_day(cluster, topics)
    for day in range(nights + 1):
        if day:
            next_day(cluster, day)
        seen.append(audit(cluster, out))
        print(json.dumps({"night": day, **vars(seen[-1])}), flush=True)
    return seen


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--nights", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder if not given")
    options = parser.parse_args(argv)
    if options.folder is not None:
        measure(options.topics, options.nights, options.folder)
        return 0
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-nights-") as folder:
        measure(options.topics, options.nights, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
