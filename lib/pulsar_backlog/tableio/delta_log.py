"""Delta's log of a table, read by delta-rs, appended to without a JVM; `LocalLog` and `BucketLog` know where it lies.

A commit is one file with the next number, whole when it gets its name, which nobody else can have taken: of two writers
that read the same version one fails. Actions are those of the Delta protocol (PROTOCOL.md of delta-io/delta,
"Actions"), of its first reader and second writer version.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from pulsar_backlog import __version__
from pulsar_backlog.errors import UsageError
from pulsar_backlog.output.data_files import Place
from pulsar_backlog.tableio.places import CONTRACT_VERSION
from pulsar_backlog.tables import Column, Table
from pulsar_backlog.tables.delta_schema import added_columns, delta_schema

Action = Mapping[str, Any]

READER_VERSION, WRITER_VERSION = 1, 2
"""Of the protocol: what later ones ask of writers is left to Spark."""
CHECKPOINT_COMMITS = 20
"""Commits after which the log gets a checkpoint, so that opening a table stays quick however often it is written."""


class DeltaLog(ABC):
    """The log of one table, as it was when this was made.

    Attributes:
        path: where the table lies, for people and for Spark.
    """

    def __init__(self, path: str, table: DeltaTable | None) -> None:
        self.path = path
        self._table = table

    @property
    def version(self) -> int:
        """Version of the table, -1 when there is none."""
        return -1 if self._table is None else int(self._table.version())

    @property
    def identity(self) -> tuple[str, int]:
        """What no other state of any table has: the table's id and version."""
        return ("", -1) if self._table is None else (str(self._table.metadata().id), self.version)

    @property
    def is_plain(self) -> bool:
        """Whether its files hold its rows and no others, under the contract's names, and plain commits may follow."""
        protocol = None if self._table is None else self._table.protocol()
        return protocol is None or (
            protocol.min_reader_version <= READER_VERSION and protocol.min_writer_version <= WRITER_VERSION
        )

    @property
    def has_files_outside_root(self) -> bool:
        """Whether a file of the table lies in a folder below it or in another place, as its own never do."""
        return any("/" in path for path, *_ in self.files())

    def lacks(self, table: Table) -> list[Column] | None:
        """The contract's columns that the table, of an earlier version, lacks; None where it is of another contract."""
        return [] if self._table is None else added_columns(json.loads(self._table.schema().to_json()), table)

    def fits(self, table: Table) -> bool:
        """Whether the table is of this contract or an earlier version of it; true when there is none."""
        return self.lacks(table) is not None

    def check(self, table: Table) -> None:
        """Look whether the table is of this contract or an earlier version of it.

        Raises:
            UsageError: it is of another one.
        """
        if not self.fits(table):
            raise other_contract(self.path)

    def files(self) -> list[tuple[str, int, int | None]]:
        """Path within the table, bytes and rows of each file; rows are None where the log does not tell."""
        adds = self._of_files("path", "size_bytes", "num_records")
        return [(unquote(path), size, rows) for path, size, rows in adds]

    def rows_of(self, cluster: str) -> int | None:
        """How many rows a cluster has, as the statistics of the files tell; None where they do not."""
        if not self.is_plain:
            return None
        count = 0
        for rows, low, high in self._of_files("num_records", "min.cluster", "max.cluster"):
            if rows is None or low is None or high is None:
                return None
            if low == high == cluster:
                count += rows
            elif low <= cluster <= high:
                return None
        return count

    def bounds(self, names: Sequence[str]) -> dict[str, dict[str, tuple[Any, Any, int | None]]]:
        """Of each file, by path: smallest value, largest value and nulls of columns; None where the log does not tell.

        Of a longer text they are a shorter one below and above.
        """
        columns = [f"{what}.{name}" for name in names for what in ("min", "max", "null_count")]
        return {
            unquote(path): {name: tuple(values[3 * i : 3 * i + 3]) for i, name in enumerate(names)}
            for path, *values in self._of_files("path", *columns)
        }

    def _of_files(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """What the log says of each file, by delta-rs' names of it; None for what it does not say of any."""
        if self._table is None:
            return
        adds: Any = self._table.get_add_actions(flatten=True)
        unknown = [None] * adds.num_rows
        fields = {*adds.schema.names}
        yield from zip(*(adds.column(name).to_pylist() if name in fields else unknown for name in names), strict=True)

    @property
    def size_bytes(self) -> int:
        """Bytes of its files."""
        return sum(size for _path, size, _rows in self.files())

    def commit(
        self, table: Table, adds: Sequence[Action], removed: Sequence[str] = (), *, same_rows: bool = False
    ) -> int:
        """Add files, and remove some, in one commit that also makes the table when there was none; its version.

        Args:
            table: the contract.
            adds: actions that add files, see `add_action`.
            removed: files that go.
            same_rows: whether the table has the same rows afterwards, only in other files.

        Raises:
            CommitConflictError: another writer changed the table since this was made.
        """
        version = self.version + 1
        actions = self._actions(table, adds, removed, same_rows)
        self._append(f"{version:020}.json", "".join(json.dumps(one) + "\n" for one in actions))
        if version and version % CHECKPOINT_COMMITS == 0:
            self.checkpoint()
        return version

    def _actions(
        self, table: Table, adds: Sequence[Action], removed: Sequence[str], same_rows: bool
    ) -> Iterator[Action]:
        now_ms = int(time.time() * 1000)
        parameters = {} if same_rows else {"mode": "Overwrite" if removed else "Append"}
        engine = f"pulsar-backlog/{__version__}"
        yield {
            "commitInfo": {
                "timestamp": now_ms, "operation": "OPTIMIZE" if same_rows else "WRITE",
                "operationParameters": parameters, "engineInfo": engine, "txnId": str(uuid4()),
            }
        }  # fmt: skip
        if self.version < 0:
            yield {"protocol": {"minReaderVersion": READER_VERSION, "minWriterVersion": WRITER_VERSION}}
            yield metadata_action(table)
        elif self._table is not None and self.lacks(table):
            yield grown_metadata(self._table, table)
        for path in removed:
            yield {"remove": {"path": path, "deletionTimestamp": now_ms, "dataChange": not same_rows}}
        yield from adds

    def unused_files(self, hours: int) -> dict[str, int]:
        """Bytes of files by name that neither the newest version nor one of the last hours reads, delta-rs says.

        Of a file that no commit names its own age counts: a running writer may be about to name it.
        """
        listed = self.listing()
        if self._table is None:
            return {}
        with self._as_listed(listed):
            names = self._table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        return {name: listed[name].size for name in map(unquote, names) if name in listed}

    @abstractmethod
    def place(self) -> Place:
        """Where files of new rows go, under names that nobody else uses."""

    @abstractmethod
    def open_file(self, path: str) -> pq.ParquetFile:
        """One of its small files."""

    def read(self, path: str) -> pa.Table:
        """The rows of one of its small files."""
        return self.open_file(path).read()  # `read_table` imports pandas

    @abstractmethod
    def settle(self) -> None:
        """Wait until the names of new files are there to stay."""

    @abstractmethod
    def mentions(self, text: str) -> bool:
        """Whether a commit since this was made holds a text, or may: what cannot be read may hold any."""

    @abstractmethod
    def remove(self, prefix: str, but: Iterable[str]) -> None:
        """Remove the table's files whose names begin so, but these."""

    @abstractmethod
    def _append(self, name: str, text: str) -> None:
        """Write a commit under its name; it stays when this returns.

        Raises:
            CommitConflictError: the name is taken.
        """

    @abstractmethod
    def checkpoint(self) -> None:
        """Write a checkpoint of the newest version; it stays when this returns."""

    @abstractmethod
    def listing(self, folder: str = "") -> dict[str, ListedFile]:
        """Files right below the table's folder, or one below it, by name."""

    @abstractmethod
    def delete(self, names: Iterable[str], folder: str = "") -> None:
        """Delete such files, which may be gone already."""

    @abstractmethod
    def _as_listed(self, listed: Mapping[str, ListedFile]) -> AbstractContextManager[None]:
        """While this is open, delta-rs sees these files beside the log."""


@dataclass(frozen=True)
class ListedFile:
    """A file as a listing has it."""

    size: int
    modified_ms: int


def other_contract(path: str) -> UsageError:
    """A table of another contract is there."""
    return UsageError(
        f"{path} was written by another version of pulsar-backlog (its columns differ): give --out a new folder, "
        "or delete that one and audit again"
    )


def metadata_action(table: Table) -> Action:
    """The table as its contract says: comments, nullability, statistics; nothing that other readers lack."""
    return {
        "metaData": {
            "id": str(uuid4()), "description": table.comment, "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(delta_schema(table)), "partitionColumns": [],
            "configuration": {"delta.enableDeletionVectors": "false"} | statistics_settings(table),
        }
    }  # fmt: skip


def grown_metadata(older: DeltaTable, table: Table) -> Action:
    """A table of an earlier version with what its contract has besides: fields in their place, columns at its end."""
    there, metadata = json.loads(older.schema().to_json()), older.metadata()
    names = [column.name for column in added_columns(there, table) or ()]
    added = {one["name"]: one for one in delta_schema(table)["fields"] if one["name"] in names}
    fields = [added.pop(one["name"], one) for one in there["fields"]] + list(added.values())
    return {
        "metaData": {
            "id": str(metadata.id), "description": table.comment, "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": [],
            "configuration": {**metadata.configuration, CONTRACT_VERSION: str(table.version)},
        }
    }  # fmt: skip


def statistics_settings(table: Table) -> dict[str, str]:
    """Of which columns files have statistics; without a word they would be looked for in the first 32."""
    if not table.statistics:
        return {"delta.dataSkippingNumIndexedCols": "0"}
    return {"delta.dataSkippingStatsColumns": ",".join(table.statistics)}


def add_action(file: Mapping[str, Any], *, same_rows: bool = False) -> Action:
    """The action that adds a file; `file` is a row of `FILES_DDL`."""
    return {
        "add": {
            "path": file["name"], "partitionValues": {}, "size": file["size_bytes"],
            "modificationTime": int(time.time() * 1000), "dataChange": not same_rows, "stats": file["stats"],
        }
    }  # fmt: skip
