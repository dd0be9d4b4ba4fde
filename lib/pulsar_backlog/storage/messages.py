"""Exported messages on disk: the table `messages`, a Parquet folder, or JSON lines beside payload files."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame

from pulsar_backlog.storage.delta import conform, exists, read_table, replace_slice, schema_of
from pulsar_backlog.storage.runs import JobContext
from pulsar_backlog.tables import TABLES

TABLE = TABLES["messages"]
_FOLDERS = {"parquet": "messages.parquet", "files": "messages.jsonl"}


def write_messages(context: JobContext, messages: DataFrame, part: Column) -> None:
    """Write an export as its options ask; `part` is the slice of the table that it replaces."""
    form = context.options.format or "delta"
    if form == "delta":
        replace_slice(messages, _to(context), TABLE, part)
        return
    rows = conform(messages, TABLE)
    if form == "parquet":
        rows.write.mode("overwrite").parquet(_folder(context))
    else:
        rows.drop("payload").write.mode("overwrite").option("ignoreNullFields", "false").json(_folder(context))


def read_messages(context: JobContext) -> DataFrame:
    """What the last export wrote, without payloads."""
    form = context.options.format or "delta"
    if form == "delta":
        return read_table(context.spark, _to(context), TABLE).drop("payload")
    schema = schema_of(TABLE)
    if form == "parquet":
        return context.spark.read.schema(schema).parquet(_folder(context)).drop("payload")
    return context.spark.read.schema(schema).json(_folder(context)).drop("payload")


def is_there(context: JobContext) -> bool:
    """Whether an export in this form is there already."""
    form = context.options.format or "delta"
    if form == "delta":
        return exists(context.spark, _to(context), TABLE)
    return (Path(_folder(context)) / "_SUCCESS").is_file()


def _to(context: JobContext) -> str:
    return context.options.to or context.out


def _folder(context: JobContext) -> str:
    return f"{_to(context).rstrip('/')}/{_FOLDERS[context.options.format or 'parquet']}"
