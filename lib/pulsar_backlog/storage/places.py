"""Where tables lie below an output folder."""

from __future__ import annotations

from pathlib import Path

from pulsar_backlog.tables import Table

LOG_FOLDER = "_delta_log"
"""Delta's, in a table's folder."""


def table_path(out: str, table: Table) -> str:
    """Where a table lies: a folder, or an address the cluster's Hadoop knows."""
    return f"{out.rstrip('/')}/tables/{table.name}"


def local_out(out: str) -> Path | None:
    """`out` as a local folder, or None when it is an address for the cluster."""
    return None if "://" in out and not out.startswith("file://") else Path(out.removeprefix("file://"))
