"""Files that tasks wrote themselves, made part of a Delta table by one commit of Delta's own transaction.

Only where every task shares the driver's disk, and only for rows that replace none: everything else goes through
Spark's writer (`storage/delta.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import Column, Row, SparkSession

from pulsar_backlog.storage.delta import delta_log, local_out, make_table, read_table, table_path
from pulsar_backlog.tables import Table


@dataclass
class DirectWrite:
    """A table's folder, open for files of new rows.

    Attributes:
        folder: where the files go.
        prefix: how their names begin.
        offered: whether Delta may have made the files part of the table, so that they must stay.
    """

    folder: Path
    prefix: str
    _spark: SparkSession
    _log: Any
    _snapshot: Any
    offered: bool = False

    def commit(self, files: Sequence[Row]) -> None:
        """Add `files` (`name`, `size_bytes`, `stats`) to the table, all or none.

        Raises:
            ConcurrentModificationException: another writer changed the table since it was opened (Delta's own).
        """
        if not files:
            return
        jvm = self._spark._jvm
        delta, none = jvm.org.apache.spark.sql.delta, jvm.scala.Option.empty()  # type: ignore[union-attr]
        transaction = self._log.startTransaction(none, jvm.scala.Option.apply(self._snapshot))  # type: ignore[union-attr]
        transaction.readWholeTable()
        actions = jvm.java.util.ArrayList()  # type: ignore[union-attr]
        for file in files:
            actions.add(delta.actions.Action.fromJson(self._add_action(file)))
        append = jvm.org.apache.spark.sql.SaveMode.Append  # type: ignore[union-attr]
        operation = getattr(delta, "DeltaOperations$Write")(append, *[none] * 8)
        converters = jvm.scala.jdk.javaapi.CollectionConverters  # type: ignore[union-attr]
        self.offered = True
        try:
            transaction.commit(converters.asScala(actions).toSeq(), operation)
        except PySparkException:  # Delta's refusal; after anything else the commit may yet have happened
            self.offered = False
            raise

    def _add_action(self, file: Row) -> str:
        changed_ms = int((self.folder / file["name"]).stat().st_mtime * 1000)
        return json.dumps({
            "add": {
                "path": file["name"], "partitionValues": {}, "size": file["size_bytes"],
                "modificationTime": changed_ms, "dataChange": True, "stats": file["stats"],
            }
        })  # fmt: skip


@contextmanager
def direct_write(spark: SparkSession, out: str, table: Table, part: Column) -> Iterator[DirectWrite | None]:
    """The table open for new files, or None where Spark's writer must do it.

    That is where tasks may run on another host than the driver, where the table is not on the local disk, and where
    rows of the slice `part` exist and must go in the same commit. Files that were not committed when the block ends
    are removed.
    """
    place = local_out(table_path(out, table))
    if place is None or not str(spark.sparkContext.master).startswith("local"):
        yield None
        return
    make_table(spark, out, table)
    log, none = delta_log(spark, out, table), spark._jvm.scala.Option.empty()  # type: ignore[union-attr]
    snapshot = log.update(False, none, none)
    if snapshot.numOfFiles() and not read_table(spark, out, table).filter(part).isEmpty():
        yield None
        return
    direct = DirectWrite(place, f"part-{uuid4()}-", spark, log, snapshot)
    try:
        yield direct
    finally:
        if not direct.offered:
            for path in place.glob(f"{direct.prefix}*"):
                path.unlink()
