"""A user's query on Spark: for answers that outgrow one machine. It changes nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType, TimestampNTZType, TimestampType

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import in_ascii
from pulsar_backlog.runs.endings import environment_faults_as_usage_errors
from pulsar_backlog.spark.session import start_session
from pulsar_backlog.sql.information_schema import relations
from pulsar_backlog.sql.spark_scope import analysed, parsed, shut_off
from pulsar_backlog.sql.sql_mistakes import (
    ambiguous_column,
    last_part,
    unknown_column,
    unknown_qualifier,
    unknown_table,
)
from pulsar_backlog.sql.views import named_in, views
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES

_KEEP_NULLS = {"ignoreNullFields": "false"}


class SparkAnswer:
    """The answer to one query, computed when it is asked for."""

    def __init__(self, frame: DataFrame) -> None:
        self.columns = frame.columns
        self._frame = frame

    def texts(self, limit: int | None = None) -> Iterator[tuple[str | None, ...]]:
        """The rows, or the first of them, each value as text, null as None."""
        frame = self._frame.toDF(*(f"c{at}" for at in range(len(self.columns))))  # names may be there twice
        frame = frame.select(*(_text(f.col(field.name), field.dataType) for field in frame.schema.fields))
        rows = frame.toLocalIterator() if limit is None else iter(frame.limit(limit).collect())
        return map(tuple, rows)

    def json_lines(self) -> Iterator[str]:
        """The rows, each as a JSON object on one line, in ASCII."""
        lines = self._frame.select(f.to_json(f.struct("*"), _KEEP_NULLS).alias("line"))
        return (in_ascii(row["line"]) for row in lines.toLocalIterator())

    def write_parquet(self, path: Path) -> int:
        """Write one Parquet file: the number of rows."""
        # Spark writes folders; the one file in it is what was asked for.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".parquet-") as folder:
            self._frame.coalesce(1).write.parquet((Path(folder) / "rows").as_uri())
            (written,) = Path(folder).glob("rows/part-*.parquet")
            written.chmod(0o600)
            written.replace(path)
        return int(parquet.read_metadata(path).num_rows)


@contextmanager
def spark_answer(out: str, query: str) -> Iterator[SparkAnswer]:
    """A query, bound to the tables and not run yet.

    Raises:
        UsageError: no tables there, or SQL that Spark does not accept; also while the answer is used.
    """
    folder = local_out(out)
    if folder is not None and not (folder / "tables").is_dir():  # told before Spark starts
        raise UsageError(f"{out} holds no tables: give the folder that was --out of an audit")
    spark = shut_off(start_session("pulsar-backlog sql", out))
    tables, queries = named_in(query)
    store = TableStore(out, lambda: spark)
    if not any(store.exists(TABLES[name]) for name in ("runs", *tables)):
        raise UsageError(f"{out} holds no tables: give the folder that was --out of an audit")
    frames = {name: store.frame(TABLES[name]) for name in tables}
    frames |= {name: spark.createDataFrame(one.rows, list(one.columns)) for name, one in relations(query).items()}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    names = {*TABLES, *views(), *frames}
    for name, sql in queries.items():
        with _mistakes_as_usage_errors(sql, f"the view conf/sql/{name}.sql: "):
            analysed(spark, parsed(spark, sql, names), frames.values()).createOrReplaceTempView(name)
    with (
        environment_faults_as_usage_errors(out),
        _mistakes_as_usage_errors(query),
    ):  # a file of a table that is gone, memory: told while rows are read
        yield SparkAnswer(analysed(spark, parsed(spark, query, names), frames.values()))


@contextmanager
def _mistakes_as_usage_errors(query: str, of: str = "") -> Iterator[None]:
    """What Spark says against a query becomes one sentence, which begins with whose query it is."""
    try:
        yield
    except PySparkException as error:
        raise UsageError(f"{of}{_sentence(error, query)}") from error
    except UsageError as error:
        raise UsageError(f"{of}{error}") from error


def _sentence(error: PySparkException, query: str) -> str:
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        return unknown_table(last_part(parameters["relationName"]))
    if condition.startswith("UNRESOLVED_COLUMN"):
        qualifier, _, name = parameters["objectName"].rpartition(".")
        suggested = [last_part(one) for one in parameters.get("proposal", "").split(", ")]
        if qualifier and last_part(name) in suggested:
            return unknown_qualifier(last_part(qualifier))
        return unknown_column(last_part(name), query, suggested)
    if condition == "CANNOT_RESOLVE_STAR_EXPAND":
        return unknown_qualifier(last_part(parameters["targetString"]))
    if condition == "AMBIGUOUS_REFERENCE":
        choices = parameters["referenceNames"].strip("[]").replace("`", "").split(", ")
        return ambiguous_column(last_part(parameters["name"]), choices)
    return str(error).strip().partition("\n")[0]


def _text(value: Column, kind: DataType) -> Column:
    if isinstance(kind, BinaryType):
        return f.lower(f.hex(value))
    if isinstance(kind, TimestampType):
        return f.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    if isinstance(kind, TimestampNTZType):
        return f.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSS")
    if isinstance(kind, ArrayType | MapType | StructType):
        return f.to_json(value, _KEEP_NULLS)
    return value.cast("string")
