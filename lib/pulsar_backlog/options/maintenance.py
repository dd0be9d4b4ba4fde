"""What maintenance of tables removes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pulsar_backlog.options.words import Frozen, Words


class MaintenanceOptions(Frozen):
    """What maintenance of tables removes."""

    keep_days: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None,
        Words("days that rows of what is gone stay: ledgers, healed problems, changes, runs", default=90),
    ] = None
    # Delta's checkpoints forget after a week that a file was part of the table.
    retention_hours: Annotated[
        Annotated[int, Field(ge=24, le=168)] | None,
        Words("hours that a file stays which a table no longer needs, for readers that began before", default=168),
    ] = None
    dry_run: Annotated[bool | None, Words("say what would be done, and change nothing")] = None
