"""Where tables lie below an output folder."""

from __future__ import annotations

from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.tables import Table

LOG_FOLDER = "_delta_log"
"""Delta's, in a table's folder."""
HINT = "_last_checkpoint"
"""File of a log that names its newest checkpoint."""
CONTRACT_VERSION = "pulsar-backlog.contractVersion"
"""Setting of a table whose older files lack columns that its contract has."""


def lost_file(what: str, details: str) -> UsageError:
    """A file of a table is damaged or gone, and no later job may judge by what is left of the tables.

    It is no fault of the source, which a pipeline survives.
    """
    words = f"{visible(what)}, a file of a table, is damaged or gone"
    return UsageError(f"{words}: put it back as it was, or audit again with a new --out ({visible(details)})")


def table_path(out: str, table: Table) -> str:
    """Where a table lies: a folder, or an address the cluster's Hadoop knows."""
    return f"{out.rstrip('/')}/tables/{table.name}"


def local_out(out: str) -> Path | None:
    """`out` as a local folder, or None when it is an address for the cluster."""
    return None if "://" in out and not out.startswith("file://") else Path(out.removeprefix("file://"))
