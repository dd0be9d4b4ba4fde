"""Forecasts of the worst stalled subscriptions for a report: their entries and consumers, played in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from pulsar_backlog.chunks.dispatch.brokers import broker_for
from pulsar_backlog.chunks.dispatch.forecast import StoredEntry
from pulsar_backlog.cluster.topic_states import SavedTopic
from pulsar_backlog.report.outlook import Outlook, consumer_words, outlook_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import MAX_BYTES, QueryEngine, query_engine
from pulsar_backlog.steps.saved_rows import settings_in
from pulsar_backlog.tableio.table_logs import fit_this_process

MAX_OUTLOOKS = 5
MAX_ENTRIES = 150
"""Unacknowledged entries of all of them together: two or three seconds at most."""
_TABLES = ("entries", "ack_ranges", "saved_states")
_NAMES = pa.schema([("topic", pa.string()), ("subscription", pa.string())])

Row = dict[str, Any]
Key = tuple[str, str]


def outlooks(context: JobContext, engine: QueryEngine) -> dict[Key, Outlook]:
    """Forecasts by topic and subscription; none where the tables are too large to be read in this process.

    Args:
        context: of the job.
        engine: knows `standing`, `dangers` and `needs`.
    """
    query = engine.sql("report", "stalled", {"entries": MAX_ENTRIES, "subscriptions": 4 * MAX_OUTLOOKS})
    chosen = list(within_bounds(engine.rows({"stalled": query})["stalled"]))
    if not chosen or not all(map(context.has, _TABLES)) or not _is_small(context):
        return {}
    topics = ", ".join(portable_literal(topic) for topic in sorted({row["topic"] for row in chosen}))
    with query_engine(context, _TABLES) as here:
        here.register("forecast_of", pa.Table.from_pylist(chosen, schema=_NAMES))
        rows = here.rows(
            {
                "entries": here.sql("report", "unacknowledged", {"topics": topics}),
                "states": f"SELECT topic, state FROM saved_states WHERE topic IN ({topics})",  # noqa: S608 - quoted
            }
        )
    clients = dict(_clients(rows["states"]))
    unplayed = {(row["topic"], row["subscription"]) for row in rows["entries"] if not row["is_played"]}
    entries: dict[Key, list[StoredEntry]] = {}
    for row in rows["entries"]:
        entries.setdefault((row["topic"], row["subscription"]), []).append(StoredEntry.of(row))
    broker = broker_for(settings_in(context))
    answers: dict[Key, Outlook] = {}
    for row in chosen:
        key = row["topic"], row["subscription"]
        if 0 < len(entries.get(key, ())) <= MAX_ENTRIES and key not in unplayed:
            words = consumer_words(clients.get(key, ()), row["consumers"])
            with suppress(ValueError):  # what one of its clients does cannot be told
                answers[key] = outlook_of(entries[key], words, broker, row["subscription_type"])
    return answers


def _is_small(context: JobContext) -> bool:
    """Whether the tables are read in this process, without a session."""
    if fit_this_process(context.out, _TABLES, MAX_BYTES):
        return True
    return all(context.small_rows(name) is not None for name in _TABLES)


def within_bounds(rows: Sequence[Row]) -> Iterator[Row]:
    """The first ones, as far as their entries go."""
    room, count = MAX_ENTRIES, 0
    for row in rows:
        if count < MAX_OUTLOOKS and row["backlog_entries"] <= room:
            room, count = room - row["backlog_entries"], count + 1
            yield row


def _clients(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[Key, Sequence[str | None]]]:
    """What the consumers of each subscription said of themselves when its statistics were saved."""
    for row in rows:
        try:
            state = SavedTopic.from_json(row["state"]).state
        except ValueError:
            continue  # of a version that said other things
        for name, saved in (state.subscriptions or {}).items() if state else ():
            if saved.dispatch is not None:
                yield (row["topic"], name), [one.client for one in saved.dispatch.consumers]
