"""Upkeep of a table that only Spark reaches: OPTIMIZE and VACUUM of Delta, as sure as all that Spark writes there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pulsar_backlog.tableio.maintenance import FILE_BYTES, NOT_JOINED, Upkeep
from pulsar_backlog.tableio.places import table_path
from pulsar_backlog.tables import Table

_SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",  # our own bound holds: `--retention-hours`
    "spark.databricks.delta.vacuum.parallelDelete.enabled": "true",
    # Of a VACUUM, which plans 10,000 tasks otherwise.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    "spark.databricks.delta.optimize.maxFileSize": str(FILE_BYTES),
    "spark.databricks.delta.optimize.minFileSize": str(FILE_BYTES // 2),
}


def upkeep_by_spark(spark: SparkSession, out: str, table: Table, hours: int, *, do: bool) -> Upkeep:
    """What a table needs, and, if `do`, have it done; Delta does its checkpoints and the log's files itself.

    Args:
        spark: a session that reaches the table.
        out: place of all tables.
        table: its contract.
        hours: how long a file stays that a reader may have begun with.
        do: whether anything is changed.
    """
    name = f"delta.`{table_path(out, table).replace('`', '``')}`"
    with _settings(spark):
        (detail,) = spark.sql(f"DESCRIBE DETAIL {name}").collect()
        joined, joined_into = 0, 0
        if do and table.name not in NOT_JOINED and detail["numFiles"] > 1:
            (row,) = spark.sql(f"OPTIMIZE {name}").collect()
            joined, joined_into = row["metrics"]["numFilesRemoved"], row["metrics"]["numFilesAdded"]
        rows = spark.sql(f"VACUUM {name} RETAIN {hours} HOURS DRY RUN").collect()
        unused = {row["path"].rpartition("/")[2]: 0 for row in rows}  # it does not say how large they are
        if do and unused:
            spark.sql(f"VACUUM {name} RETAIN {hours} HOURS").collect()
    return Upkeep(table.name, detail["numFiles"], detail["sizeInBytes"], [""] * joined, joined_into, unused=unused)


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
