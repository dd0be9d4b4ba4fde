"""Delta's own log: what a table is, and commits of files that tasks wrote themselves.

Spark's Delta writer plans a query, writes row by row and asks for statistics; for the small tables of an audit that is
most of its time, and for `entries` three times the scan (docs/decisions/0011). Where all tasks share the driver's disk
they write Parquet themselves (`output/data_files.py`), and one transaction of Delta's own adds the files.
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
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pulsar_backlog.output.data_files import Place, sync
from pulsar_backlog.tables import Table

CONTRACT_PROPERTY = "pulsar_backlog.contract"
"""Table property that holds the contract's version."""
CONTRACT_VERSION = "1"


class TableLog:
    """Delta's log of the table in one folder."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark, self._path = spark, path
        self._jvm = cast(Any, spark._jvm)
        self._none = self._jvm.scala.Option.empty()
        self._log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._snapshot = self._log.update(False, self._none, self._none)

    @property
    def version(self) -> int:
        """Version of the table when this was made, -1 when there was none."""
        return int(self._snapshot.version())

    @property
    def has_files(self) -> bool:
        """Whether the table held any file. The checksum of its version tells at once; the state takes Spark jobs."""
        checksum = self._snapshot.checksumOpt()
        return bool(checksum.get().numFiles() if checksum.isDefined() else self._snapshot.numOfFiles())

    @property
    def size_bytes(self) -> int | None:
        """Bytes of the table's files as the checksum of its version tells, 0 of no table; None where there is none."""
        if self.version < 0:
            return 0
        checksum = self._snapshot.checksumOpt()
        return int(checksum.get().tableSizeBytes()) if checksum.isDefined() else None

    @property
    def schema(self) -> StructType:
        """The table's schema as its log has it."""
        return StructType.fromJson(json.loads(self._snapshot.metadata().schemaString()))

    def commit(self, table: Table, schema: StructType, adds: Sequence[str]) -> int:
        """Add files (actions as JSON) to the table, which is made when there was none; all or nothing.

        Returns: the version that this made. Where it raises, the commit may be in the log all the same.

        Raises:
            ConcurrentModificationException: another writer changed the table since this was made (Delta's own).
        """
        delta = self._jvm.org.apache.spark.sql.delta
        transaction = self._log.startTransaction(self._none, self._jvm.scala.Option.apply(self._snapshot))
        transaction.readWholeTable()
        if self.version < 0:
            metadata = delta.actions.Action.fromJson(_metadata_action(table, schema))
            transaction.updateMetadataForNewTable(metadata)
        actions = self._jvm.java.util.ArrayList()
        for add in adds:
            actions.add(delta.actions.Action.fromJson(add))
        append = self._jvm.org.apache.spark.sql.SaveMode.Append
        operation = getattr(delta, "DeltaOperations$Write")(append, *[self._none] * 8)
        all_actions = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq()
        version = int(transaction.commit(all_actions, operation))
        self._spark.catalog.refreshByPath(self._path)  # as Spark's writer does: what is cached of the table is old now
        return version


def _metadata_action(table: Table, schema: StructType) -> str:
    """The table as its contract says: comments, nullability, statistics; nothing that other readers lack."""
    configuration = {CONTRACT_PROPERTY: CONTRACT_VERSION, "delta.enableDeletionVectors": "false"}
    if table.statistics:
        configuration["delta.dataSkippingStatsColumns"] = ",".join(table.statistics)
    return json.dumps({
        "metaData": {
            "id": str(uuid4()), "description": table.comment, "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.json(), "partitionColumns": [], "configuration": configuration,
        }
    })  # fmt: skip


@dataclass
class DirectWrite:
    """A table's folder, open for files of new rows.

    Attributes:
        place: where the files go.
        offered: whether the files are part of the table or may yet become it, so that they must stay.
    """

    place: Place
    log: TableLog
    table: Table
    schema: StructType
    offered: bool = False

    def commit(self, files: Sequence[Any]) -> None:
        """Add those of `files` that are this table's (rows of `FILES_DDL`), all or none; on the disk when this returns.

        Raises:
            ConcurrentModificationException: another writer changed the table since it was opened (Delta's own).
        """
        mine = [file for file in files if file["table"] == self.table.name]
        if not mine and self.log.version >= 0:
            return
        adds = [self._add_action(file) for file in mine]
        table_folder = self.place.folder
        if mine:
            for folder in (table_folder, *table_folder.parents[:2]):  # the table, all tables, `--out`
                sync(folder)
        self.offered = True
        try:
            version = self.log.commit(self.table, self.schema, adds)
        except (PySparkException, Py4JJavaError):
            # The JVM has answered, so no commit is still on its way; Spark may have failed after it, though.
            self.offered = self._is_in_log()
            raise
        sync(table_folder / "_delta_log" / f"{version:020}.json")
        sync(table_folder / "_delta_log")

    def _is_in_log(self) -> bool:
        """Whether a commit names a file of ours, or may: what cannot be read may name any."""
        commits = (self.place.folder / "_delta_log").glob("*.json")
        try:
            newer = [path for path in commits if path.stem.isdecimal() and int(path.stem) > self.log.version]
            return any(_mentions(path, self.place.prefix) for path in newer)
        except OSError:
            return True

    def _add_action(self, file: Any) -> str:
        changed_ms = int((self.place.folder / file["name"]).stat().st_mtime * 1000)
        return json.dumps({
            "add": {
                "path": file["name"], "partitionValues": {}, "size": file["size_bytes"],
                "modificationTime": changed_ms, "dataChange": True, "stats": file["stats"],
            }
        })  # fmt: skip


def _mentions(path: Path, text: str) -> bool:
    with path.open(encoding="utf-8") as lines:
        return any(text in line for line in lines)


@contextmanager
def open_direct(folder: Path, log: TableLog, table: Table, schema: StructType) -> Iterator[DirectWrite]:
    """The table open for new files. Files that were not committed when the block ends are removed."""
    direct = DirectWrite(Place(folder, f"part-{uuid4()}-"), log, table, schema)
    try:
        yield direct
    finally:
        if not direct.offered:
            for path in folder.glob(f"{direct.place.prefix}*"):
                path.unlink()
