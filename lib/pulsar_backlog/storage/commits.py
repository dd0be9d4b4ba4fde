"""Delta's own log: what a table is, and commits of files that tasks wrote themselves.

Spark's Delta writer plans a query, writes row by row and asks for statistics; for the small tables of an audit that is
most of its time, and for `entries` three times the scan (docs/decisions/0011). Where all tasks share the driver's disk
they write Parquet themselves (`output/data_files.py`), and one commit adds the files (`storage/local_log.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import delta.exceptions  # noqa: F401 - makes Delta's refusals Python exceptions
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pulsar_backlog.output.data_files import Place, sync
from pulsar_backlog.storage.local_log import LocalLog, add_action, metadata_action
from pulsar_backlog.tables import Table


class TableLog:
    """Delta's log of a table that Spark alone reaches; in a local folder it is a `LocalLog`."""

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
    """A table's folder, open for files of new rows.

    Attributes:
        place: where the files go.
        offered: whether the files are part of the table or may yet become it, so that they must stay.
    """

    place: Place
    log: LocalLog
    table: Table
    offered: bool = False

    def commit(self, files: Sequence[Any], removed: Sequence[str] = ()) -> None:
        """Add those of `files` that are this table's (rows of `FILES_DDL`), all or none; on the disk when this returns.

        Args:
            files: what tasks wrote.
            removed: paths of files that are no longer part of the table.

        Raises:
            CommitConflictError: another writer changed the table since it was opened.
        """
        mine = [file for file in files if file["table"] == self.table.name]
        if not mine and not removed and self.log.version >= 0:
            return
        adds = [add_action(self.place.folder, file) for file in mine]
        table_folder = self.place.folder
        if mine:
            for folder in (table_folder, *table_folder.parents[:2]):  # the table, all tables, `--out`
                sync(folder)
        self.offered = True
        try:
            self.log.commit(self.table, adds, removed)
        except Exception:
            self.offered = self._is_in_log()
            raise

    def _is_in_log(self) -> bool:
        """Whether a commit names a file of ours, or may: what cannot be read may name any."""
        commits = (self.place.folder / "_delta_log").glob("*.json")
        try:
            newer = [path for path in commits if path.stem.isdecimal() and int(path.stem) > self.log.version]
            return any(_mentions(path, self.place.prefix) for path in newer)
        except OSError:
            return True


def _mentions(path: Path, text: str) -> bool:
    with path.open(encoding="utf-8") as lines:
        return any(text in line for line in lines)


@contextmanager
def open_direct(log: LocalLog, table: Table) -> Iterator[DirectWrite]:
    """The table open for new files. Files that were not committed when the block ends are removed."""
    direct = DirectWrite(Place(log.folder, f"part-{uuid4()}-"), log, table)
    try:
        yield direct
    finally:
        if not direct.offered:
            for path in log.folder.glob(f"{direct.place.prefix}*"):
                path.unlink()
