"""Batched Avro messages of 1 KB: decoded into a table, next to Pulsar's Java client.

The client reads them from a broker on loopback (`make test-broker` fetches it) and decodes each (AUTO_CONSUME), and
writes nothing. We read what the broker offloaded, from a folder, decode it by the same schema and write a Delta table:
by the Python API and delta-rs, as docs/python.md shows, and by Spark's data source with the columns as its schema.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import deltalake
import pyarrow as pa
from pyspark.sql import SparkSession

import pulsar_backlog
from bench.measuring import core_ratio, interleaved, median_ratio
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
        options: by the names of the data source's, also those of `open`.
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
        options = {"admin_url": broker.admin_url, "token_file": str(broker.token_file), "token_without_tls": "true"}
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


def decoded(typed: Typed) -> pa.RecordBatchReader:
    """The messages by the Python API, a column for each field."""
    backlog = pulsar_backlog.open(str(typed.folder), **typed.options)  # type: ignore[arg-type]  # as texts
    rows = backlog.messages(TOPIC, decode=True, columns=("publish_time", "value"))
    schema = pa.schema([rows.schema.field("publish_time"), *rows.schema.field("value").type])
    flat = (pa.RecordBatch.from_arrays([one.column(0), *one.column(1).flatten()], schema=schema) for one in rows)
    return pa.RecordBatchReader.from_batches(schema, flat)


def into_table(typed: Typed, place: str) -> None:
    """The messages as a Delta table, by the Python API and delta-rs."""
    deltalake.write_deltalake(place, decoded(typed))


def into_table_by_spark(spark: SparkSession, typed: Typed, place: str) -> None:
    """The same by the data source, with the columns that are wanted as its schema."""
    reader = spark.read.format("pulsar-backlog").options(topic=TOPIC, decode="schema", **typed.options)
    wanted = reader.load(str(typed.folder)).select("publish_time", "value").schema
    frame = reader.schema(wanted).load(str(typed.folder))
    frame.select("publish_time", "value.*").write.format("delta").save(place)


def measure_typed(spark: SparkSession, messages: int, repetitions: int, card: Scorecard) -> None:
    """The lines of the scorecard; without a broker it is told so."""
    if not CACHE.is_dir():
        card.tell("typed messages", None, "not measured: there is no broker here, make test-broker fetches one")
        return
    pulsar_backlog.register(spark)
    with tempfile.TemporaryDirectory() as work, typed_messages(Path(work), messages) as typed:
        numbers = count()
        ways: dict[str, Callable[[], object]] = {
            "Java client": typed.read,
            "into a table": lambda: into_table(typed, f"{work}/ours-{next(numbers)}"),
            "into a table by Spark": lambda: into_table_by_spark(spark, typed, f"{work}/spark-{next(numbers)}"),
        }
        rows = decoded(typed).read_all()
        floor = {"rows in memory into a table": lambda: deltalake.write_deltalake(f"{work}/rows-{next(numbers)}", rows)}
        found = [typed.read()]
        for way in list(ways.values())[1:]:
            way()
        timings = interleaved(ways | floor, repetitions)
        tables = [*Path(work).glob("ours-*"), *Path(work).glob("spark-*")]
        found += [spark.read.format("delta").load(str(one)).select("id").distinct().count() for one in tables]
    card.tell_rates(timings, messages / 1e6, "M messages/s")
    client = timings["Java client"]
    ratios = {name: (median_ratio(client, timings[name]), core_ratio(client, timings[name])) for name in list(ways)[1:]}
    words = "; ".join(
        f"{name} {clock:.2f} by the clock, {cores:.2f} in core seconds" for name, (clock, cores) in ratios.items()
    )
    card.tell("Java client's time against ours", ratios, words)
    card.goals += [
        Goal("Avro messages into a table, against the Java client", ratios["into a table"][0], "x", at_least=5),
        Goal("messages that any of them has not", max(messages - one for one in found), "", at_most=0),
    ]
