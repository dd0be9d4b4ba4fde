"""What the body of a job gets, and how it asks for and replaces its cluster's rows of tables."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.arguments import live_of, source_of
from pulsar_backlog.options import Options
from pulsar_backlog.runs.run_folder import run_folder
from pulsar_backlog.spark.choice import needs_session
from pulsar_backlog.tableio.living import BY_LEDGER, BY_TOPIC, GONE, living_rows
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.store import Rows, TableStore
from pulsar_backlog.tableio.table_logs import tasks_share_disk
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tasks.pool import TaskPool, own_pool

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pulsar_backlog.ledgers.live.service import Live
    from pulsar_backlog.ledgers.store import Source

__all__ = ["JobContext", "Rows"]


@dataclass(frozen=True)
class JobContext:
    """What a job's body gets: session, checked options, the moment it was started, and what it closes.

    Attributes:
        begin: starts the session, or finds the running one.
        resources: closed when the job ends, see `cache`.
        audit_started: when the audit began that this job ends; None where the job is run by itself.
        run_id: of the job's run, as `runs` records it.
        topics: the only ones whose rows it sees and replaces (`BY_TOPIC`); None for all.
    """

    begin: Callable[[], SparkSession]
    job: str
    options: Options
    started: datetime
    resources: ExitStack = field(default_factory=ExitStack)
    audit_started: datetime | None = None
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    topics: frozenset[str] | None = None

    @cached_property
    def spark(self) -> SparkSession:
        """The session, started by who asks first: a job that finds nothing new starts no JVM."""
        return self.begin()

    @property
    def pool(self) -> TaskPool | None:
        """Processes of this machine that run tasks without a session; None where Spark runs them."""
        return None if needs_session() else own_pool()

    @cached_property
    def store(self) -> TableStore:
        """The tables; it starts the session where only Spark reads or writes them."""
        return TableStore(self.out, lambda: self.spark)

    @property
    def slice(self) -> Slice:
        """Of any table, the rows of the cluster."""
        return Slice.of(cluster=self.cluster)

    def slice_of(self, name: str) -> Slice:
        """Of a table, the rows that the job sees and replaces: the cluster's, of its topics where it has only some."""
        return self.slice if self.topics is None or name not in BY_TOPIC else self.slice.where(topic=self.topics)

    def source(self) -> Source:
        """The source that the command line names, as each of the tasks that read it at once may ask it."""
        live = self.live()
        source = source_of(self.options, live)
        is_shared = live is not None and live.run_folder is not None
        if is_shared:
            return source
        pool = self.pool
        return source.shared_by(self.spark.sparkContext.defaultParallelism if pool is None else pool.cores)

    def live(self) -> Live | None:
        """The live cluster that the command line names; where tasks share a disk, with the folder of the run."""
        live, folder = live_of(self.options), run_folder()
        if live is None or folder is None or not tasks_share_disk():
            return live
        return dataclasses.replace(live, run_folder=str(folder))

    @property
    def partitions(self) -> int:
        """Into how many parts rows are shuffled."""
        from pulsar_backlog.tableio.work_size import PARTITIONS  # noqa: PLC0415 - Spark, as `spark` begins

        return int(self.spark.conf.get(PARTITIONS, "8") or 8)

    def table(self, name: str) -> DataFrame:
        """A table's rows of the cluster, of ledgers that are not gone.

        Who asks for `entries` works on as many as there are.
        """
        if name == "entries":
            from pulsar_backlog.tableio.work_size import fit_work  # noqa: PLC0415 - Spark, as `spark` begins

            fit_work(self.spark, self.out, reads_entries=True)
        return living_rows(self.store, TABLES[name]).filter(self.slice_of(name).column())

    def version(self, name: str) -> int:
        """Delta version of a table, -1 when it was never written."""
        return self.store.version(TABLES[name])

    def has(self, name: str) -> bool:
        """Whether a table has been made."""
        return self.version(name) >= 0

    def small_rows(self, name: str) -> pa.Table | None:
        """The same of a small table, without a session; None where it is large or left to Spark."""
        rows = self.store.small_rows(TABLES[name])
        if rows is None:
            return None
        is_part = self.topics is not None and name in BY_TOPIC
        others = rows["cluster"].unique().to_pylist() != [self.cluster]  # asked so, it takes no import of pandas
        mine = rows.filter(self.slice_of(name).mask(rows)) if rows.num_rows and (others or is_part) else rows
        if name not in BY_LEDGER:
            return mine
        gone = self.small_rows(GONE.name)
        return None if gone is None else mine.filter(pc.invert(pc.is_in(mine["ledger_id"], gone["ledger_id"])))

    def are_small(self, names: Collection[str]) -> bool:
        """Whether all of these tables are such by their logs: who needs them together asks before any is read."""
        return all(self.store.is_small(TABLES[name]) for name in names)

    def logged_rows(self, name: str) -> int | None:
        """How many such rows a table has; None where only a query tells."""
        ids: frozenset[int] = frozenset()
        if name in BY_LEDGER:
            gone = self.small_rows(GONE.name)
            if gone is None:
                return None
            ids = frozenset(gone["ledger_id"].to_pylist())
        is_part = self.topics is not None and name in BY_TOPIC
        if not is_part and not ids and (count := self.store.row_count(TABLES[name], self.cluster, ids)) is not None:
            return count
        rows = self.small_rows(name)
        if rows is not None:
            return int(rows.num_rows)
        if is_part or not ids:
            return None
        # Last, as files with rows of ledgers that are gone may have to be opened.
        return self.store.row_count(TABLES[name], self.cluster, ids)

    def rows(self, name: str) -> int:
        """How many such rows a table has."""
        count = self.logged_rows(name)
        return self.table(name).count() if count is None else count

    def is_only_cluster(self) -> bool:
        """Whether the tables are of no other cluster."""
        rows = self.store.small_rows(TABLES["runs"])
        if rows is not None:
            return set(rows["cluster"].unique().to_pylist()) <= {self.cluster}
        return self.store.frame(TABLES["runs"]).filter(~self.slice.column()).isEmpty()

    def replace(self, name: str, rows: Rows) -> int:
        """Replace the rows of a table that the job sees; how many of them there are now."""
        return self.store.replace(TABLES[name], rows, self.slice_of(name))

    def replace_all(self, tables: Mapping[str, Rows], beside: Callable[[], None]) -> dict[str, int]:
        """Replace the cluster's rows of several tables, and do something else: planning one leaves a core for the next.

        Returns:
            How many rows each table has now.
        """
        with ThreadPoolExecutor(len(tables) + 1) as pool:
            done = pool.submit(beside)
            counts = dict(zip(tables, pool.map(self.replace, tables, tables.values()), strict=True))
            done.result()
        return counts

    def cache(self, frame: DataFrame) -> DataFrame:
        """Cache a frame that is used more than once, until the job ends, however it does; a small one in this process.

        One that stays cached would answer for a later job in the same session too, from tables as they were.
        """
        from pyspark import StorageLevel  # noqa: PLC0415 - Spark, as `spark` begins

        from pulsar_backlog.tableio.spark_rows import collect_small, frame_of  # noqa: PLC0415

        few = collect_small(frame)
        if few is not None:
            return frame_of(self.spark, few, frame.schema)
        self.resources.callback(frame.unpersist)
        return frame.persist(StorageLevel.MEMORY_AND_DISK)

    @property
    def out(self) -> str:
        """Folder of tables and reports."""
        return self.options.out or ""

    @property
    def cluster(self) -> str:
        """Name of the cluster."""
        return self.options.cluster or ""
