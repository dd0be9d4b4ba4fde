"""Ad-hoc SQL over the tables of an output folder, and the views of conf/sql, by name."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table as Grid

from pulsar_backlog.config import home
from pulsar_backlog.errors import UsageError
from pulsar_backlog.storage.delta import local_out, register_tables
from pulsar_backlog.storage.session import start_session

MAX_ROWS = 1000
"""Rows printed at most; more are said to be there, not fetched."""


def run_query(out: str, query: str, console: Console) -> None:
    """Run a query and print its rows: a grid on a terminal, tab-separated text elsewhere.

    Raises:
        UsageError: no tables there, or SQL that Spark does not accept.
    """
    folder = local_out(out)
    if folder is not None and not (folder / "tables").is_dir():
        raise UsageError(f"{out} holds no tables: give the folder that was --out of an audit")
    spark = start_session("pulsar-backlog sql")
    register_tables(spark, out)
    register_views(spark, home() / "conf" / "sql")
    try:
        frame = spark.sql(query)
        rows = frame.limit(MAX_ROWS + 1).collect()
    except PySparkException as error:
        raise UsageError(_text(str(error).strip().partition("\n")[0])) from error
    _print(
        [_text(name) for name in frame.columns], [[_text(value) for value in row] for row in rows[:MAX_ROWS]], console
    )
    if len(rows) > MAX_ROWS:
        console.print(f"... more than {MAX_ROWS} rows; add a LIMIT or write the result elsewhere")


def register_views(spark: SparkSession, folder: Path) -> None:
    """Make every `NAME.sql` a temporary view NAME."""
    for path in sorted(folder.glob("*.sql")):
        spark.sql(path.read_text()).createOrReplaceTempView(path.stem)


def _text(value: object) -> str:
    """A value as text that cannot steer a terminal."""
    text = "" if value is None else value.hex() if isinstance(value, bytes | bytearray) else str(value)
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _print(columns: list[str], rows: list[list[str]], console: Console) -> None:
    if not console.is_terminal:
        for line in (columns, *rows):
            console.file.write("\t".join(line) + "\n")
        return
    grid = Grid(*columns)
    for line in rows:
        grid.add_row(*line)
    console.print(grid, markup=False)
