"""Delta tables read without a JVM, by delta-rs: on a disk, or in a bucket by a copy of the log."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.tableio.open_tables import opened_table
from pulsar_backlog.tableio.places import CONTRACT_VERSION, LOG_FOLDER, local_out, lost_file, table_path
from pulsar_backlog.tables import Column, Table
from pulsar_backlog.tables.delta_schema import added_columns, column_types

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.buckets.bucket import Bucket

Wanted: TypeAlias = Mapping[str, Collection[int | str]]
"""Values by column: rows that have none of them in one of these columns are not asked for."""

SCHEMES = ("s3://", "s3a://", "gs://", "az://", "abfss://")
MAX_HEADLINE = 300
_COLOURS = re.compile(r"\x1b\[\d+m|\u21b3")
_STACK = re.compile(r"\d+: ")
_READER_VERSION = 1
"""Of the Delta protocol. Later ones rename columns or mark rows as deleted, so that plain files hold other rows."""


def open_table(out: str, table: Table, endpoint: str | None = None) -> DeltaTable | None:
    """A table as its log has it now; None when it was never written.

    Raises:
        UsageError: the address is of no known kind, the table uses what this reader lacks, or its log is damaged.
        SourceError: its bucket cannot be read.
    """
    path = table_path(out, table)
    folder = local_out(path)
    if folder is None and not path.startswith(SCHEMES):
        raise UsageError(f"{out}: only Spark reads tables there (sql --engine spark; jobs, with --cluster named)")
    table_found = open_folder(folder) if folder is not None else _of_bucket(path, endpoint)
    if table_found is None:
        return None
    if table_found.protocol().min_reader_version > _READER_VERSION or table_found.metadata().partition_columns:
        raise UsageError(
            f"{path}: the table was changed so that plain Delta readers do not read it: use --engine spark"
        )
    return table_found


def open_folder(folder: Path, place: str | None = None) -> DeltaTable | None:
    """The table in a local folder, of any protocol; None when there is none.

    Args:
        folder: of the table.
        place: where the table lies, if the folder is a copy.

    Raises:
        UsageError: the table is there and its log is damaged.
    """
    log_folder = folder / LOG_FOLDER
    if not log_folder.is_dir():
        return None
    try:
        return opened_table(folder, log_folder)
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        log = f"{place or folder}/{LOG_FOLDER}"
        raise lost_file(log, f"delta-rs cannot read this table: {_details(error)}") from error


def _of_bucket(path: str, endpoint: str | None) -> DeltaTable | None:
    from pulsar_backlog.tableio.log_copy import copy_of  # noqa: PLC0415 - who reads folders does without

    copy = copy_of(path, endpoint)
    copy.bring_up_to_date()
    return open_folder(copy.folder, path)


def table_bucket(out: str, table: Table, endpoint: str | None = None) -> Bucket:
    """Where the files of a table in a bucket lie."""
    from pulsar_backlog.ledgers.buckets.addresses import output_bucket  # noqa: PLC0415

    return output_bucket(table_path(out, table), endpoint)


def data_files(table: DeltaTable, folder: Path, wanted: Wanted | None = None) -> list[Path]:
    """The files of a table in a local folder; of those whose statistics are known only such as may hold wanted rows."""
    log: Any = table.get_add_actions(flatten=True)
    bounds = list(_bound_names(wanted or {}))
    columns: dict[str, list[Any]] = {name: log.column(name).to_pylist() for name in bounds if name in log.schema.names}
    paths = [folder / unquote(path) for path in log.column("path").to_pylist()]
    return [path for row, path in enumerate(paths) if _may_hold(columns, row, wanted or {})]


@dataclass(frozen=True)
class Missing:
    """What a stored table has less than its contract.

    Attributes:
        columns: those that it does not have.
        fields: columns that it has, with fewer fields in their structs.
        files_differ: whether its schema grew, so that older files have less than it.
    """

    columns: Sequence[Column]
    fields: Sequence[Column]
    files_differ: bool


def missing_in(table: DeltaTable, contract: Table) -> Missing:
    """What was added to a contract since a table, or some of its files, were written."""
    schema = json.loads(table.schema().to_json())
    names = column_types(schema)
    added = added_columns(schema, contract) or ()
    return Missing(
        columns=[column for column in contract.columns if column.name not in names],
        fields=[column for column in added if column.name in names],
        files_differ=CONTRACT_VERSION in table.metadata().configuration,
    )


def _bound_names(wanted: Wanted) -> Iterator[str]:
    for name in wanted:
        yield from (f"min.{name}", f"max.{name}")


def _may_hold(columns: Mapping[str, list[Any]], row: int, wanted: Wanted) -> bool:
    for name, values in wanted.items():
        low, high = (columns[bound][row] if bound in columns else None for bound in (f"min.{name}", f"max.{name}"))
        if low is not None and high is not None and not any(low <= value <= high for value in values):
            return False
    return True


def _details(error: Exception) -> str:
    """What delta-rs says, on one line, without its colours and its stack."""
    lines = (_COLOURS.sub("", line).strip() for line in str(error).splitlines())
    words = " ".join(takewhile(lambda line: not _STACK.match(line), lines)) or type(error).__name__
    return words[:MAX_HEADLINE]
