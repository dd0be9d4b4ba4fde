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

_STEP_BYTES, _LEAST_BYTES = 4096, 16 * 1024
_ROUNDED = f"CAST(ceil(slice_bytes / {_STEP_BYTES}) * {_STEP_BYTES} AS bigint)"
LIMIT = (
    f"CASE WHEN {_ROUNDED} BETWEEN {_LEAST_BYTES} AND slice_entry_bytes "
    f"AND largest_entry_bytes <= {_ROUNDED} + {FRAME_PADDING_BYTES} THEN {_ROUNDED} END"
)
"""SQL: the `maxMessageSize` that the largest slice was cut for, in bytes; null when the slices do not show one.

Java since 2.10, C++ and Go cut so that payload and metadata fill the limit, before they add the chunk fields; older
Java lets the payload alone fill it. So a round number between the payload and the whole entry is the limit, unless
other entries are far larger. A limit of the application's own (`chunkMaxMessageSize`) shows none."""

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


def topic_stats(engine: QueryEngine, cluster: str) -> Rows:
    """Rows of `topic_stats`; `engine` knows `producers` and `chunked_messages`."""
    engine.create_view("open_messages", open_messages(engine))
    values: dict[str, int | str] = {
        "small": SMALL_MESSAGE_BYTES,
        "incomplete": listed(INCOMPLETE),
        "limit": LIMIT,
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
