"""Tables whose rows are made by tasks, each of which makes rows of several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import functions as f

from pulsar_backlog.output.data_files import FILES_DDL, rows_in_file
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.sql.task_rows import TaskRows
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tasks.files import IntoTables, Making


def replace_by_tasks(
    context: JobContext, engine: QueryEngine, task_rows: TaskRows, making: Making, names: Collection[str]
) -> dict[str, int]:
    """Replace the rows of tables that the job sees by what tasks make of their rows; how many of them each has now.

    `making` is of a class or function that pickle finds by name.
    """
    tables = {name: TABLES[name] for name in names}
    (part,) = {context.slice_of(name) for name in names}
    with context.store.stage_all(tables.values(), part) as staged:
        if staged is None:
            return _replaced(context, engine, task_rows, making, tables)
        places = {name: one.place for name, one in staged.items()}
        files = engine.collect_tasks(task_rows, IntoTables(making, places), FILES_DDL)
        for one in staged.values():
            one.commit(files)
    return {name: sum(rows_in_file(file) for file in files if file["table"] == name) for name in names}


def _replaced(
    context: JobContext, engine: QueryEngine, task_rows: TaskRows, making: Making, tables: dict[str, Table]
) -> dict[str, int]:
    """The same by Spark's writer: a row has the values of one table, in a column of the table's name."""
    columns = {name: ",".join(f"{c.name}:{c.type}" for c in table.columns) for name, table in tables.items()}
    schema = ", ".join(f"{name} struct<{columns[name]}>" for name in tables)

    def side_by_side(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for name, batch in making(batches):
            arrow = pa.schema([pa.field(one, pa.struct(list(arrow_schema(table)))) for one, table in tables.items()])
            made = pa.StructArray.from_arrays(batch.columns, fields=list(arrow_schema(tables[name])))
            arrays = [made if one == name else pa.nulls(batch.num_rows, arrow.field(one).type) for one in tables]
            yield pa.RecordBatch.from_arrays(arrays, schema=arrow)

    rows = context.cache(engine.map_in_tasks(task_rows, side_by_side, schema))
    return {name: context.replace(name, rows.filter(f.col(name).isNotNull()).select(f"{name}.*")) for name in tables}
