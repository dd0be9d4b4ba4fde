"""The Spark session: one place for every setting, so that jobs behave the same however they are started."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, cast

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.logs import keep_trace, log_messages, log_stream
from pulsar_backlog.storage import s3a
from pulsar_backlog.storage.class_archive import java_options
from pulsar_backlog.storage.commits import TableLog
from pulsar_backlog.storage.endings import headline
from pulsar_backlog.storage.jars import delta_jars, s3a_jars
from pulsar_backlog.storage.java import check_java
from pulsar_backlog.storage.places import local_out, table_path
from pulsar_backlog.storage.table_logs import has_own_log, own_log
from pulsar_backlog.tables import TABLES

REQUIRED_SETTINGS: dict[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    # Timestamps other readers understand (delta-rs, DuckDB, Trino).
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark's row-wise Parquet writer bounds the scan. Level 1 gives files of the same size here, and a dictionary
    # of values that hardly repeat is built only to be thrown away: together a third less time to write `entries`.
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    **{f"spark.hadoop.parquet.enable.dictionary#{column}": "false" for column in TABLES["entries"].unique},
    # Spark notes for each operation on a column which line of Python made it: a dozen calls to the JVM for each one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
"""Settings a cluster must have too; `conf/spark/` holds them for spark-submit."""

LOCAL_SETTINGS: dict[str, str] = {
    "spark.master": "local[*]",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    # A batch job wants throughput, not short pauses. Arrow checks every access otherwise; batches are made by our own
    # workers. The second compiler gets only what is called forty times as often as it would ask for.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=200000 -XX:Tier4MinInvocationThreshold=24000 "
        "-XX:Tier4CompileThreshold=600000 -XX:Tier4BackEdgeThreshold=1600000 "
        "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false "
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    ),
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "pulsar_backlog.spark_daemon",
    "spark.sql.catalogImplementation": "in-memory",
}
"""Settings for one machine; spark-submit's own take precedence."""

PARTITIONS = "spark.sql.shuffle.partitions"
WORK_SETTINGS: dict[str, str] = {
    # At least; `partitions_for` says how many more. Spark's 200 are 200 tasks for a handful of rows.
    PARTITIONS: "4",
    # Delta's own is 50 tasks to read the log of each table, and an audit has many small ones.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}
"""Settings that fit the work, wherever it is done: every job sets those that nobody chose (a properties file, `--conf`,
`spark:` of pipelines.yaml). The one place for them."""

PARTITION_BYTES = 32 * 1024 * 1024
"""Bytes of the table `entries` for which a shuffle gets one more partition; about a million entries."""

SMALL_WORK_SETTINGS: dict[str, str] = {
    # To write, compile and warm up code for each query takes longer than the queries of a small audit.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings while work is small; where it is not, those that the session began with."""
SMALL_WORK_BYTES = 8 * 1024 * 1024
"""Size of the table `entries` (about 250,000 entries) up to which queries are interpreted."""

HELD_WORK_SETTINGS: dict[str, str] = {
    # Small tables lie in one partition (`storage.delta.frame_of`): nothing has to be moved for a join or a sum, and a
    # query is one job of one task. A plan that adapts, and a table that is broadcast, are jobs of their own.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",
}
"""Settings while work is so small that the driver holds what queries give, see `holds_results`."""
HELD_WORK_BYTES = 1024 * 1024
"""Size of the table `entries` (about 30,000 entries) up to which that is so."""
_HOLDS = "spark.pulsar_backlog.holdsResults"
_ASKED_OFTEN = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


_chosen: dict[str, str] = {}


def choose(settings: Mapping[str, str]) -> None:
    """Let the next new session have these Spark settings; what this program requires wins. spark-submit has its own."""
    _chosen.clear()
    _chosen.update(settings)


def expect_brief_work() -> None:
    """Let the JVM of the next new session have one compiler (docs/decisions/0045); who chose options keeps them."""
    _chosen.setdefault("spark.driver.defaultJavaOptions", "-XX:TieredStopAtLevel=1")


def start_session(app: str, out: str | None = None, others: Sequence[str | None] = ()) -> SparkSession:
    """The running session, or a new one with Delta.

    Under spark-submit the master and memory come from there; alone it runs `local[*]`.

    Args:
        app: name of a new session.
        out: folder of the tables it is to work on; None where nobody knows how large they are.
        others: more folders or buckets of tables.

    Raises:
        UsageError: Java or the jars cannot be had.
    """
    places = (out, *others)
    needs_s3a = s3a.is_needed(places)
    session = SparkSession.getActiveSession() or _new_session(app, needs_s3a)
    if needs_s3a:
        s3a.connect(session, places, own_machine=not _is_submitted())
    entries_bytes = 0 if out is None else entries_bytes_of(session, out)
    _suit(session, entries_bytes)
    known = out is not None and has_own_log(out)
    few = known and entries_bytes <= HELD_WORK_BYTES
    session.conf.set(_HOLDS, str(few).lower())
    _set(session, HELD_WORK_SETTINGS, few)
    # Where tables are left to Spark its writer writes the first entries, however many they are.
    small = entries_bytes <= SMALL_WORK_BYTES and (known or entries_bytes > 0)
    _set(session, SMALL_WORK_SETTINGS, small)
    return session


def prepare_for_many(session: SparkSession, partitions: int) -> None:
    """Set what fits work that is not small though `entries` are few, until a job starts the session again."""
    session.conf.set(_HOLDS, "false")
    _set(session, HELD_WORK_SETTINGS | SMALL_WORK_SETTINGS, False)
    if PARTITIONS not in _given(session.sparkContext):
        session.conf.set(PARTITIONS, str(partitions))


def _set(session: SparkSession, settings: Mapping[str, str], on: bool) -> None:
    for name, value in settings.items():
        if on:
            session.conf.set(name, value)
        else:
            session.conf.unset(name)


def holds_results(session: SparkSession) -> bool:
    """Whether the driver gathers what is kept and written: one partition, no caches, no tasks that write files."""
    return session.conf.get(_HOLDS, "false") == "true"


def entries_bytes_of(session: SparkSession, out: str) -> int:
    """Bytes of the table `entries` in `out`, 0 where it is not there yet."""
    folder, table = local_out(out), TABLES["entries"]
    if folder is not None:
        return sum(path.stat().st_size for path in (folder / "tables" / "entries").rglob("*.parquet"))
    log = own_log(out, table)
    return TableLog(session, table_path(out, table)).size_bytes if log is None else log.size_bytes


def partitions_for(entries_bytes: int) -> int:
    """Partitions of a shuffle where `entries` is so large; adaptive execution joins those that stay small."""
    return max(int(WORK_SETTINGS[PARTITIONS]), -(-entries_bytes // PARTITION_BYTES))


@lru_cache(maxsize=1)
def _given(context: SparkContext) -> frozenset[str]:
    """Names of the settings that the session began with; each is a call to Java, and each job asks."""
    return frozenset(key for key, _ in context.getConf().getAll())


def _suit(session: SparkSession, entries_bytes: int) -> None:
    """Set what fits the work and nobody chose."""
    given = _given(session.sparkContext)
    for key, value in (WORK_SETTINGS | {PARTITIONS: str(partitions_for(entries_bytes))}).items():
        if key not in given:
            session.conf.set(key, value)


def _is_submitted() -> bool:
    """Whether spark-submit started this program."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _new_session(app: str, needs_s3a: bool) -> SparkSession:
    # Workers must run this interpreter, not the first `python3` on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = REQUIRED_SETTINGS
    if not _is_submitted():
        settings = {**_local_settings(needs_s3a), **_chosen, **settings}
        if SparkContext._gateway is None:
            _start_java(SparkConf().setAppName(app).setAll(list(settings.items())))
    builder = SparkSession.builder.appName(app)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    # Under spark-submit the terminal is all that Java writes to. What goes wrong reaches Python as an exception; the
    # JVM's own stack traces would bury the message.
    session.sparkContext.setLogLevel("FATAL" if _is_submitted() else "WARN")
    _end_java_on_interrupt(SparkContext._gateway)  # Spark has set its own by now
    _know_classes(session)
    return session


def _know_classes(session: SparkSession) -> None:
    """Keep what Py4J finds under names that each column asks for: it looks through three hundred jars every time."""
    view = cast(Any, session.sparkContext._jvm)
    for name in _ASKED_OFTEN:
        setattr(view, name, getattr(view, name))


def _local_settings(needs_s3a: bool) -> dict[str, str]:
    jars = delta_jars()
    options = f"{LOCAL_SETTINGS['spark.driver.extraJavaOptions']} {java_options(jars)}".rstrip()
    return LOCAL_SETTINGS | {
        "spark.driver.extraJavaOptions": options,
        # On the class path and not in `spark.jars`, whose classes no archive holds.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        **({"spark.jars": ",".join(map(str, s3a_jars()))} if needs_s3a else {}),
    }


def _start_java(conf: SparkConf) -> None:
    """Start the JVM that the session will use; what it says goes to the log file.

    Raises:
        UsageError: there is no Java that will do, no room for its temporary files, or it does not start.
    """
    check_java()
    log_messages()  # Py4J logs what it lets through as an exception anyway
    try:
        with log_stream() as stream, _interrupts_noted() as noted:
            to_log = {} if stream is None else {"stdout": stream, "stderr": stream}
            gateway = launch_gateway(conf, to_log)  # type: ignore[no-untyped-call]
    except (PySparkRuntimeError, OSError) as error:
        raise UsageError(f"Java could not be started ({headline(error)}): {keep_trace(error)}") from error
    _end_java_on_interrupt(gateway)
    if noted:
        gateway.proc.terminate()
        raise KeyboardInterrupt
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


@contextmanager
def _interrupts_noted() -> Iterator[list[int]]:
    """Let the first Ctrl-C in the block wait for its end; a second one does not.

    A JVM that is left alone while it starts finds nobody to report to, and never ends.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(number: int, _: object) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _end_java_on_interrupt(gateway: Any) -> None:
    """Let Ctrl-C end the JVM at once, and then the program.

    Spark's own handler asks the JVM to cancel its jobs, on the very connection on which an answer is awaited.
    """
    process = getattr(gateway, "proc", None)
    if process is None or threading.current_thread() is not threading.main_thread():
        return

    def end(*_: object) -> NoReturn:
        process.terminate()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end)
