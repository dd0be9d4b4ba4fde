"""The door to the consumer models: chunk rows of whole topic partitions in position order in, outcomes out.

A topic partition goes through one task as a stream. What a task keeps is what the modelled clients keep: open messages,
and holes that may come again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.models import parse_model
from pulsar_backlog.chunks.clients.open_in_log import OpenInLog
from pulsar_backlog.chunks.clients.outcomes import InLogFields
from pulsar_backlog.chunks.clients.settings import BUILDS, DEFAULT_EXPIRY_MS, ClientSettings
from pulsar_backlog.chunks.clients.topic_run import Outcome, TopicRun
from pulsar_backlog.frames.clients.rows import IN_LOG_COLUMNS, LOG_COLUMNS, packed, unpacked
from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.frames.times import time_of_ms
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.client_forecasts import OUTCOME_COUNTS
from pulsar_backlog.terms import Position
from pulsar_backlog.workers import quiet

_FORECAST = [c for c in TABLES["client_forecasts"].columns if c.name not in ("cluster", "topic")]
_OUTCOME = [c for c in TABLES["consumer_outcomes"].columns if c.name in Outcome._fields]
_DOOR_DDL = ", ".join([
    "topic string",
    *(f"{c.name} {c.type}" for c in sorted(_OUTCOME, key=lambda c: Outcome._fields.index(c.name))),
    f"forecast struct<{', '.join(f'{c.name}:{c.type}' for c in _FORECAST)}>",
])  # fmt: skip

ROWS_AT_A_TIME = 2_000
"""Rows that are objects at one time: few enough for the cache of a core, where 10,000 take a tenth longer."""


@dataclass(frozen=True)
class ModelContext:
    """What every task needs besides its rows.

    Attributes:
        models: written names.
        ledger_topics: topic of each ledger that a model's `start` or `reconnect_after` names.
    """

    models: tuple[str, ...]
    ledger_topics: Mapping[int, str]


def run_models(rows: DataFrame, context: ModelContext, partitions: int) -> DataFrame:
    """What every model makes of `rows` (as `MODEL_COLUMNS`): a row per outcome, and a row per topic and model.

    Read them with `outcomes_of` and `forecasts_of`.
    """
    shared = rows.sparkSession.sparkContext.broadcast(context)
    schema = spark_schema(_DOOR_DDL)
    arrow = to_arrow_schema(schema)

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = shared.value  # Spark turns the collector on when it reads a broadcast
        with _no_garbage_collection():
            for topic, stretches in groupby(_stretches(batches), key=lambda stretch: stretch[0]):
                yield from _run_topic(topic, (rows for _topic, rows in stretches), known, arrow)

    ordered = packed(rows).repartition(partitions, "topic")
    ordered = ordered.sortWithinPartitions("topic", "ledger_id", "entry_id")
    return ordered.mapInArrow(quiet(run_partition), schema)


def outcomes_of(run: DataFrame, cluster: str) -> DataFrame:
    """Rows of `consumer_outcomes`."""
    named = {"cluster": f.lit(cluster), "publish_time": time_of_ms("publish_time_ms")}
    columns = [named.get(c.name, f.col(c.name)).alias(c.name) for c in TABLES["consumer_outcomes"].columns]
    return run.filter(f.col("model").isNotNull()).select(*columns)


def forecasts_of(run: DataFrame, cluster: str) -> DataFrame:
    """Rows of `client_forecasts`."""
    rows = run.filter(f.col("forecast").isNotNull()).select(f.lit(cluster).alias("cluster"), "topic", "forecast.*")
    return rows.select(*TABLES["client_forecasts"].column_names())


def _stretches(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Each batch cut where the topic changes."""
    for batch in batches:
        runs = pc.run_end_encode(batch.column("topic"))
        start = 0
        for topic, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield topic, batch.slice(start, end - start)
            start = end


def _run_topic(
    topic: str, stretches: Iterable[pa.RecordBatch], context: ModelContext, arrow: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """All models over one topic, side by side."""
    runs: list[TopicRun] = []
    open_in_log = OpenInLog(DEFAULT_EXPIRY_MS)
    last: Position = (-1, -1)
    for stretch in stretches:
        if not runs:
            end_ms = stretch.column("end_ms")[0].as_py()
            runs = [TopicRun(name, _settings(name, topic, context), end_ms) for name in context.models]
        for start in range(0, stretch.num_rows, ROWS_AT_A_TIME):
            entries, in_logs = _entries(stretch.slice(start, ROWS_AT_A_TIME), last)
            last = entries[-1].position
            open_in_log.pass_all(entries)
            for run in runs:
                run.offer_all(entries, in_logs)
        for run in runs:
            yield from _outcome_batches(topic, run, arrow)
    for run in runs:
        run.finish()
        yield from _outcome_batches(topic, run, arrow)
        yield pa.RecordBatch.from_pylist([{"topic": topic, "forecast": _forecast(run, open_in_log.peak)}], schema=arrow)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Entries and accounts make no cycles; walking thousands of them again and again takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _entries(stretch: pa.RecordBatch, last: Position) -> tuple[list[LogEntry], list[InLogFields]]:
    """The rows as objects; `last` is the position before them."""
    found = unpacked(stretch.column("facts"))
    found |= {name: _values(stretch.column(name)) for name in (*LOG_COLUMNS, *IN_LOG_COLUMNS) if name not in found}
    ledger_ids, entry_ids, uuids, times, *others = (found[name] for name in LOG_COLUMNS)
    columns = [
        zip(ledger_ids, entry_ids, strict=True), _plain_before(stretch, last), uuids, zip(uuids, times, strict=True),
        *others, repeat(False, stretch.num_rows),
    ]  # fmt: skip
    # What `_make` does, without a call in Python for each row.
    entries = list(map(partial(tuple.__new__, LogEntry), zip(*columns, strict=True)))
    return entries, list(zip(*(found[name] for name in IN_LOG_COLUMNS), strict=True))


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; equal text is one object, which takes a third of the memory."""
    if not pa.types.is_string(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    texts = np.array(encoded.dictionary.to_pylist(), dtype=object)
    shared: list[Any] = texts[encoded.indices.to_numpy()].tolist()
    return shared


def _plain_before(stretch: pa.RecordBatch, last: Position) -> list[int]:
    """How many entries lie before each chunk and after the chunk before, or the beginning of its ledger."""
    ledger_ids, entry_ids = (stretch.column(name).to_numpy() for name in ("ledger_id", "entry_id"))
    same_ledger = np.diff(ledger_ids, prepend=last[0]) == 0
    before: list[int] = np.where(same_ledger, np.diff(entry_ids, prepend=last[1]) - 1, entry_ids).tolist()
    return before


def _settings(name: str, topic: str, context: ModelContext) -> ClientSettings:
    """The model's settings, with the positions that lie in this topic."""
    settings = parse_model(name)

    def here(position: Position | None) -> bool:
        return position is not None and context.ledger_topics.get(position[0]) == topic

    return replace(
        settings,
        start=settings.start if here(settings.start) else None,
        reconnect_after=tuple(filter(here, settings.reconnect_after)),
        restart_after=tuple(filter(here, settings.restart_after)),
    )


def _outcome_batches(topic: str, run: TopicRun, arrow: pa.Schema) -> Iterator[pa.RecordBatch]:
    outcomes = list(run.outcomes())
    if outcomes:
        columns = [[topic] * len(outcomes), *zip(*outcomes, strict=True), [None] * len(outcomes)]
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, arrow, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow)


def _forecast(run: TopicRun, peak_open_in_log: int) -> dict[str, Any]:
    """The row of `client_forecasts`."""
    forecast, settings = run.forecast(), run.settings
    damage, words = forecast.damage, {str(word): count for word, count in forecast.publications.items()}
    row = asdict(forecast) | {name: words.get(name, 0) for name in OUTCOME_COUNTS}
    ledger_id, entry_id = damage.position if damage else (None, None)
    return row | {
        "model": run.model,
        "profile": settings.profile,
        "builds": BUILDS[settings.profile],
        "publications": forecast.publications.total(),
        "receiver_queue": settings.receiver_queue,
        "pending_limit": settings.pending_limit,
        "peak_open_in_log": peak_open_in_log,
        "damage": damage and damage.kind,
        "damage_ledger_id": ledger_id,
        "damage_entry_id": entry_id,
        "damage_uuid": damage and damage.publication[0],
        "damage_reason": damage and damage.why,
    }
