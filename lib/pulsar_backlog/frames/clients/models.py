"""The consumer models over batches: chunk rows of whole topic partitions in position order in, outcomes out.

A topic partition goes through one task as a stream. What a task keeps is what the modelled clients keep: open messages,
and holes that may come again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.models import parse_model
from pulsar_backlog.chunks.clients.open_in_log import OpenInLog
from pulsar_backlog.chunks.clients.outcomes import InLogFields
from pulsar_backlog.chunks.clients.settings import BUILDS, DEFAULT_EXPIRY_MS, DEFAULT_READ_BATCH, ClientSettings
from pulsar_backlog.chunks.clients.topic_run import Outcome, TopicRun
from pulsar_backlog.frames.clients.log_stream import Stretch, by_topic, no_garbage_collection
from pulsar_backlog.frames.clients.rows import unpacked
from pulsar_backlog.frames.clients.whole_runs import WholeRun, whole_runs
from pulsar_backlog.frames.times import times_of_ms
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.client_forecasts import OUTCOME_COUNTS
from pulsar_backlog.tasks.shared import SharedValue
from pulsar_backlog.terms import Position

_OUTCOMES, _FORECASTS = (arrow_schema(TABLES[name]) for name in ("consumer_outcomes", "client_forecasts"))
_OF_HEADS = {
    "chunk_uuid": "uuid", "publish_time_ms": "publish_time_ms",
    "first_ledger_id": "ledger_id", "first_entry_id": "entry_id",
}  # fmt: skip
"""Columns of `consumer_outcomes` that the first row of a message has, with their names there."""

FEW = 32
"""Messages up to which their outcomes are made one by one: a batch of a few rows costs as much as one of a thousand."""
GATHERED = 4096
"""Rows of few messages, or of forecasts, that become one batch."""


@dataclass(frozen=True)
class ModelContext:
    """What every task needs besides its rows.

    Attributes:
        cluster: name of the cluster.
        models: written names.
        ledger_topics: topic of each ledger that a model's `start` or `reconnect_after` names.
        read_batch: entries that one read of the brokers takes at most; None where nobody knows.
    """

    cluster: str
    models: tuple[str, ...]
    ledger_topics: Mapping[int, str]
    read_batch: int | None = DEFAULT_READ_BATCH


@dataclass(frozen=True)
class ModelTask:
    """What a task does with its packed rows."""

    context: SharedValue[ModelContext]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """See `run_models`."""
        context = self.context.value  # Spark turns the collector on when it reads a broadcast
        yield from run_models(batches, context)


def run_models(batches: Iterable[pa.RecordBatch], context: ModelContext) -> Iterator[tuple[str, pa.RecordBatch]]:
    """What every model makes of packed rows (`frames.clients.rows`), whole topics in position order.

    Rows of `consumer_outcomes` and `client_forecasts`, each batch with the name of its table.
    """
    with no_garbage_collection():
        gathered = _Gathered(context.cluster)
        for topic, stretches in by_topic(batches):
            yield from _run_topic(topic, stretches, context, gathered)
            yield from gathered.batches(GATHERED)
        yield from gathered.batches(1)


class _Gathered:
    """Rows of topics with few messages, on their way into batches."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._outcomes: list[tuple[str, Outcome]] = []
        self._forecasts: list[dict[str, Any]] = []

    def add(self, topic: str, outcomes: Iterable[Outcome]) -> None:
        """Take outcomes."""
        self._outcomes.extend((topic, outcome) for outcome in outcomes)

    def add_forecast(self, forecast: dict[str, Any]) -> None:
        """Take a row of `client_forecasts`."""
        self._forecasts.append(forecast)

    def batches(self, at_least: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """What was gathered, where it has so many rows."""
        if len(self._outcomes) >= at_least:
            topics, outcomes = zip(*self._outcomes, strict=True)
            columns: dict[str, Any] = dict(zip(Outcome._fields, zip(*outcomes, strict=True), strict=True))
            columns |= {"cluster": self._cluster, "topic": topics}
            columns["publish_time"] = times_of_ms(pa.array(columns["publish_time_ms"], pa.int64()))
            yield "consumer_outcomes", _rows(columns, len(outcomes))
            self._outcomes = []
        if len(self._forecasts) >= at_least:
            yield "client_forecasts", pa.RecordBatch.from_pylist(self._forecasts, schema=_FORECASTS)
            self._forecasts = []


def _run_topic(
    topic: str, stretches: Iterable[Stretch], context: ModelContext, gathered: _Gathered
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """All models over one topic, side by side."""
    of_topic = {"cluster": context.cluster, "topic": topic}
    runs: list[TopicRun] = []
    open_in_log = OpenInLog(DEFAULT_EXPIRY_MS)
    for stretch in stretches:
        if not runs:
            runs = [TopicRun(name, _settings(name, topic, context), stretch.end_ms) for name in context.models]
        for part in whole_runs(stretch):
            if isinstance(part, WholeRun):
                yield from _run_whole(part, runs, open_in_log, of_topic, gathered)
                continue
            for entries, in_logs in part.objects():
                open_in_log.pass_all(entries)
                _offer(entries, in_logs, runs, topic, gathered)
                yield from gathered.batches(GATHERED)
    for run in runs:
        run.finish()
        gathered.add(topic, run.outcomes())
        gathered.add_forecast(of_topic | _forecast(run, open_in_log.peak))


def _run_whole(
    part: WholeRun, runs: Sequence[TopicRun], open_in_log: OpenInLog, of_topic: dict[str, Any], gathered: _Gathered
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Whole messages: counted by the models that can, played by the others."""
    messages = part.messages()
    open_in_log.pass_whole(messages)
    others = []
    for run in runs:
        if not run.pass_whole(messages):
            others.append(run)
        elif len(messages.uuids) <= FEW:
            gathered.add(of_topic["topic"], _few_delivered(part, run))
        else:
            yield "consumer_outcomes", _delivered(part, run, of_topic)
    if others:
        for entries, in_logs in part.stretch.objects():
            _offer(entries, in_logs, others, of_topic["topic"], gathered)
            yield from gathered.batches(GATHERED)


def _offer(
    entries: list[LogEntry], in_logs: list[InLogFields], runs: Iterable[TopicRun], topic: str, gathered: _Gathered
) -> None:
    for run in runs:
        run.offer_all(entries, in_logs)
        gathered.add(topic, run.outcomes())


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
        read_batch=context.read_batch,
    )


def _few_delivered(part: WholeRun, run: TopicRun) -> Iterator[Outcome]:
    """Outcomes of whole messages that a model passed."""
    heads = part.heads
    places = zip(*(heads.column(source).to_pylist() for source in _OF_HEADS.values()), strict=True)
    for sureness, place in zip(unpacked(heads.column("facts"))["sureness"], places, strict=True):
        yield run.outcome_of_whole(sureness)._replace(**dict(zip(_OF_HEADS, place, strict=True)))


def _delivered(part: WholeRun, run: TopicRun, of_topic: dict[str, Any]) -> pa.RecordBatch:
    """Rows of `consumer_outcomes` of the same, of many."""
    heads = part.heads
    sureness = unpacked(heads.column("facts"))["sureness"]
    outcomes = {word: run.outcome_of_whole(word) for word in set(sureness)}
    columns: dict[str, Any] = outcomes[sureness[0]]._asdict() | of_topic
    columns |= {name: heads.column(source) for name, source in _OF_HEADS.items()}
    columns["publish_time"] = times_of_ms(columns["publish_time_ms"])
    columns["sureness"] = [outcomes[word].sureness for word in sureness]
    return _rows(columns, heads.num_rows)


def _rows(columns: Mapping[str, Any], count: int) -> pa.RecordBatch:
    """Rows of `consumer_outcomes`; a column that is one value has it in all of them."""

    def array(field: pa.Field) -> pa.Array:
        values = columns[field.name]
        if values is None or isinstance(values, (str, int)):
            return pa.repeat(pa.scalar(values, field.type), count)
        return values.cast(field.type) if isinstance(values, pa.Array) else pa.array(values, type=field.type)

    return pa.RecordBatch.from_arrays([array(field) for field in _OUTCOMES], schema=_OUTCOMES)


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
