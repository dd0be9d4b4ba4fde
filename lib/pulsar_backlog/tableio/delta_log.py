"""Delta's log of a table: read by delta-rs, appended to without a JVM.

    TABLE/part-....parquet                                      files of rows, right below the table's folder
    TABLE/_delta_log/00000000000000000003.json                  commit 3: its actions, see `delta_actions.py`
    TABLE/_delta_log/00000000000000000020.checkpoint.parquet    the table as of commit 20: no older one is read
    TABLE/_delta_log/_last_checkpoint                           which checkpoint that is

A log is opened at its newest version and stays at it. A commit takes the next number: its file is whole when it gets
its name, and a name is given once, so that of two writers that read the same version one fails. `LocalLog` does that in
a folder by a hard link, `BucketLog` in a bucket by a conditional write.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from pulsar_backlog.errors import UsageError
from pulsar_backlog.output.data_files import Place
from pulsar_backlog.tableio.delta_actions import (
    READER_VERSION,
    WRITER_VERSION,
    Action,
    commit_info_action,
    grown_metadata_action,
    json_lines,
    metadata_action,
    protocol_action,
    remove_action,
)
from pulsar_backlog.tables import Column, Table
from pulsar_backlog.tables.delta_schema import added_columns

CHECKPOINT_COMMITS = 20
"""Commits after which the log gets a checkpoint, so that opening a table stays quick however often it is written."""


class TableFile(NamedTuple):
    """A file of rows that is part of the table.

    Attributes:
        path: within the table.
        size_bytes: its size.
        rows: how many it holds; None where the log does not say.
    """

    path: str
    size_bytes: int
    rows: int | None


@dataclass(frozen=True)
class ListedFile:
    """A file as a listing has it, part of the table or not."""

    size: int
    modified_ms: int


class DeltaLog(ABC):
    """The log of one table, as it was when this was made.

    Attributes:
        path: where the table lies, for people and for Spark.
    """

    def __init__(self, path: str, table: DeltaTable | None) -> None:
        self.path = path
        self._table = table

    # What the table is.

    @property
    def version(self) -> int:
        """Version of the table, -1 when there is none."""
        return -1 if self._table is None else int(self._table.version())

    @property
    def identity(self) -> tuple[str, int]:
        """The table's id and version, which no other state of any table has."""
        return ("", -1) if self._table is None else (str(self._table.metadata().id), self.version)

    @property
    def is_plain(self) -> bool:
        """Whether its files hold its rows and no others, under the contract's names, and plain commits may follow."""
        if self._table is None:
            return True
        protocol = self._table.protocol()
        return protocol.min_reader_version <= READER_VERSION and protocol.min_writer_version <= WRITER_VERSION

    @property
    def has_files_outside_root(self) -> bool:
        """Whether a file of the table lies in a folder below it or in another place, as this program's never do."""
        return any("/" in file.path for file in self.files())

    def lacks(self, table: Table) -> list[Column] | None:
        """The contract's columns that the table, of an earlier version, lacks; None where it is of another contract."""
        return [] if self._table is None else added_columns(json.loads(self._table.schema().to_json()), table)

    def fits(self, table: Table) -> bool:
        """Whether the table is of this contract or an earlier version of it; true when there is none."""
        return self.lacks(table) is not None

    def check(self, table: Table) -> None:
        """Refuse a table that is not of this contract or an earlier version of it.

        Raises:
            UsageError: it is of another one.
        """
        if not self.fits(table):
            raise other_contract(self.path)

    # Its files.

    def files(self) -> list[TableFile]:
        """The files that are part of the table."""
        adds = self._add_actions("path", "size_bytes", "num_records")
        return [TableFile(unquote(path), size, rows) for path, size, rows in adds]

    @property
    def size_bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.size_bytes for file in self.files())

    def rows_of(self, cluster: str) -> int | None:
        """How many rows a cluster has, by statistics of the files; None where they do not say.

        They do not where a file has none, or has rows of several clusters of which this may be one.
        """
        if not self.is_plain:
            return None
        count = 0
        for rows, first, last in self._add_actions("num_records", "min.cluster", "max.cluster"):
            if rows is None or first is None or last is None:
                return None
            if first == last == cluster:
                count += rows
            elif first <= cluster <= last:
                return None
        return count

    def bounds(self, names: Sequence[str]) -> dict[str, dict[str, tuple[Any, Any, int | None]]]:
        """Of each file, by path: smallest value, largest value and nulls of columns; None where the log does not tell.

        Of a longer text they are a shorter one below and above.
        """
        columns = [f"{what}.{name}" for name in names for what in ("min", "max", "null_count")]
        return {
            unquote(path): {name: tuple(values[3 * i : 3 * i + 3]) for i, name in enumerate(names)}
            for path, *values in self._add_actions("path", *columns)
        }

    def unused_files(self, hours: int) -> dict[str, int]:
        """Bytes by name of files that neither the newest version nor one of the last hours reads, by delta-rs.

        A file that no commit names is judged by its own age: a running writer may be about to name it.
        """
        if self._table is None:
            return {}
        listed = self.listing()
        with self._as_listed(listed):
            names = self._table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        return {name: listed[name].size for name in map(unquote, names) if name in listed}

    def _add_actions(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Fields of the newest `add` of each file, by delta-rs' names; None where no file has such a field."""
        if self._table is None:
            return
        adds: Any = self._table.get_add_actions(flatten=True)
        present, absent = {*adds.schema.names}, [None] * adds.num_rows
        yield from zip(*(adds.column(name).to_pylist() if name in present else absent for name in names), strict=True)

    # Commits.

    def commit(
        self, table: Table, adds: Sequence[Action], removed: Sequence[str] = (), *, same_rows: bool = False
    ) -> int:
        """Add files, and remove some, in one commit that also makes the table when there was none; its version.

        Args:
            table: the contract.
            adds: actions that add files, see `add_action`.
            removed: paths of files that go.
            same_rows: whether the table has the same rows afterwards, only in other files.

        Raises:
            CommitConflictError: another writer changed the table since this was made.
        """
        version = self.version + 1
        actions = [
            commit_info_action(replaces=bool(removed), same_rows=same_rows),
            *self._table_actions(table),
            *(remove_action(path, same_rows=same_rows) for path in removed),
            *adds,
        ]
        self._append(f"{version:020}.json", json_lines(actions))
        if version and version % CHECKPOINT_COMMITS == 0:
            self.checkpoint()
        return version

    def _table_actions(self, table: Table) -> list[Action]:
        """What a commit says of the table itself: all where it is new, its schema where the contract has grown."""
        if self._table is None:
            return [protocol_action(), metadata_action(table)]
        return [grown_metadata_action(self._table, table)] if self.lacks(table) else []

    # What depends on where the log lies.

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
    def settle(self, names: Sequence[str]) -> None:
        """Wait until new files of these names are there to stay."""

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


def other_contract(path: str) -> UsageError:
    """A table of another contract is there."""
    return UsageError(
        f"{path} was written by another version of pulsar-backlog (its columns differ): give --out a new folder, "
        "or delete that one and audit again"
    )
