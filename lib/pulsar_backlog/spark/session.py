"""The Spark session: one place for every setting, so that jobs behave the same however they are started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, cast

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.interrupts import interrupt
from pulsar_backlog.logs import keep_trace, log_messages, log_stream
from pulsar_backlog.spark import s3a
from pulsar_backlog.spark.choice import chosen_settings, is_submitted
from pulsar_backlog.spark.class_archive import java_options
from pulsar_backlog.spark.deaths import headline, is_killed, note_java_memory, quiet_accumulators
from pulsar_backlog.spark.jars import check_releases, delta_jars, s3a_jars
from pulsar_backlog.spark.java import check_java, check_start
from pulsar_backlog.spark.mismatches import refusals_as_usage_errors
from pulsar_backlog.spark.scratch import driver_folders, with_private_folders
from pulsar_backlog.tableio.work_size import fit_work
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tasks.beside import begin_all
from pulsar_backlog.tasks.cores import cores
from pulsar_backlog.tasks.pool import own_pool

REQUIRED_SETTINGS: dict[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    # Timestamps other readers understand (delta-rs, DuckDB, Trino).
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Level 1 gives files of the same size here; a dictionary of values that hardly repeat is only thrown away.
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    **{f"spark.hadoop.parquet.enable.dictionary#{column}": "false" for column in TABLES["entries"].unrepeated()},
    # Spark notes for each operation on a column which line of Python made it: a dozen calls to the JVM for each one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
"""Settings a cluster must have too; `conf/spark/` holds them for spark-submit."""

LOCAL_SETTINGS: dict[str, str] = {
    "spark.master": "local[*]",
    # A core works on one task. Smaller heaps stay in use: memory that is touched for the first time is slow.
    "spark.driver.memory": f"{min(max(cores(), 2), 4) * 832}m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    # A batch job wants throughput, not short pauses. Arrow checks every access otherwise; batches are made by our own
    # workers. The second compiler gets only what is called forty times as often as it would ask for.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseParallelGC -XX:GCTimeRatio=9 "
        "-XX:Tier4InvocationThreshold=200000 -XX:Tier4MinInvocationThreshold=24000 "
        "-XX:Tier4CompileThreshold=600000 -XX:Tier4BackEdgeThreshold=1600000 "
        "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false "
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    ),
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "pulsar_backlog.spark.daemon",
    "spark.sql.catalogImplementation": "in-memory",
}
"""Settings for one machine; spark-submit's own take precedence."""

_S3A_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_ASKED_OFTEN = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


def start_session(
    app: str, out: str | None = None, others: Sequence[str | None] = (), reads_entries: bool = True
) -> SparkSession:
    """The running session, or a new one with Delta.

    Under spark-submit the master and memory come from there; alone it runs `local[*]`.

    Args:
        app: name of a new session.
        out: folder of the tables it is to work on; None where nobody knows how large they are.
        others: more folders or buckets of tables.
        reads_entries: whether the table `entries` is read too, see `fit_work`.

    Raises:
        UsageError: Java or the jars cannot be had, or a cluster does not take the application.
    """
    places = (out, *others)
    needs_s3a = s3a.is_needed(places)
    with refusals_as_usage_errors():
        session = SparkSession.getActiveSession() or _new_session(app, needs_s3a)
    if needs_s3a:
        s3a.connect(session, places, own_machine=not is_submitted())
    fit_work(session, out, reads_entries)
    return session


def _new_session(app: str, needs_s3a: bool) -> SparkSession:
    # Workers must run this interpreter, not the first `python3` on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = REQUIRED_SETTINGS
    starts_java = not is_submitted() and SparkContext._gateway is None
    if starts_java:
        check_java()
    own_pool().close()  # its memory is for Spark's workers
    begin_all()
    if is_submitted():
        SparkContext._ensure_initialized()  # so that the settings of spark-submit can be read
        settings = {**driver_folders(dict(SparkConf().getAll())), **settings}
    else:
        settings = {**_local_settings(needs_s3a), **chosen_settings(), **settings}
        if starts_java:
            settings = with_private_folders(settings)
            note_java_memory(settings.get("spark.driver.memory"))
            _start_java(SparkConf().setAppName(app).setAll(list(settings.items())))
    conf = SparkConf().setAppName(app).setAll(list(settings.items()))
    context = SparkContext.getOrCreate(conf)
    _end_java_on_interrupt(SparkContext._gateway)  # instead of Spark's own handler, before the session is made
    if is_submitted():
        _check_submitted(context, needs_s3a)
    builder = SparkSession.builder.appName(app)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    # Under spark-submit the terminal is all that Java writes to. What goes wrong reaches Python as an exception; the
    # JVM's own stack traces would bury the message.
    context.setLogLevel("FATAL" if is_submitted() else "WARN")
    _know_classes(session)
    return session


def _check_submitted(context: SparkContext, needs_s3a: bool) -> None:
    """Look for the classes that only jars of spark-submit bring, before a session does and says so in a page of traces.

    Raises:
        UsageError: one is not there, or Spark, pyspark and Delta are of different releases.
    """
    context.setLogLevel("FATAL")
    loader = cast(Any, context._jvm).java.lang.Thread.currentThread().getContextClassLoader()
    for name in (REQUIRED_SETTINGS["spark.sql.extensions"], *((_S3A_CLASS,) if needs_s3a else ())):
        try:
            java_class = loader.loadClass(name)
        except Py4JJavaError:
            words = " s3a" if needs_s3a else ""
            raise UsageError(
                f'spark-submit has no jar with {name}: give it --jars "$(pulsar-backlog jars{words})"'
            ) from None
        if name == REQUIRED_SETTINGS["spark.sql.extensions"]:
            check_releases(context.version, _file_of(java_class))


def _file_of(java_class: Any) -> str:
    """Name of the jar that a class comes from; empty where Java does not say."""
    source = java_class.getProtectionDomain().getCodeSource()
    return "" if source is None else Path(source.getLocation().getPath()).name


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


def check_java_start() -> None:
    """Start a JVM with the flags that Spark gives the session's, and end it.

    Raises:
        UsageError: it does not start.
    """
    flags = {key: value for key, value in LOCAL_SETTINGS.items() if key.startswith("spark.driver.")} | chosen_settings()
    check_start(cast(Any, _find_spark_home)(), flags)


def _java_starts() -> bool:
    try:
        check_java_start()
    except UsageError:
        return False
    return True


def _start_java(conf: SparkConf) -> None:
    """Start the JVM that the session will use; what it says goes to the log file.

    Raises:
        UsageError: there is no room for its temporary files, or it does not start.
        PySparkRuntimeError: somebody ended it.
    """
    log_messages()  # Py4J logs what it lets through as an exception anyway
    started: list[subprocess.Popen[bytes]] = []
    try:
        with log_stream() as stream, _started_processes(started):
            to_log = {} if stream is None else {"stdout": stream, "stderr": stream}
            gateway = launch_gateway(conf, to_log)  # type: ignore[no-untyped-call]
    except (PySparkRuntimeError, OSError) as error:
        if started and is_killed(started[0], _java_starts):
            raise  # nothing that a user typed is at fault
        raise UsageError(f"Java could not be started ({headline(error)}): {keep_trace(error)}") from error
    _end_java_on_interrupt(gateway)
    quiet_accumulators()
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


@contextmanager
def _started_processes(started: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Let Ctrl-C in the block end the JVM that is being started, and then the program; `started` takes its process.

    A JVM that is left alone while it starts finds nobody to report to, and never ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_interrupted = False

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)
            if is_interrupted:
                end()

    def end(*_: object) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        if started:  # else it is being forked, and known in a moment
            started[0].kill()
            started[0].wait()
            interrupt()

    before = signal.signal(signal.SIGINT, end)
    java_gateway.Popen = Recorded  # type: ignore[attr-defined]
    try:
        yield
    finally:
        java_gateway.Popen = subprocess.Popen  # type: ignore[attr-defined]
        signal.signal(signal.SIGINT, before)
    if is_interrupted:
        interrupt()


def _end_java_on_interrupt(gateway: Any) -> None:
    """Let Ctrl-C end the JVM at once, and then the program.

    Spark's own handler asks the JVM to cancel its jobs, on the very connection on which an answer is awaited.
    """
    process = getattr(gateway, "proc", None)
    if process is None or threading.current_thread() is not threading.main_thread():
        return

    def end(*_: object) -> NoReturn:
        process.kill()  # its temporary files lie in folders that this process removes
        interrupt()

    signal.signal(signal.SIGINT, end)
