"""Which tables' logs this program reads and appends to itself; all others are reached through Spark alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from pulsar_backlog.ledgers.buckets.addresses import is_output_bucket
from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.places import local_out, table_path
from pulsar_backlog.tables import TABLES, Table

if TYPE_CHECKING:
    from pyspark import SparkContext


def log_without_spark(out: str, table: Table) -> DeltaLog | None:
    """The table's log as it is now; None where it is left to Spark.

    That is where the table lies in a local folder and tasks run on other machines, where it lies in a file system of
    the cluster's own, and where delta-rs does not find the folder: it takes `%` in a path for the beginning of an
    escape, behind links too; Spark does not.

    Raises:
        SourceError: its bucket cannot be read.
        UsageError: the table is there and its log is damaged.
    """
    path = table_path(out, table)
    if not has_log_without_spark(path):
        return None
    folder = local_out(path)
    if folder is not None:
        return LocalLog(folder)
    from pulsar_backlog.tableio.bucket_log import BucketLog  # noqa: PLC0415 - clients of stores

    return BucketLog(path)


def has_log_without_spark(out: str) -> bool:
    """Whether `log_without_spark` has one for tables there; nothing is asked of any store."""
    folder = local_out(out)
    if folder is None:
        return is_output_bucket(out) and "%" not in out
    return tasks_share_disk() and "%" not in str(folder.resolve())


def fit_this_process(out: str, names: Collection[str], max_bytes: int) -> bool:
    """Whether tables lie in a local folder, and their files are of no more bytes together."""
    if local_out(out) is None:
        return False
    logs = [log_without_spark(out, TABLES[name]) for name in names]
    plain_logs = [log for log in logs if log is not None and log.is_plain]
    return len(plain_logs) == len(logs) and sum(log.size_bytes for log in plain_logs) <= max_bytes


def tasks_share_disk() -> bool:
    """Whether tasks run, or would run, on this machine: what lies on its disk they can read and write."""
    running = _running()
    return "PYSPARK_GATEWAY_PORT" not in os.environ if running is None else str(running.master).startswith("local")


def runs_session() -> bool:
    """Whether a session runs in this process."""
    return _running() is not None


def _running() -> SparkContext | None:
    """What a session of this process runs in; where nobody has imported Spark there is none, and it is not imported."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return None if context is None else context._active_spark_context
