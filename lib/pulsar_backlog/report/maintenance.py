"""What maintenance did to tables, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from pulsar_backlog.counting import counted
from pulsar_backlog.report.words import byte_size


@dataclass(frozen=True)
class TableUpkeep:
    """What was done to a table, or would be.

    Attributes:
        table: its name.
        rows_removed: of what is gone.
        files_before: files that hold its rows.
        files_after: the same afterwards.
        bytes: of the files before.
        checkpoint: whether its log got a checkpoint.
        files_deleted: files that nobody reads any more.
        log_files_deleted: the same of its log.
        freed_bytes: bytes of both.
    """

    table: str
    rows_removed: int
    files_before: int
    files_after: int
    bytes: int
    checkpoint: bool
    files_deleted: int
    log_files_deleted: int
    freed_bytes: int


@dataclass(frozen=True)
class Maintenance:
    """What was done to all tables, or would be.

    Attributes:
        cluster: whose rows were removed; files are those of all clusters.
        dry_run: whether nothing was changed.
        keep_days: rows that were gone for so long were removed.
        retention_hours: files that nobody needed for so long were deleted.
        at_ms: when it began.
        tables: those to which something was done.
    """

    cluster: str
    dry_run: bool
    keep_days: int
    retention_hours: int
    at_ms: int
    tables: tuple[TableUpkeep, ...]

    @property
    def rows_removed(self) -> int:
        """Rows of what is gone, of all tables."""
        return sum(table.rows_removed for table in self.tables)

    @property
    def freed_bytes(self) -> int:
        """Bytes of all files that were deleted."""
        return sum(table.freed_bytes for table in self.tables)

    def record(self) -> dict[str, object]:
        """As `result.json` has it."""
        return {**asdict(self), "tables": [asdict(table) for table in self.tables]}


def headline(done: Maintenance) -> str:
    """All of it in one sentence."""
    if not done.tables:
        return "Nothing to do: the tables are as they should be."
    before, after = (sum(getattr(table, name) for table in done.tables) for name in ("files_before", "files_after"))
    deleted = sum(table.files_deleted + table.log_files_deleted for table in done.tables)
    parts = []
    if done.rows_removed:
        rows = counted(done.rows_removed, "row")
        parts.append(f"{rows} of what was gone {counted(done.keep_days, 'day')} ago removed")
    if after < before:
        parts.append(f"{counted(before, 'file')} joined into {after:,}")
    if deleted:
        parts.append(f"{counted(deleted, 'file')} that nobody reads deleted ({byte_size(done.freed_bytes)})")
    if checkpoints := sum(table.checkpoint for table in done.tables):
        parts.append(f"{counted(checkpoints, 'log')} summed up by a checkpoint")
    words = "; ".join(parts)
    return f"This would be done: {words}." if done.dry_run else f"{words[:1].upper()}{words[1:]}."


def table_lines(done: Maintenance) -> Iterator[str]:
    """A line for each table to which something was done."""
    for table in done.tables:
        parts = []
        if table.rows_removed:
            parts.append(f"-{counted(table.rows_removed, 'row')}")
        if table.files_after != table.files_before:
            parts.append(f"{counted(table.files_before, 'file')} -> {table.files_after:,}")
        if table.files_deleted or table.log_files_deleted:
            deleted = counted(table.files_deleted + table.log_files_deleted, "file")
            parts.append(f"{deleted} deleted ({byte_size(table.freed_bytes)})")
        if table.checkpoint:
            parts.append("checkpoint")
        yield f"{table.table}: {', '.join(parts)}"
