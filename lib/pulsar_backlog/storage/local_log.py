"""Delta's log of a table in a local folder: read by delta-rs, and appended to without a JVM.

A commit is one file with the next number, made whole before it gets its name, which nobody else can have taken: of two
writers that read the same version one fails. Actions are those of the Delta protocol (PROTOCOL.md of delta-io/delta,
"Actions"), of its first reader and second writer version.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from pulsar_backlog import __version__
from pulsar_backlog.errors import CommitConflictError
from pulsar_backlog.output.data_files import sync
from pulsar_backlog.storage.delta_rs import open_folder
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.delta_schema import column_types, delta_schema

Action = Mapping[str, Any]

READER_VERSION, WRITER_VERSION = 1, 2
"""Of the protocol: what later ones ask of writers is left to Spark."""
CHECKPOINT_COMMITS = 20
"""Commits after which the log is summed up, so that opening a table stays quick however often it is written."""
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


class LocalLog:
    """The log of the table in one folder, as it was when this was made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._table = open_folder(folder)

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

    def has_columns_of(self, table: Table) -> bool:
        """Whether the table has the contract's columns and types; true when there is none."""
        if self._table is None:
            return True
        return column_types(json.loads(self._table.schema().to_json())) == column_types(delta_schema(table))

    def files(self) -> list[tuple[str, int, int | None]]:
        """Path within the folder, bytes and rows of each file; rows are None where the log does not tell."""
        if self._table is None:
            return []
        adds: Any = self._table.get_add_actions(flatten=True)
        columns = [adds.column(name).to_pylist() for name in ("path", "size_bytes", "num_records")]
        return [(unquote(path), size, rows) for path, size, rows in zip(*columns, strict=True)]

    def commit(self, table: Table, adds: Sequence[Action], removed: Sequence[str] = ()) -> int:
        """Add files, and remove some, in one commit that also makes the table when there was none; its version.

        It is on the disk when this returns.

        Raises:
            CommitConflictError: another writer changed the table since this was made.
        """
        version = self.version + 1
        log = self.folder / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        part, name = log / f".{uuid4()}.tmp", log / f"{version:020}.json"
        try:
            part.write_text("".join(json.dumps(one) + "\n" for one in self._actions(table, adds, removed)), "utf-8")
            sync(part)
            _take_name(part, name)
        finally:
            part.unlink(missing_ok=True)
        sync(log)
        if version and version % CHECKPOINT_COMMITS == 0 and (made := open_folder(self.folder)) is not None:
            made.create_checkpoint()
        return version

    def _actions(self, table: Table, adds: Sequence[Action], removed: Sequence[str]) -> Iterator[Action]:
        now_ms = int(time.time() * 1000)
        parameters = {"mode": "Overwrite" if removed else "Append"}
        engine = f"pulsar-backlog/{__version__}"
        yield {
            "commitInfo": {
                "timestamp": now_ms, "operation": "WRITE", "operationParameters": parameters, "engineInfo": engine,
            }
        }  # fmt: skip
        if self.version < 0:
            yield {"protocol": {"minReaderVersion": READER_VERSION, "minWriterVersion": WRITER_VERSION}}
            yield metadata_action(table)
        for path in removed:
            yield {"remove": {"path": path, "deletionTimestamp": now_ms, "dataChange": True}}
        yield from adds


def metadata_action(table: Table) -> Action:
    """The table as its contract says: comments, nullability, statistics; nothing that other readers lack."""
    configuration = {"delta.enableDeletionVectors": "false"}
    if table.statistics:
        configuration["delta.dataSkippingStatsColumns"] = ",".join(table.statistics)
    return {
        "metaData": {
            "id": str(uuid4()), "description": table.comment, "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(delta_schema(table)), "partitionColumns": [], "configuration": configuration,
        }
    }  # fmt: skip


def add_action(folder: Path, file: Mapping[str, Any]) -> Action:
    """The action that adds a file of a table's folder; `file` is a row of `FILES_DDL`."""
    changed_ms = int((folder / file["name"]).stat().st_mtime * 1000)
    return {
        "add": {
            "path": file["name"], "partitionValues": {}, "size": file["size_bytes"],
            "modificationTime": changed_ms, "dataChange": True, "stats": file["stats"],
        }
    }  # fmt: skip


def _take_name(part: Path, name: Path) -> None:
    """Give a finished file its name, unless another has it."""
    try:
        os.link(part, name)
    except FileExistsError as error:
        raise CommitConflictError(f"{name} is there already") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links: `claimed` lets only one of our own commands write here.
        if name.exists():
            raise CommitConflictError(f"{name} is there already") from error
        part.rename(name)
