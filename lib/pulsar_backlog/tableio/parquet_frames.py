"""Tables read by Spark as the files that their logs name, where those are few.

Delta's reader runs several queries of its own for each that it is asked (the state of the log, the files that a filter
leaves), and its classes take a young JVM a second: of the time after the scan of 4 M entries that was a third.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.delta_schema import delta_schema

MAX_FILES = 32
"""Files of a table up to which that is so: for more Spark has a job of its own to look for them."""
SKIPPING = ("entries", "messages")
"""Tables that are never read so: of them Delta's statistics leave out most files."""

_PATTERN = frozenset("*?[]{}\\")
"""What makes a folder's name a pattern to Spark, which then reads each of its files as often as it has files."""


def frame_of_files(spark: SparkSession, log: DeltaLog, table: Table) -> DataFrame | None:
    """The rows of a table as its log had it; None where that is left to Delta's reader.

    Args:
        spark: reads the files when the frame is asked for.
        log: of the table.
        table: its contract.
    """
    if table.name in SKIPPING or log.has_files_outside_root or not log.is_plain or not log.fits(table):
        return None
    files = [f"{log.path}/{file.path}" for file in log.files()]
    if not 0 < len(files) <= MAX_FILES or set(log.path) & _PATTERN:
        return None
    return spark.read.schema(StructType.fromJson(delta_schema(table))).parquet(*files)
