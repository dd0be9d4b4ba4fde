"""Producers and publications -> rows of `topic_stats`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from pulsar_backlog.chunks.settings import FRAME_PADDING_BYTES, SMALL_MESSAGE_BYTES, TopicLoad, recommend
from pulsar_backlog.runs.context import Rows
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.finding_rows import listed
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.contract import required
from pulsar_backlog.tables.topic_stats import MAX_BUCKETS, MAX_PRODUCERS
from pulsar_backlog.terms import INCOMPLETE
from pulsar_backlog.workers import quiet

_LIMITS = {"step_bytes": 4096, "least_bytes": 16 * 1024, "padding_bytes": FRAME_PADDING_BYTES}
"""Limits that people set are multiples of 4 KiB, and no smaller than 16."""

_TABLE = TABLES["topic_stats"]
_MEASURED = replace(
    _TABLE,
    columns=(
        *(column for column in _TABLE.columns if column.name != "recommended"),
        required("small_singles", "bigint", "What only the settings need."),
    ),
)
_LOAD = tuple(field.name for field in fields(TopicLoad))


def open_messages(engine: QueryEngine) -> str:
    """SQL: a row per topic, as `conf/chunks/open_messages.sql`; `engine` knows `chunked_messages`."""
    return engine.sql("chunks", "open_messages", {"buckets": MAX_BUCKETS})


def name_limits(engine: QueryEngine, max_message_bytes: int | None) -> None:
    """Make `producer_limits` of `producers`: `maxMessageSize` saved, else as each producer's slices show it."""
    values = _LIMITS | {"saved_bytes": max_message_bytes or 0}
    engine.create_view("producer_limits", engine.sql("chunks", "producer_limits", values))


def topic_stats(engine: QueryEngine, cluster: str, max_message_bytes: int | None = None) -> Rows:
    """Rows of `topic_stats`.

    Args:
        engine: knows `producers` and `chunked_messages`.
        cluster: of the rows.
        max_message_bytes: `maxMessageSize` of the brokers, where it was saved.
    """
    name_limits(engine, max_message_bytes)
    engine.create_view("open_messages", open_messages(engine))
    values: dict[str, int | str] = {
        "small": SMALL_MESSAGE_BYTES,
        "incomplete": listed(INCOMPLETE),
        "max_producers": MAX_PRODUCERS,
    }
    return _with_settings(engine.table(engine.sql("chunks", "topic_load", values), _MEASURED, {"cluster": cluster}))


def _with_settings(measured: Rows) -> Rows:
    """The rows with the settings that the pure rules recommend."""
    arrow = arrow_schema(_TABLE)

    def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            recommended = pa.array(map(_recommended, batch.to_pylist()), arrow.field("recommended").type)
            result = batch.append_column("recommended", recommended)
            yield result.select(arrow.names).cast(arrow)

    if isinstance(measured, DataFrame):
        return measured.mapInArrow(quiet(judge), _TABLE.ddl())
    return pa.Table.from_batches(judge(measured.to_batches()), schema=arrow)


def _recommended(row: dict[str, Any]) -> list[dict[str, str]]:
    unknown_is_none = ("slice_bytes", "limit_bytes")
    load = {name: row[name] if name in unknown_is_none else row[name] or 0 for name in _LOAD}
    return [asdict(setting) for setting in recommend(TopicLoad(**load))]
