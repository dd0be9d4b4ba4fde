"""How large the work of a job is, and the settings that fit it; each job sets those that nobody chose."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

from pyspark import SparkContext
from pyspark.sql import SparkSession

from pulsar_backlog.tableio.places import local_out, table_path
from pulsar_backlog.tableio.spark_log import SparkLog
from pulsar_backlog.tableio.table_logs import has_log_without_spark, log_without_spark
from pulsar_backlog.tables import TABLES

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

WORKLOAD_TABLES = ("noted_entries", "ledgers", "ledger_facts", "producer_facts", "rejects")
"""Tables whose rows jobs after the scan look at one by one: their bytes are the size of the work."""
ENTRIES_SHARE = 8
"""Of the bytes of `entries`, where a job reads them too, the part that counts: a row there has more columns."""

PARTITION_BYTES = 4 * 1024 * 1024
"""Size of the work for which a shuffle gets one more partition; some 300,000 to 500,000 chunk entries."""

SMALL_WORK_SETTINGS: dict[str, str] = {
    # To write, compile and warm up code for each query takes longer than the queries of a small audit.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings while work is small; where it is not, those that the session began with."""
SMALL_WORK_BYTES = 1024 * 1024
"""Size of the work (about 100,000 chunk entries) up to which queries are interpreted."""

DRIVER_WORK_SETTINGS: dict[str, str] = {
    # Small tables lie in one partition (`tableio.spark_rows.frame_of`): nothing is moved for a join or a sum, and a
    # query is one job of one task. A plan that adapts, and a table that is broadcast, are jobs of their own.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",
}
"""Settings while work is so small that results are collected to the driver, see `collects_to_driver`."""
DRIVER_WORK_BYTES = 384 * 1024
"""Size of the work (about 30,000 chunk entries) up to which that is so."""
_COLLECTS = "spark.pulsar_backlog.collectsToDriver"


def fit_work(session: SparkSession, out: str | None, reads_entries: bool) -> None:
    """Set what fits the tables below `out`, until a job starts the session again.

    Args:
        session: whose settings.
        out: folder or bucket of tables; None where nobody knows how large they are.
        reads_entries: whether `entries` are read too, and not only what the scan noted of them.
    """
    size = 0 if out is None else work_bytes(session, out, reads_entries)
    given = _given(session.sparkContext)
    for key, value in (WORK_SETTINGS | {PARTITIONS: str(partitions_for(size))}).items():
        if key not in given:
            session.conf.set(key, value)
    is_known = out is not None and has_log_without_spark(out)
    few = is_known and size <= DRIVER_WORK_BYTES
    session.conf.set(_COLLECTS, str(few).lower())
    _set(session, DRIVER_WORK_SETTINGS, few)
    # Where tables are left to Spark its writer writes the first entries, however many they are.
    _set(session, SMALL_WORK_SETTINGS, size <= SMALL_WORK_BYTES and (is_known or size > 0))


def prepare_for_many(session: SparkSession, partitions: int) -> None:
    """Set what fits work that is not small though tables are, until a job starts the session again."""
    session.conf.set(_COLLECTS, "false")
    _set(session, DRIVER_WORK_SETTINGS | SMALL_WORK_SETTINGS, False)
    if PARTITIONS not in _given(session.sparkContext):
        session.conf.set(PARTITIONS, str(partitions))


def collects_to_driver(session: SparkSession) -> bool:
    """Whether results are collected to the driver: one partition, no caches, no tasks that write files."""
    return session.conf.get(_COLLECTS, "false") == "true"


def work_bytes(session: SparkSession, out: str, reads_entries: bool) -> int:
    """The size of the work that the tables in `out` make, 0 where there are none yet."""
    names = (*WORKLOAD_TABLES, "entries") if reads_entries else WORKLOAD_TABLES
    with ThreadPoolExecutor(len(names)) as pool:  # a bucket takes its time for each
        sizes = dict(zip(names, pool.map(partial(_bytes_of, session, out), names), strict=True))
    return sum(sizes.values()) - sizes.get("entries", 0) + sizes.get("entries", 0) // ENTRIES_SHARE


def partitions_for(size: int) -> int:
    """Partitions of a shuffle where the work is so large; adaptive execution joins those that stay small."""
    return max(int(WORK_SETTINGS[PARTITIONS]), -(-size // PARTITION_BYTES))


def _bytes_of(session: SparkSession, out: str, name: str) -> int:
    """Bytes of a table, 0 where it is not there."""
    folder, table = local_out(out), TABLES[name]
    if folder is not None:
        return sum(path.stat().st_size for path in (folder / "tables" / name).rglob("*.parquet"))
    log = log_without_spark(out, table)
    return SparkLog(session, table_path(out, table)).size_bytes if log is None else log.size_bytes


def _set(session: SparkSession, settings: Mapping[str, str], on: bool) -> None:
    for name, value in settings.items():
        if on:
            session.conf.set(name, value)
        else:
            session.conf.unset(name)


@lru_cache(maxsize=1)
def _given(context: SparkContext) -> frozenset[str]:
    """Names of the settings that the session began with; each is a call to Java, and each job asks."""
    return frozenset(key for key, _ in context.getConf().getAll())
