"""Batched Avro messages of 1 KB: decoded into a table by the data source, next to Pulsar's Java client.

The client reads them from a broker on loopback (`make test-broker` fetches it) and decodes each (AUTO_CONSUME). Our
source reads what the broker offloaded, from a folder, decodes it by the same schema and writes a Delta table.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

import pulsar_backlog
from bench.measuring import interleaved, median_ratio
from bench.scorecard import Goal, Scorecard
from tests.broker.conftest import Admin, topic_path
from tests.broker.distribution import CACHE, broker_home
from tests.broker.offloading import BUCKET, offload, offloading_broker
from tests.broker.process import Broker
from tests.ledgers.conftest import S3Server, running_s3_server

TOPIC = "persistent://public/default/typed"
READER = Path(__file__).with_name("TypedReader.java")
SETTINGS = {"maxMessageSize": str(5 * 1024 * 1024), "managedLedgerDataReadPriority": "bookkeeper-first"}


@dataclass(frozen=True)
class Typed:
    """Messages on a broker and in a folder.

    Attributes:
        folder: what was offloaded.
        options: of the data source.
        read: has the client read and decode all; how many.
    """

    folder: Path
    options: dict[str, str]
    read: Callable[[], int]


@contextmanager
def typed_messages(folder: Path, messages: int) -> Iterator[Typed]:
    """A topic that the Java client wrote, offloaded."""
    with (
        running_s3_server() as server,
        offloading_broker(server, folder / "broker", SETTINGS, jvm=()) as broker,
        _client(broker, messages) as read,
    ):
        admin = Admin(broker)
        admin.request("PUT", f"{topic_path(TOPIC)}/unload")
        offload(admin, TOPIC)
        options = {"topic": TOPIC, "decode": "schema", "admin_url": broker.admin_url,
                   "token_file": str(broker.token_file), "token_without_tls": "true"}  # fmt: skip
        yield Typed(_downloaded(server, folder / "objects"), options, read)


@contextmanager
def _client(broker: Broker, messages: int) -> Iterator[Callable[[], int]]:
    """A JVM that wrote the messages, and reads them whenever asked."""
    argv = ["java", "-Xmx512m", "-cp", f"{broker_home() / 'lib'}/*", str(READER), broker.service_url]
    with subprocess.Popen(  # noqa: S603 - our own, no shell
        [*argv, str(broker.token_file), TOPIC, str(messages)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
    ) as process:  # fmt: skip

        def heard(word: str) -> str:
            for line in process.stdout or ():
                if line.startswith(word):  # its logger may speak between
                    return line
            raise RuntimeError(f"the Java client ended with {process.wait()}")

        def read() -> int:
            assert process.stdin is not None
            process.stdin.write("\n")
            return int(heard("read ").split()[1])

        try:
            heard("written")
            yield read
        finally:
            process.terminate()


def _downloaded(server: S3Server, folder: Path) -> Path:
    folder.mkdir()
    store = server.client()
    for found in store.list_objects_v2(Bucket=BUCKET)["Contents"]:
        store.download_file(BUCKET, found["Key"], str(folder / Path(found["Key"]).name))
    return folder


def measure_typed(spark: SparkSession, messages: int, repetitions: int, card: Scorecard) -> None:
    """The line of the scorecard; without a broker it is told so."""
    if not CACHE.is_dir():
        card.tell("typed messages", None, "not measured: there is no broker here, make test-broker fetches one")
        return
    pulsar_backlog.register(spark)
    with tempfile.TemporaryDirectory() as work, typed_messages(Path(work), messages) as typed:
        places = (f"{work}/table-{number}" for number in count())
        written: list[str] = []

        def decode() -> None:
            written.append(next(places))
            frame = spark.read.format("pulsar-backlog").options(**typed.options).load(str(typed.folder))
            frame.select("publish_time", "value.*").write.format("delta").save(written[-1])

        found = [typed.read()]
        decode()
        timings = interleaved({"Java client": typed.read, "decoded into a table": decode}, repetitions)
        found.append(spark.read.format("delta").load(written[-1]).select("id").distinct().count())
    card.tell_rates(timings, messages / 1e6, "M messages/s")
    ratio = median_ratio(timings["Java client"], timings["decoded into a table"])
    card.goals += [
        Goal("Avro messages into a table, against the Java client", ratio, "x", at_least=5),
        Goal("messages that either has not", max(messages - one for one in found), "", at_most=0),
    ]
