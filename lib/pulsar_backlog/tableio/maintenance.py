"""Upkeep of one table: small files joined, a checkpoint, and files deleted that no reader can need any more.

No row changes. The order makes a kill harmless: what is joined is committed before a checkpoint names it, and a file of
the log goes only when an older checkpoint has lain there for as long as readers may take.

where this program writes tables itself    files are joined as it writes them (synced, one commit); delta-rs says what
                                           is unused, of its own log and the listing, and nothing of it is deleted there
elsewhere (HDFS, `%`, upgraded tables)     Delta's OPTIMIZE and VACUUM in Spark (`spark_maintenance.py`)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f

from pulsar_backlog.output.data_files import rows_in_file
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.places import LOG_FOLDER
from pulsar_backlog.tableio.spark_rows import with_columns_of
from pulsar_backlog.tableio.staged_files import snapshot, stage
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tableio.table_logs import log_without_spark, runs_session
from pulsar_backlog.tables import Table

FILE_BYTES = 128 * 1024 * 1024
"""How large joined files become, about; a file of half of that is not joined."""
CHECKPOINT_COMMITS = 5
"""Commits since the last checkpoint that are worth a new one."""
MANY_FILES = 16
"""So many files of a table that a driver can hold are joined at once."""
NOT_JOINED = ("messages",)
"""An export writes the whole table, and its rows hold payloads."""

_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\b.*\.parquet")
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Upkeep:
    """What a table needs, or what was done to it.

    Attributes:
        table: its name.
        files: files that hold its rows.
        bytes: of these.
        joined: names of those that are joined into fewer.
        joined_into: how many these are, about.
        checkpoint: whether the log gets a checkpoint.
        unused: bytes of files, by name, that nobody reads any more.
        old_log: the same of files of its log.
    """

    table: str
    files: int
    bytes: int
    joined: Sequence[str] = ()
    joined_into: int = 0
    checkpoint: bool = False
    unused: Mapping[str, int] = field(default_factory=dict)
    old_log: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_due(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.joined or self.checkpoint or self.unused or self.old_log)

    @property
    def freed_bytes(self) -> int:
        """Bytes of all that is deleted."""
        return sum(self.unused.values()) + sum(self.old_log.values())


def upkeep_of(log: DeltaLog, table: Table, hours: int, now_ms: int) -> Upkeep:
    """What a table needs.

    Args:
        log: of the table.
        table: its contract.
        hours: how long a file stays that a reader may have begun with.
        now_ms: when the run began, milliseconds since 1970.
    """
    files = log.files()
    small = [] if table.name in NOT_JOINED else [file for file in files if 2 * file.size_bytes < FILE_BYTES]
    wanted = -(-sum(file.size_bytes for file in small) // FILE_BYTES)
    # Twice as many: a table that was joined yesterday and got a file since is left alone.
    joined = [file.path for file in small] if len(small) >= 2 * wanted + 2 else []
    names = {name: one for name, one in log.listing(LOG_FOLDER).items() if name[:20].isdecimal()}
    checkpoints = {name: int(name[:20]) for name in names if _CHECKPOINT.fullmatch(name)}
    before_ms = now_ms - hours * _HOUR_MS
    first = max((number for name, number in checkpoints.items() if names[name].modified_ms < before_ms), default=0)
    old = {
        name: one.size for name, one in names.items() if int(name[:20]) < first and one.modified_ms < before_ms
    }  # every reader who began since then began with the checkpoint `first`, or with a newer one
    commits = log.version - max(checkpoints.values(), default=-1)
    return Upkeep(
        table.name, len(files), log.size_bytes, joined, wanted if joined else 0,
        commits + bool(joined) >= CHECKPOINT_COMMITS, log.unused_files(hours), old,
    )  # fmt: skip


def keep_up(store: TableStore, log: DeltaLog, table: Table, due: Upkeep) -> Upkeep:
    """Do what a table needs. Killed anywhere, the table has the same rows; the next run does the rest.

    Returns:
        The same, with the number of joined files as it became.

    Raises:
        CommitConflictError: another writer changed the table since its log was opened.
    """
    done = replace(due, joined_into=_join(store, log, table, due)) if due.joined else due
    if due.checkpoint:
        log.checkpoint()
    log.delete(due.unused)
    log.delete(due.old_log, LOG_FOLDER)
    return done


def join_while_small(store: TableStore, table: Table) -> int:
    """Join the files of a table that a driver can hold, where they are many; how many files went.

    Tasks of a first audit write one each, and who reads the table opens them all, job after job and night after night.

    Args:
        store: of the table.
        table: its contract.

    Raises:
        CommitConflictError: another writer changed the table meanwhile.
    """
    log = log_without_spark(store.out, table)
    files = [] if log is None else log.files()
    if log is None or len(files) < MANY_FILES or (rows := table_cache.many_rows(log, table)) is None:
        return 0
    due = Upkeep(table.name, len(files), log.size_bytes, [file.path for file in files], 1)
    with stage(log, table, due.joined) as staged:
        made = staged.write(_by_key(rows, table))
        _check_rows(log, due, sum(rows_in_file(file) for file in made))
        staged.commit(made, same_rows=True)
    if runs_session():
        store.begin().catalog.refreshByPath(log.path)
    return len(files)


def _by_key(rows: pa.Table, table: Table) -> pa.Table:
    """The rows sorted by the key; not copied where they are so, as those of tasks one after the other mostly are."""
    order = pc.sort_indices(rows, [(name, "ascending") for name in table.key]).to_numpy()
    return rows if (order[1:] > order[:-1]).all() else rows.take(order)


def _join(store: TableStore, log: DeltaLog, table: Table, due: Upkeep) -> int:
    """Write the rows of small files into few, and let one commit put these in their place; how many they are."""
    with stage(log, table, due.joined) as staged:
        rows = table_cache.rows_of(log, table)
        if rows is not None and len(due.joined) == due.files:
            files = staged.write(rows)
        else:
            spark, order = store.begin(), [f.col(name) for name in table.key]
            frame = snapshot(spark, log, table).filter(f.col("_metadata.file_name").isin(list(due.joined)))
            frame = with_columns_of(frame, table).select(*table.column_names())
            frame = frame.coalesce(1) if due.joined_into == 1 else frame.repartitionByRange(due.joined_into, *order)
            files = staged.write_by_tasks(frame.sortWithinPartitions(*order))
            spark.catalog.refreshByPath(log.path)
        _check_rows(log, due, sum(rows_in_file(file) for file in files))
        staged.commit(files, same_rows=True)
    return len(files)


def _check_rows(log: DeltaLog, due: Upkeep, written: int) -> None:
    """Refuse to commit other rows than the files have: nothing is lost to a fault of ours.

    Raises:
        ValueError: there are more or fewer.
    """
    counts = [file.rows for file in log.files() if file.path in set(due.joined)]
    if None not in counts and sum(filter(None, counts)) != written:
        raise ValueError(f"{log.path}: {sum(filter(None, counts))} rows in small files, {written} written")
