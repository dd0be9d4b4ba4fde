"""Rows of `messages` from plans of the export: packed plan rows in, Arrow batches out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.messages.chunked_rows import export_planned, planned_messages
from pulsar_backlog.messages.entry_rows import ExportContext, export_stretch, stretches
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

TABLE = TABLES["messages"]


def exported_entries(packed: DataFrame, context: ExportContext) -> DataFrame:
    """Messages of packed plan rows of single entries and batches."""
    shared = packed.sparkSession.sparkContext.broadcast(context)
    schema = arrow_schema(TABLE)

    def export(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for stretch in stretches(batch):
                yield from export_stretch(stretch, shared.value, schema)

    return packed.mapInArrow(quiet(export), spark_schema(TABLE.ddl()))


def exported_chunked(packed: DataFrame, context: ExportContext) -> DataFrame:
    """Messages of packed plan rows of chunked messages."""
    shared = packed.sparkSession.sparkContext.broadcast(context)
    schema = arrow_schema(TABLE)

    def export(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        planned = (item for batch in batches for item in planned_messages(batch))
        yield from export_planned(planned, shared.value, schema)

    return packed.mapInArrow(quiet(export), spark_schema(TABLE.ddl()))
