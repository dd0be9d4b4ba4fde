"""A live topic: 1 KB entries read by two processes as tasks read them, next to Pulsar's Java reader and Python client.

    python -m bench.live [--entries 300000] [--repetitions 5]

starts a broker on loopback (`make test-broker` fetches it), publishes, reads, and ends it. Each reader has the topic to
itself while it reads. Pulsar's own take one message after the other, with a queue of 10,000, and drop it.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pulsar
import pyarrow as pa

from bench.baseline_crc import pool
from bench.measuring import below, interleaved, machine, median_ratio, processes
from bench.scorecard import Goal, Scorecard
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.live.service import DEFAULT_RATE, Live
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.entries import TABLE
from tests.broker.distribution import broker_home
from tests.broker.process import Broker, running_broker

ROOT = Path(__file__).parent.parent
TOPIC = "persistent://public/default/bench"
PAYLOAD_BYTES = 1024
PROCESSES = 2
QUEUE = 10_000
UNLIMITED = 1 << 40

Task = tuple[Live, ScanUnit]


@dataclass(frozen=True)
class Served:
    """A topic on a running broker.

    Attributes:
        broker: that serves it.
        entries: that it holds.
        live: how it is reached, and a snapshot of it; without a limit of the rate.
    """

    broker: Broker
    entries: int
    live: Live

    def tasks(self, rate: int = UNLIMITED) -> list[Task]:
        """What tasks read, each with its share of a rate."""
        live = replace(self.live, max_rate=rate).shared_by(PROCESSES)
        copies = take_inventory(open_source(live.service_url, live=live)).copies
        return [(live, unit) for copy in copies for unit in units_of(copy)]


@contextmanager
def served(folder: Path, entries: int) -> Iterator[Served]:
    """A broker with a topic of entries of 1 KB."""
    settings = {"maxMessageSize": str(5 * 1024 * 1024), "brokerEntryMetadataInterceptors": ""}
    with running_broker(folder, settings, jvm=()) as broker:  # with all compilers, as brokers run
        with _client(broker) as client:
            _publish(client, entries)
        admin = folder / "admin"
        access = ["--admin-url", broker.admin_url, "--token-file", str(broker.token_file)]
        subprocess.run(  # noqa: S603 - our own, no shell
            [sys.executable, "-m", "pulsar_backlog.cli", "snapshot", *access, "--topic", TOPIC, "--out", str(admin)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        token = str(broker.token_file)
        yield Served(broker, entries, Live(broker.service_url, broker.admin_url, str(admin), UNLIMITED, token))


def _publish(client: pulsar.Client, entries: int) -> None:
    producer = client.create_producer(
        TOPIC, batching_enabled=False, max_pending_messages=5000, block_if_queue_full=True
    )
    failed: list[pulsar.Result] = []
    for number in range(entries):
        payload = number.to_bytes(8) * (PAYLOAD_BYTES // 8)
        producer.send_async(payload, lambda result, _: None if result == pulsar.Result.Ok else failed.append(result))
    producer.flush()
    producer.close()
    if failed:
        raise RuntimeError(f"{len(failed)} messages were not stored: {failed[0]}")


@contextmanager
def _client(broker: Broker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(
        broker.service_url, authentication=pulsar.AuthenticationToken(broker.token_file.read_text()),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )  # fmt: skip
    try:
        yield client
    finally:
        client.close()


@dataclass
class Reading:
    """A way to read the topic once, and what its own processes used for it: without the broker, which does most.

    Attributes:
        read: reads all; how many messages or entries.
        pids: processes that read.
        core_seconds: of each time.
    """

    read: Callable[[], int]
    pids: Callable[[], list[int]]
    core_seconds: list[float] = field(default_factory=list)

    def __call__(self) -> int:
        """Read once."""
        before = self._ticks()
        found = self.read()
        self.core_seconds.append((self._ticks() - before) / os.sysconf("SC_CLK_TCK"))
        return found

    def _ticks(self) -> int:
        running = processes()
        return sum(running[pid].own_ticks for pid in self.pids())


@contextmanager
def _java(topic: Served) -> Iterator[Reading]:
    """A JVM that goes on."""
    jars = f"{broker_home() / 'lib'}/*"
    argv = ["java", "-Xmx512m", "-cp", jars, str(ROOT / "bench" / "LiveReader.java"), topic.broker.service_url]
    with subprocess.Popen(  # noqa: S603 - our own, no shell
        [*argv, str(topic.broker.token_file), TOPIC, str(topic.entries)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
    ) as process:  # fmt: skip

        def read() -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            for line in process.stdout:
                if line.startswith("read "):  # its logger may speak between
                    return int(line.split()[1])
            raise RuntimeError(f"the Java reader ended with {process.wait()}")

        yield Reading(read, lambda: [process.pid])


def read_by_client(client: pulsar.Client, entries: int) -> int:
    """All messages, by the Python client; how many."""
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest, receiver_queue_size=QUEUE)
    for _ in range(entries):
        reader.read_next()
    reader.close()
    return entries


def walk(task: Task) -> int:
    """Read a unit's entries as a task does, and drop them; how many."""
    live, unit = task
    return sum(len(batch.entry_id) for batch in walk_unit(open_source(live.service_url, live=live), unit))


def scan(task: Task, schema: pa.Schema) -> int:
    """The same, and decode them into Arrow."""
    live, unit = task
    source = open_source(live.service_url, live=live)
    return sum(piece.account.decoded for piece in scan_unit(source, unit, "bench", schema))


def measure_live(topic: Served, repetitions: int, card: Scorecard) -> None:
    """The lines of the scorecard."""
    schema = arrow_schema(TABLE)
    tasks, limited = topic.tasks(), topic.tasks(DEFAULT_RATE)
    with ExitStack() as stack:
        workers: ProcessPoolExecutor = stack.enter_context(pool(PROCESSES))
        client = stack.enter_context(_client(topic.broker))
        java = stack.enter_context(_java(topic))
        pids = [pid for pid in below(os.getpid(), processes()) if "python" in processes()[pid].name]
        actions = {
            "Java reader": java,
            "Python client": Reading(lambda: read_by_client(client, topic.entries), lambda: [os.getpid()]),
            "live read": Reading(lambda: sum(workers.map(walk, tasks)), lambda: pids),
            "live scan": Reading(lambda: sum(workers.map(scan, tasks, [schema] * len(tasks))), lambda: pids),
        }
        counts = {name: action() for name, action in actions.items()}  # compiles, and warms caches
        timings = interleaved({**actions}, repetitions)
        began = time.perf_counter()
        found = sum(workers.map(walk, limited))
        seconds = time.perf_counter() - began
    card.tell_rates(timings, topic.entries / 1e6, "M entries/s")
    used = {name: statistics.median(one.core_seconds[1:]) / topic.entries * 1e6 for name, one in actions.items()}
    for name, microseconds in used.items():
        card.tell(f"{name}, its own processes", microseconds, f"{microseconds:.1f} core us per entry")
    ours = used["live read"] or math.nan  # less than a tick of the clock
    cheapest = min(used["Java reader"], used["Python client"])
    fastest = min(timings["Java reader"], timings["Python client"], key=lambda timing: timing.median)
    ratio = median_ratio(fastest, timings["live read"])
    rate = found * PAYLOAD_BYTES / seconds
    card.goals += [
        Goal("live reading, against the faster of Java and Python", ratio, "x", at_least=3),
        Goal("core us of who reads: the cheaper of both, against live", cheapest / ours, "x", at_least=3),
        Goal("payload bytes a second, against --max-rate", rate / DEFAULT_RATE, "x", at_most=1),
        Goal("entries not read", max(abs(topic.entries - count) for count in (*counts.values(), found)), "", at_most=0),
    ]


def main(argv: list[str]) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.live", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--entries", type=int, default=300_000)
    parser.add_argument("--repetitions", type=int, default=5)
    args = parser.parse_args(argv)
    card = Scorecard()
    print(machine())
    with tempfile.TemporaryDirectory() as work, served(Path(work), args.entries) as topic:
        measure_live(topic, args.repetitions, card)
    print(card.table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
