"""Rows of saved state as audits stored it, and what the newest says of brokers; `known_state` puts it together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.topic_states import SavedTopic
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.state_folder import TABLE

Row = dict[str, Any]


def settings_in(context: JobContext) -> SavedSettings:
    """Version and settings of brokers, as the newest snapshot says that an audit was given; nothing without one."""
    rows = [row for row in saved_rows(context, "topic", "state") if not row["topic"]]
    return next((one.settings for one in readable(rows) if one.settings is not None), SavedSettings())


def readable(rows: Iterable[Row]) -> Iterator[SavedTopic]:
    """What rows say, of those that this version reads."""
    for row in rows:
        try:
            yield SavedTopic.from_json(row["state"])
        except ValueError:
            continue  # of a version that said other things


def saved_rows(context: JobContext, *columns: str, but: Collection[str] = ()) -> list[Row]:
    """Rows of the table, but those of some topics."""
    rows = context.small_rows(TABLE)
    if rows is not None:
        if but:
            rows = rows.filter(pc.invert(pc.is_in(rows["topic"], value_set=pa.array(but, pa.string()))))
        return list((rows.select(list(columns)) if columns else rows).to_pylist())
    frame = context.table(TABLE)
    all_rows = (frame.select(*columns) if columns else frame).toArrow().to_pylist()
    return [row for row in all_rows if row["topic"] not in but]
