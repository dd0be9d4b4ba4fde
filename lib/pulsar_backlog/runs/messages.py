"""Exported messages on disk: the table `messages`, a Parquet folder, or JSON lines beside payload files."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame

from pulsar_backlog.json_text import SPARK_OPTIONS
from pulsar_backlog.private_files import private_folder
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.places import local_out, table_path
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.spark_rows import conform, schema_of
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES

TABLE = TABLES["messages"]
_FOLDERS = {"parquet": "messages.parquet", "files": "messages.jsonl"}


def write_messages(context: JobContext, messages: DataFrame, part: Slice) -> None:
    """Write an export as its options ask, for its owner to read; `part` is the slice of the table that it replaces."""
    form = context.options.format or "delta"
    if form == "delta":
        if (table := local_out(table_path(_to(context), TABLE))) is not None:
            private_folder(table)
        _store(context).replace(TABLE, messages, part)
        return
    rows, folder = conform(messages, TABLE), _folder(context)
    if (there := local_out(folder)) is not None:
        _empty(private_folder(there))
    # On a disk, Spark's own way of replacing deletes the folder and makes one that others may enter.
    mode = "overwrite" if there is None else "append"
    if form == "parquet":
        rows.write.mode(mode).parquet(folder)
    else:
        rows.drop("payload").write.mode(mode).options(ignoreNullFields="false", **SPARK_OPTIONS).json(folder)


def write_decoded(context: JobContext, rows: DataFrame, name: str) -> None:
    """Replace the decoded messages of a topic, for their owner to read."""
    folder = decoded_folder(context, name)
    is_delta = (context.options.format or "delta") == "delta"
    if (there := local_out(folder)) is not None:
        private_folder(there)
        if not is_delta:
            _empty(there)
    if is_delta:
        rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(folder)
    else:
        rows.write.mode("overwrite" if there is None else "append").parquet(folder)


def read_decoded(context: JobContext, name: str) -> DataFrame:
    """What the last export wrote of a topic."""
    form, folder = context.options.format or "delta", decoded_folder(context, name)
    if form == "delta":
        return context.spark.read.format("delta").load(folder)
    return context.spark.read.option("__globPaths__", "false").parquet(folder)


def is_decoded(context: JobContext, name: str) -> bool:
    """Whether decoded messages of a topic are there already, in this form."""
    is_delta = (context.options.format or "delta") == "delta"
    return beside(_to(context)).exists(
        f"decoded/{name}/{'_delta_log/' + '0' * 20 + '.json' if is_delta else '_SUCCESS'}"
    )


def decoded_folder(context: JobContext, name: str) -> str:
    """Where decoded messages of a topic lie."""
    return f"{_to(context).rstrip('/')}/decoded/{name}"


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def read_messages(context: JobContext) -> DataFrame:
    """What the last export wrote, without payloads."""
    form = context.options.format or "delta"
    if form == "delta":
        return _store(context).frame(TABLE).drop("payload")
    schema = schema_of(TABLE)
    # The folder is a name, not a pattern: characters of patterns and colons are taken as they are.
    read, folder = context.spark.read.schema(schema).option("__globPaths__", "false"), _folder(context)
    return (read.parquet(folder) if form == "parquet" else read.json(folder)).drop("payload")


def is_there(context: JobContext) -> bool:
    """Whether an export in this form is there already."""
    form = context.options.format or "delta"
    if form == "delta":
        return _store(context).exists(TABLE)
    return beside(_to(context)).exists(f"{_FOLDERS[form]}/_SUCCESS")


def _store(context: JobContext) -> TableStore:
    return TableStore(_to(context), context.store.begin)


def _to(context: JobContext) -> str:
    return context.options.to or context.out


def _folder(context: JobContext) -> str:
    return f"{_to(context).rstrip('/')}/{_FOLDERS[context.options.format or 'parquet']}"
