"""Delta's own log: what a table is, and commits of files that tasks wrote themselves.

Spark's Delta writer plans a query, writes row by row and asks for statistics; for the small tables of an audit that is
most of its time, and for `entries` three times the scan (docs/decisions/0011). Tasks write Parquet themselves
(`output/data_files.py`), and one commit adds the files (`tableio/delta_log.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import delta.exceptions  # noqa: F401 - makes Delta's refusals Python exceptions
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pulsar_backlog.output.data_files import Place
from pulsar_backlog.tableio.delta_log import DeltaLog, add_action, metadata_action
from pulsar_backlog.tables import Table


class TableLog:
    """Delta's log of a table that Spark alone reaches; of all others see `table_logs.own_log`."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm = cast(Any, spark._jvm)
        self._none = self._jvm.scala.Option.empty()
        self._log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._snapshot = self._log.update(False, self._none, self._none)

    @property
    def version(self) -> int:
        """Version of the table when this was made, -1 when there was none."""
        return int(self._snapshot.version())

    @property
    def size_bytes(self) -> int:
        """Bytes of the files, 0 of no table. The checksum of its version tells them at once; else a Spark job does."""
        if self.version < 0:
            return 0
        checksum = self._snapshot.checksumOpt()
        return int(checksum.get().tableSizeBytes() if checksum.isDefined() else self._snapshot.sizeInBytes())

    @property
    def schema(self) -> StructType:
        """The table's schema as its log has it."""
        return StructType.fromJson(json.loads(self._snapshot.metadata().schemaString()))

    def make(self, table: Table) -> None:
        """Make the table from its contract.

        Raises:
            ConcurrentModificationException: another writer made it since this was made (Delta's own).
        """
        delta = self._jvm.org.apache.spark.sql.delta
        transaction = self._log.startTransaction(self._none, self._jvm.scala.Option.apply(self._snapshot))
        transaction.readWholeTable()
        transaction.updateMetadataForNewTable(delta.actions.Action.fromJson(json.dumps(metadata_action(table))))
        append = self._jvm.org.apache.spark.sql.SaveMode.Append
        operation = getattr(delta, "DeltaOperations$Write")(append, *[self._none] * 8)
        no_actions = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(self._jvm.java.util.ArrayList()).toSeq()
        transaction.commit(no_actions, operation)


@dataclass
class DirectWrite:
    """A table, open for files of new rows.

    Attributes:
        place: where the files go.
        log: of the table, as it was when it was opened.
        table: its contract.
        replaced: its files that go with the commit.
        kept: files that tasks wrote of those rows of replaced files that stay.
        offered: names of files that are part of the table or may yet become it, so that they must stay.
    """

    place: Place
    log: DeltaLog
    table: Table
    replaced: Sequence[str] = ()
    kept: Sequence[Any] = ()
    offered: frozenset[str] = frozenset()

    def commit(self, files: Sequence[Any]) -> None:
        """Add those of `files` that are this table's (rows of `FILES_DDL`), all or none; to stay when this returns.

        A file that no row names, of a task that was lost or that another one overtook, is no part of the table.

        Raises:
            CommitConflictError: another writer changed the table since it was opened.
        """
        mine = [file for file in (*files, *self.kept) if file["table"] == self.table.name]
        if not mine and not self.replaced and self.log.version >= 0:
            return
        if mine:
            self.log.settle()
        self.offered = frozenset(file["name"] for file in mine)
        try:
            self.log.commit(self.table, [add_action(file) for file in mine], self.replaced)
        except Exception:
            if not self.log.mentions(self.place.prefix):
                self.offered = frozenset()
            raise


@contextmanager
def open_direct(log: DeltaLog, table: Table, replaced: Sequence[str] = ()) -> Iterator[DirectWrite]:
    """The table open for new files. Files that are not part of it when the block ends are removed."""
    direct = DirectWrite(log.place(), log, table, replaced)
    try:
        yield direct
    finally:
        log.remove(direct.place.prefix, direct.offered)
