"""Ad-hoc SQL over the tables of an output folder, and the views of conf/sql, by name."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from rich.console import Console
from rich.table import Table as Grid

from pulsar_backlog.config import home
from pulsar_backlog.errors import UsageError
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.json_text import SPARK_OPTIONS
from pulsar_backlog.private_files import private_file
from pulsar_backlog.storage.delta import local_out, register_tables
from pulsar_backlog.storage.session import start_session

FileKind = Literal["json", "parquet"]
_T = TypeVar("_T")

MAX_ROWS = 1000
"""Rows printed at most; more are said to be there, not fetched."""


def run_query(out: str, query: str, console: Console) -> None:
    """Run a query and print its rows: a grid on a terminal, tab-separated text elsewhere.

    Raises:
        UsageError: no tables there, or SQL that Spark does not accept.
    """
    frame = _asked(out, query)
    rows = _told(lambda: frame.limit(MAX_ROWS + 1).collect())
    _print(
        [_text(name) for name in frame.columns], [[_text(value) for value in row] for row in rows[:MAX_ROWS]], console
    )
    if len(rows) > MAX_ROWS:
        console.print(f"... more than {MAX_ROWS} rows; add a LIMIT, or write the result to a file with --to")


def write_query(out: str, query: str, kind: FileKind, path: Path) -> int:
    """Run a query and write all its rows to one file: the number of rows.

    JSON is one object per line, in ASCII, with times in ISO 8601 and bytes in base64. What was at `path` is replaced
    when all is written. Only its owner may read it: a query may ask for payloads.

    Raises:
        UsageError: no tables there, SQL that Spark does not accept, or a file that cannot be written.
    """
    frame = _asked(out, query)
    part = path.with_name(f".{path.name}.part")
    try:
        rows = _told(lambda: _WRITERS[kind](frame, part))
        part.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return rows


def _write_json(frame: DataFrame, path: Path) -> int:
    lines = frame.select(f.to_json(f.struct("*"), {"ignoreNullFields": "false", **SPARK_OPTIONS}).alias("line"))
    rows = 0
    with private_file(path) as file:
        for row in lines.toLocalIterator():
            file.write(str(row["line"]).encode() + b"\n")
            rows += 1
    return rows


def _write_parquet(frame: DataFrame, path: Path) -> int:
    # Spark writes folders; the one file in it is what was asked for.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".parquet-") as folder:
        frame.coalesce(1).write.parquet((Path(folder) / "rows").as_uri())
        (written,) = Path(folder).glob("rows/part-*.parquet")
        written.chmod(0o600)
        written.replace(path)
    return int(parquet.read_metadata(path).num_rows)


_WRITERS: dict[FileKind, Callable[[DataFrame, Path], int]] = {"json": _write_json, "parquet": _write_parquet}


def _asked(out: str, query: str) -> DataFrame:
    """The query's frame, not run yet."""
    folder = local_out(out)
    if folder is not None and not (folder / "tables").is_dir():
        raise UsageError(f"{out} holds no tables: give the folder that was --out of an audit")
    spark = start_session("pulsar-backlog sql", out)
    register_tables(spark, out)
    register_views(spark, home() / "conf" / "sql")
    return _told(lambda: spark.sql(query))


def _told(run: Callable[[], _T]) -> _T:
    """What `run` gives; what Spark says against it becomes one sentence."""
    try:
        return run()
    except PySparkException as error:
        raise UsageError(_text(str(error).strip().partition("\n")[0])) from error


def register_views(spark: SparkSession, folder: Path) -> None:
    """Make every `NAME.sql` a temporary view NAME."""
    for path in sorted(folder.glob("*.sql")):
        spark.sql(path.read_text()).createOrReplaceTempView(path.stem)


def _text(value: object) -> str:
    """A value as text on one line that cannot steer a terminal, whole."""
    text = "" if value is None else value.hex() if isinstance(value, bytes | bytearray) else str(value)
    return visible(text, sys.maxsize)


def _print(columns: list[str], rows: list[list[str]], console: Console) -> None:
    if not console.is_terminal:
        for line in (columns, *rows):
            console.file.write("\t".join(line) + "\n")
        return
    grid = Grid(*columns)
    for line in rows:
        grid.add_row(*line)
    console.print(grid, markup=False)
