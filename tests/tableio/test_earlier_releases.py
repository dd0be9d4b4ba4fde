"""Tables that earlier commits wrote: read as they are, audited on, and then as if everything had been read today."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pulsar_backlog.sql.duck import opened
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.delta_schema import added_columns
from scripts import compare_audits
from tests.auditing import ADMIN, OBJECTS, Audited, run_audit
from tests.ledgers.conftest import S3Server, aws, s3_server

NEEDS_SPARK = True

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

EARLIER = sorted((Path(__file__).parents[1] / "data" / "earlier").glob("*.zip"))
OF_NIGHTS = {*compare_audits.NOT_COMPARED, "changes", "problems", "saved_states", "backlogs", "topic_digests"}
"""Tables that tell of the nights before too, of when state was saved, and of where the source lies, here a copy."""
READ_AGAIN = {"2026-11-21-2f9e8504": True, "2026-11-22-800f8454": True, "2026-11-23-dd8744a4": True,
    "2026-11-25-f764b013": False}  # fmt: skip
"""Whether scanned ledgers are read again for what was not kept."""

KNOWN_LATER = {
    "entry_spans": ("first_broker_time_ms", "broker_times_ms"), "subscriptions": ("oldest_unacked_broker_time",),
}  # fmt: skip
"""Columns that stay null for ledgers that an earlier release read, where nothing else asks to read them again."""


@pytest.fixture(params=EARLIER, ids=lambda path: path.stem)
def archive(request: pytest.FixtureRequest) -> Path:
    """The tables of one commit."""
    return Path(request.param)


@pytest.fixture
def out(archive: Path, tmp_path: Path) -> Path:
    """A folder of results that holds them."""
    folder = tmp_path / "out"
    with zipfile.ZipFile(archive) as stored:
        stored.extractall(folder)
    table_cache.clear()  # another process wrote them
    return folder


def test_a_column_that_tables_of_a_release_lack_says_its_version() -> None:
    """Of the newest of these; a new one belongs here with each release."""
    with zipfile.ZipFile(EARLIER[-1]) as stored:
        there = {
            table.name: json.loads(json.loads(metadata)["metaData"]["schemaString"])
            for table in TABLES.values()
            if (metadata := _metadata(stored, table.name)) is not None
        }
    for name, schema in there.items():
        added = added_columns(schema, TABLES[name])
        assert added is not None, name
        assert [column.name for column in added if max(column.since, column.fields_since) == 1] == [], name


def _metadata(stored: zipfile.ZipFile, table: str) -> str | None:
    first = f"tables/{table}/_delta_log/{0:020}.json"
    if first not in stored.namelist():
        return None
    (line,) = (one for one in stored.read(first).decode().splitlines() if one.startswith('{"metaData"'))
    return line


def test_every_reader_opens_them(out: Path, spark: SparkSession) -> None:
    there = [table for table in TABLES.values() if (out / "tables" / table.name).is_dir()]
    assert len(there) > 12
    store = TableStore(str(out), lambda: spark)
    for table in there:
        stored = DeltaTable(out / "tables" / table.name).count()
        names = ", ".join(f'"{name}"' for name in table.column_names())
        query = f"SELECT {names} FROM {table.name}"
        with opened(str(out), query) as connection:
            by_duckdb = compare_audits.texts_of(connection.execute(query).to_arrow_table())
        frame = store.frame(table)
        assert frame.columns == table.column_names()
        assert compare_audits.texts_of(frame.toArrow()) == by_duckdb, table.name
        assert by_duckdb.total() == stored


@pytest.mark.usefixtures("aws")
def test_duckdb_reads_them_in_a_bucket_too(archive: Path, out: Path, s3_server: S3Server) -> None:
    files = [path for path in (out / "tables").rglob("*") if path.is_file()]
    name = archive.stem
    s3_server.fill(name, {f"out/{path.relative_to(out)}": (path.read_bytes(), {}) for path in files})
    for table in ("ledgers", "chunked_messages", "scans"):
        query = f"SELECT * FROM {table}"
        read = []
        for place, endpoint in ((str(out), None), (f"s3://{name}/out", s3_server.endpoint)):
            with opened(place, query, endpoint) as connection:
                read.append(compare_audits.texts_of(connection.execute(query).to_arrow_table()))
        assert read[0] == read[1], table
        assert read[0], table


def as_it_was(folder: Path, out: Path) -> Path:
    """The source with the times that its files had for the earlier audit: a folder has no other version tags."""
    shutil.copytree(OBJECTS, folder)
    for row in DeltaTable(out / "tables" / "ledgers").to_pyarrow_table().to_pylist():
        if row["data_uri"] is not None and row["data_etag"] is not None:
            written = int(row["data_etag"].removeprefix("mtime-"))
            os.utime(folder / row["data_uri"], ns=(written, written))
    return folder


def without_tags(table: Path) -> Counter[str]:
    """Rows of a table, but for version tags (files of a checkout are as old as it is) and what is known later."""
    rows = DeltaTable(table).to_pyarrow_table()
    tags = [name for name in rows.column_names if name.endswith("etag") or name in KNOWN_LATER.get(table.name, ())]
    return compare_audits.texts_of(rows.drop_columns(tags))


def known_later(table: Path) -> dict[tuple[Any, ...], Any]:
    """What is known later, by key and column."""
    rows = DeltaTable(table).to_pyarrow_table().to_pylist()
    key = TABLES[table.name].key
    names = KNOWN_LATER[table.name]  # a table that was not written again since has no such columns
    return {(*(row[one] for one in key), name): row.get(name) for row in rows for name in names}


def test_an_audit_goes_on_with_them(archive: Path, out: Path, bundled: Audited, tmp_path: Path) -> None:
    source = as_it_was(tmp_path / "source", out)
    audited = run_audit(source, out, admin=ADMIN, cluster="demo")
    assert audited.exit_code == bundled.exit_code
    assert ("that an earlier release read are read again" in audited.stderr) is READ_AGAIN[archive.stem]
    for name in {path.parent.name for path in bundled.out.glob("tables/*/_delta_log")} - OF_NIGHTS:
        now, fresh = (without_tags(one / "tables" / name) for one in (out, bundled.out))
        assert (now - fresh, fresh - now) == ({}, {}), name
    for name in KNOWN_LATER:
        stored, of_today = (known_later(one / "tables" / name) for one in (out, bundled.out))
        assert all(value in (None, of_today[key]) for key, value in stored.items()), name

    again = run_audit(source, out, admin=ADMIN, cluster="demo")
    assert "read again" not in again.stderr
