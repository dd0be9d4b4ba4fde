"""Tables and views of an output folder in DuckDB: read only, in bounded memory, and shut off from everything else.

No JVM is started. delta-rs says which files a table is made of; DuckDB reads them itself where they lie on a disk, and
through pyarrow where they lie in a bucket. Once the tables are open no statement reaches another file or the network,
loads an extension or changes a setting, see docs/decisions/.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.sql.conf_queries import translated, twin
from pulsar_backlog.sql.duck_scope import refusal
from pulsar_backlog.sql.duck_values import duck_type, literal, quoted
from pulsar_backlog.sql.views import named_in
from pulsar_backlog.tableio.bucket_readers import Readers, readers
from pulsar_backlog.tableio.delta_rs import Missing, Wanted, data_files, missing_in, open_table, table_bucket
from pulsar_backlog.tableio.places import local_out, lost_file, table_path
from pulsar_backlog.tableio.table_versions import check_version
from pulsar_backlog.tables import TABLES, Table

MEMORY_LIMIT = "2GiB"
SPILL_LIMIT = "16GiB"
"""What does not fit into memory goes to the disk, up to this much."""

_CONFIG: Mapping[str, str] = {
    "memory_limit": MEMORY_LIMIT,
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # a name in a query is a table, never a variable of this program
    "default_null_order": "nulls_first_on_asc_last_on_desc",  # as Spark sorts
}
_PRELUDE = (
    "SET TimeZone = 'UTC'",
    "SET errors_as_json = true",
    "CREATE MACRO explode(items) AS unnest(items)",
    "CREATE MACRO decode(bytes) AS system.main.decode(bytes), (bytes, charset) AS system.main.decode(bytes)",
    "CREATE MACRO get_json_object(text, path) AS json_extract_string(text, path)",
)
"""Beside settings words of Spark's that stand in queries of users which are DuckDB's otherwise."""
_LOCK = ("SET enable_external_access = false", "SET lock_configuration = true")


@contextmanager
def connected(limits: Mapping[str, str] | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows no table yet, in bounded memory.

    Args:
        limits: settings of DuckDB that bound what it takes, besides `MEMORY_LIMIT` or instead of it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pulsar-backlog-") as spill,
        duckdb.connect(config={**_CONFIG, **(limits or {})}) as connection,
    ):
        connection.execute(f"SET temp_directory = {literal(spill)}")  # which forgets the limit of its size
        connection.execute(f"SET max_temp_directory_size = {literal(SPILL_LIMIT)}")
        for statement in _PRELUDE:
            connection.execute(statement)
        yield connection


@contextmanager
def opened(
    out: str,
    query: str,
    endpoint: str | None = None,
    wanted: Mapping[str, Wanted] | None = None,
    writes: Path | None = None,
    limits: Mapping[str, str] | None = None,
    scratch: Path | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows the tables and views that a query names, and nothing else.

    Args:
        out: folder or bucket that holds `tables/`.
        query: names in it decide what is opened.
        endpoint: of an S3 service that is not AWS.
        wanted: by table, which rows of it are asked for; files that hold none of them are skipped.
        writes: the one file that may be written.
        limits: as for `connected`.
        scratch: a folder of this process, whose files may be read too.

    Raises:
        UsageError: there are no tables, one that plain readers do not read or with a damaged file, or answers outgrow
            memory and disk; these two also while the connection is used.
        SourceError: a bucket cannot be read; also while the connection is used.
    """
    tables, views = named_in(query)
    with _faults_as_usage_errors(out), readers() as reading, connected(limits) as connection:
        allowed = _open_tables(connection, out, tables, endpoint, wanted or {}, reading)
        if writes is not None:
            connection.execute(f"SET allowed_paths = [{literal(str(writes))}]")
        allowed += [f"{scratch}/"] if scratch is not None else []
        connection.execute(f"SET allowed_directories = [{', '.join(map(literal, allowed))}]")
        for statement in _LOCK:
            connection.execute(statement)
        for name, sql in views.items():  # now: one that someone adds reaches no further than a query
            create_view(connection, name, sql)
        yield connection


def error_details(error: duckdb.Error) -> dict[str, Any]:
    """DuckDB's error by parts; errors of the parser alone come as text."""
    kind, _, text = str(error).partition(": ")
    if text.startswith("{"):
        return dict(json.loads(text))
    return {"exception_type": kind.removesuffix(" Error"), "exception_message": text or kind}


@contextmanager
def _faults_as_usage_errors(out: str) -> Iterator[None]:
    """Faults of machine and storage as one sentence."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        needs = f"the answer needs more than {MEMORY_LIMIT} of memory and {SPILL_LIMIT} on disk"
        raise UsageError(f"{needs}: ask for less, or ask with sql --engine spark") from error
    except (duckdb.IOException, duckdb.InvalidInputException) as error:  # the latter of damaged files
        details = str(error_details(error)["exception_message"]).partition("\n")[0]
        if local_out(out) is not None:
            raise lost_file(f"{out}/tables", details) from error
        raise SourceError(out, "failed", details) from error


def rows_of(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Rows of a query of this program, by column. Values stand in it as literals: to bind any, DuckDB loads pandas."""
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _open_tables(
    connection: duckdb.DuckDBPyConnection,
    out: str,
    names: Collection[str],
    endpoint: str | None,
    wanted: Mapping[str, Wanted],
    reading: Readers,
) -> list[str]:
    """Make each table a view; the folders in which their files lie."""
    allowed: list[str] = []
    versions: dict[str, int] = {}
    for name in sorted(names):
        table = TABLES[name]
        opened_table = open_table(out, table, endpoint)
        versions[name] = -1 if opened_table is None else opened_table.version()
        folder = local_out(table_path(out, table))
        if opened_table is None:
            create_empty_table(connection, table)
        elif folder is None:
            from pulsar_backlog.tableio.delta_dataset import dataset  # noqa: PLC0415 - who reads folders does without

            files_of = dataset(opened_table, table_bucket(out, table, endpoint), reading)
            missing = missing_in(opened_table, table)
            if missing.columns or missing.fields:
                connection.register(f"{name}_as_stored", files_of)
                _with_columns(connection, table, f"{name}_as_stored", missing)
            else:
                connection.register(name, files_of)
        else:
            files = data_files(opened_table, folder, wanted.get(name))
            allowed += [f"{folder}/", f"{_no_glob(str(folder))}/"]
            _from_files(connection, table, files, missing_in(opened_table, table))
    check_version(out, endpoint, versions)
    if set(versions.values()) <= {-1} and open_table(out, TABLES["runs"], endpoint) is None:
        raise UsageError(f"{out} holds no tables: give the folder that was --out of an audit")
    return allowed


def _from_files(connection: duckdb.DuckDBPyConnection, table: Table, files: list[Path], missing: Missing) -> None:
    if not files:
        create_empty_table(connection, table)
        return
    listed = ", ".join(literal(_no_glob(str(path))) for path in files)
    if missing.files_differ:  # files of one version or of several
        typed = ", ".join(f"CAST(NULL AS {duck_type(c.type)}) AS {quoted(c.name)}" for c in table.columns)
        stored = f"SELECT * FROM read_parquet([{listed}], union_by_name = true)"  # noqa: S608 - quoted
        nothing = f"SELECT {typed} WHERE FALSE"
        connection.execute(f"CREATE VIEW {table.name} AS {nothing} UNION ALL BY NAME {stored}")
        return
    _with_columns(connection, table, f"read_parquet([{listed}])", missing)


def _with_columns(connection: duckdb.DuckDBPyConnection, table: Table, stored: str, missing: Missing) -> None:
    """Make a table known, with null for the columns, and fields of structs, that were added to its contract since."""
    nulls = "".join(f", CAST(NULL AS {duck_type(c.type)}) AS {quoted(c.name)}" for c in missing.columns)
    wider = ", ".join(f"CAST({quoted(c.name)} AS {duck_type(c.type)}) AS {quoted(c.name)}" for c in missing.fields)
    replace = f" REPLACE ({wider})" if wider else ""
    connection.execute(f"CREATE VIEW {table.name} AS SELECT *{replace}{nulls} FROM {stored}")  # noqa: S608 - quoted


def create_view(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
    """Make a view of conf/sql known: as Spark's SQL, or else as DuckDB's own.

    Raises:
        UsageError: it is no query, or names what is not there.
    """
    mistakes = []
    for reading in _readings(name, sql):
        try:
            if (why := refusal(connection, reading)) is not None:
                raise UsageError(f"the view conf/sql/{name}.sql: {why}")
            connection.execute(f"CREATE VIEW {name} AS {reading}")
        except duckdb.Error as error:
            mistakes.append(error)
        else:
            return
    sentence = str(error_details(mistakes[0])["exception_message"]).partition("\n")[0]
    raise UsageError(f"the view conf/sql/{name}.sql: {sentence}") from mistakes[0]


def _readings(name: str, sql: str) -> Iterator[str]:
    """A view's text in words of DuckDB."""
    made = twin("sql", name, sql)
    if made is not None:
        yield made
        return
    from pulsar_backlog.sql.dialect_rules import TranslationError  # noqa: PLC0415 - loads sqlglot, for views of one's own

    with suppress(TranslationError):
        yield translated(sql)
    yield sql


def create_empty_table(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Make a table known that has no rows."""
    columns = ", ".join(f"CAST(NULL AS {duck_type(c.type)}) AS {quoted(c.name)}" for c in table.columns)
    connection.execute(f"CREATE VIEW {table.name} AS SELECT {columns} WHERE FALSE")


def _no_glob(path: str) -> str:
    """A path that DuckDB does not take for a pattern, as it takes every path."""
    return re.sub(r"([*?\[])", r"[\1]", path)
