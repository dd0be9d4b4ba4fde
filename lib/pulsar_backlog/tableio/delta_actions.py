"""Actions of a Delta commit: a commit is a file of JSON lines, each line an object with one action.

| action | says | stands in |
|---|---|---|
| `commitInfo` | who committed what, and when | every commit, first |
| `protocol` | versions that readers and writers must know | the commit that makes the table |
| `metaData` | columns, comments, settings | the same; a commit after which the table has more columns |
| `remove` | a file goes, since when | a commit that replaces rows, or joins files |
| `add` | a file comes, with its bytes and statistics | a commit that brings rows, or joins files |

Source: "Actions" in PROTOCOL.md of delta-io/delta, of the first reader and second writer version. `dataChange` is false
where files are joined: the table has the same rows afterwards.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from deltalake import DeltaTable

from pulsar_backlog import __version__
from pulsar_backlog.tableio.places import CONTRACT_VERSION
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.delta_schema import added_columns, delta_schema

Action = Mapping[str, Any]

READER_VERSION, WRITER_VERSION = 1, 2
"""Of the protocol: what later ones ask of writers is left to Spark."""


def commit_info_action(*, replaces: bool, same_rows: bool) -> Action:
    """The action that says what a commit does.

    Args:
        replaces: whether files go.
        same_rows: whether the table has the same rows afterwards, only in other files.
    """
    return {
        "commitInfo": {
            "timestamp": _now_ms(), "operation": "OPTIMIZE" if same_rows else "WRITE",
            "operationParameters": {} if same_rows else {"mode": "Overwrite" if replaces else "Append"},
            "engineInfo": f"pulsar-backlog/{__version__}", "txnId": str(uuid4()),
        }
    }  # fmt: skip


def protocol_action() -> Action:
    """The action that says who may read and write a new table."""
    return {"protocol": {"minReaderVersion": READER_VERSION, "minWriterVersion": WRITER_VERSION}}


def metadata_action(table: Table) -> Action:
    """A new table as its contract says: comments, nullability, statistics; nothing that other readers lack."""
    settings = {"delta.enableDeletionVectors": "false"} | statistics_settings(table)
    return _metadata(str(uuid4()), table, delta_schema(table), settings)


def grown_metadata_action(older: DeltaTable, table: Table) -> Action:
    """A table of an earlier version with what its contract has besides: fields in their place, columns at its end."""
    schema, metadata = json.loads(older.schema().to_json()), older.metadata()
    names = {column.name for column in added_columns(schema, table) or ()}
    added = {field["name"]: field for field in delta_schema(table)["fields"] if field["name"] in names}
    fields = [added.pop(field["name"], field) for field in schema["fields"]] + list(added.values())
    settings = {**metadata.configuration, CONTRACT_VERSION: str(table.version)}
    return _metadata(str(metadata.id), table, {"type": "struct", "fields": fields}, settings)


def remove_action(path: str, *, same_rows: bool) -> Action:
    """The action after which a file is no longer part of the table."""
    return {"remove": {"path": path, "deletionTimestamp": _now_ms(), "dataChange": not same_rows}}


def add_action(file: Mapping[str, Any], *, same_rows: bool = False) -> Action:
    """The action that adds a file; `file` is a row of `FILES_DDL`."""
    return {
        "add": {
            "path": file["name"], "partitionValues": {}, "size": file["size_bytes"],
            "modificationTime": _now_ms(), "dataChange": not same_rows, "stats": file["stats"],
        }
    }  # fmt: skip


def json_lines(actions: Iterable[Action]) -> str:
    """The text of a commit."""
    return "".join(f"{json.dumps(action)}\n" for action in actions)


def statistics_settings(table: Table) -> dict[str, str]:
    """Of which columns files have statistics; without a word they would be looked for in the first 32."""
    if not table.statistics:
        return {"delta.dataSkippingNumIndexedCols": "0"}
    return {"delta.dataSkippingStatsColumns": ",".join(table.statistics)}


def _metadata(table_id: str, table: Table, schema: Mapping[str, Any], settings: Mapping[str, str]) -> Action:
    return {
        "metaData": {
            "id": table_id, "description": table.comment, "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema), "partitionColumns": [], "configuration": settings,
        }
    }  # fmt: skip


def _now_ms() -> int:
    return int(time.time() * 1000)
