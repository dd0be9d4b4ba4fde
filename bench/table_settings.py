"""What settings of Parquet cost and save: bytes of the table `entries`, the time to write it, and that of five queries.

    python -m bench.table_settings AUDIT

Seconds are of the cores, which other programs hardly change. docs/decisions/ says what was chosen by it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import parquet

from pulsar_backlog.output.data_files import ROW_GROUP_ROWS, encodings
from pulsar_backlog.tables.entries import TABLE

REPETITIONS = 5

QUERIES = {
    "one entry": "SELECT * FROM entries WHERE ledger_id = {ledger} AND entry_id = {entry}",
    "one uuid": "SELECT ledger_id, entry_id, chunk_id FROM entries WHERE uuid = '{uuid}' ORDER BY ALL",
    "a span of time": "SELECT count(*), sum(length) FROM entries WHERE publish_time BETWEEN '{since}' AND '{until}'",
    "by producer": "SELECT producer_name, count(*), sum(length), max(sequence_id) FROM entries GROUP BY 1",
    "by key": "SELECT partition_key, count(*), max(publish_time) FROM entries GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20",
}
"""What docs/questions.md asks most: of one entry, of a chunked message, of a time, and two sums over all."""


@dataclass(frozen=True)
class Settings:
    """Of a writer of Parquet."""

    name: str
    rows: int = ROW_GROUP_ROWS
    compression: str = "zstd"
    level: int | None = 1
    more: dict[str, Any] = field(default_factory=dict)

    def write(self, table: pa.Table, path: Path) -> None:
        """Write one file."""
        options = encodings(table.schema, TABLE) | self.more
        parquet.write_table(
            table, path, row_group_size=self.rows, compression=self.compression, compression_level=self.level, **options
        )


SETTINGS = (
    Settings("as it is"),
    Settings("no differences", more={"column_encoding": None}),
    Settings("no differences, dictionaries everywhere", more={"column_encoding": None, "use_dictionary": True}),
    *(Settings(f"row groups of {rows:,}", rows) for rows in (16_384, 32_768, 65_536, 262_144, 524_288)),
    Settings("zstd level 3", level=3),
    Settings("lz4", compression="lz4", level=None),
    Settings("snappy", compression="snappy", level=None),
    Settings("no compression", compression="none", level=None),
    Settings("pages of version 2", more={"data_page_version": "2.0"}),
    Settings("with an index of pages", more={"write_page_index": True}),
)


def measure(files: Sequence[str], folder: Path) -> dict[str, dict[str, float]]:
    """Of each of `SETTINGS` MB, core seconds to write, and core milliseconds of each query: medians, all in turn."""
    tables = [parquet.read_table(file, partitioning=None) for file in files]
    queries = _queries(tables[-1])
    took: dict[str, dict[str, list[float]]] = {one.name: {} for one in SETTINGS}
    for settings in SETTINGS * REPETITIONS:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        seconds = sum(_core_seconds(settings.write, table, folder / f"{at}.parquet") for at, table in enumerate(tables))
        figures = {"MB": sum(path.stat().st_size for path in folder.iterdir()) / 1e6, "write s": seconds}
        figures |= {f"{name} ms": 1000 * _core_seconds(_ask, folder, query) for name, query in queries.items()}
        for name, figure in figures.items():
            took[settings.name].setdefault(name, []).append(figure)
    return {name: {what: median(values) for what, values in figures.items()} for name, figures in took.items()}


def _queries(table: pa.Table) -> dict[str, str]:
    """The queries, for values of a row in the middle that is a chunk."""
    rows = table.filter(table["uuid"].is_valid())
    row = rows.slice(rows.num_rows // 2, 1).to_pylist()[0]
    times = sorted(table["publish_time"].slice(table.num_rows // 2, 1000).to_pylist())
    values = {"ledger": row["ledger_id"], "entry": row["entry_id"], "uuid": row["uuid"]}
    return {name: query.format(**values, since=times[0], until=times[-1]) for name, query in QUERIES.items()}


def _ask(folder: Path, query: str) -> int:
    """How many rows a query has."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.read_parquet(f"{folder}/*.parquet").create_view("entries")
        return len(connection.execute(query).fetchall())


def _core_seconds(work: Callable[..., object], *given: object) -> float:
    began = time.process_time()
    work(*given)
    return time.process_time() - began


def main(argv: list[str]) -> int:
    """Print a line for each of `SETTINGS`."""
    parser = argparse.ArgumentParser(prog="bench.table_settings")
    parser.add_argument("audit", type=Path, help="folder of an audit")
    files = DeltaTable(str(parser.parse_args(argv).audit / "tables" / TABLE.name)).file_uris()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(files, Path(folder) / "entries")
    print("| settings |", " | ".join(figures[SETTINGS[0].name]), "|")
    for name, one in figures.items():
        print(f"| {name} |", " | ".join(f"{value:.2f}" for value in one.values()), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
