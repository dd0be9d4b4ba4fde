"""Delta's log of a table that Spark alone reaches; of all others see `table_logs.log_without_spark`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import delta.exceptions  # noqa: F401 - makes Delta's refusals Python exceptions
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StructType

from pulsar_backlog.tableio.delta_actions import metadata_action
from pulsar_backlog.tables import Table


class SparkLog:
    """Delta's own snapshot of a table, by its classes in the JVM, as it was when this was made."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm = cast(Any, spark._jvm)
        self._none = self._jvm.scala.Option.empty()
        self._log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._snapshot = self._log.update(False, self._none, self._none)

    @property
    def version(self) -> int:
        """Version of the table, -1 when there is none. Delta's history would be a Spark job."""
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

    def create(self, table: Table) -> None:
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


def additions(older: StructType, newer: StructType, path: tuple[str, ...] = ()) -> Iterator[str]:
    """What an older schema lacks, as Delta's ALTER TABLE takes it: columns at its end, fields in their place."""
    before: str | None = None
    for field in newer.fields:
        here = (*path, field.name)
        if field.name in older.names:
            yield from _additions_within(older[field.name].dataType, field.dataType, here)
        else:
            place = f" AFTER `{before}`" if path and before else " FIRST" if path else ""
            yield f"{'.'.join(f'`{name}`' for name in here)} {field.dataType.simpleString()}{place}"
        before = field.name


def _additions_within(older: DataType, newer: DataType, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(older, ArrayType) and isinstance(newer, ArrayType):
        yield from _additions_within(older.elementType, newer.elementType, (*path, "element"))
    elif isinstance(older, StructType) and isinstance(newer, StructType):
        yield from additions(older, newer, path)
