"""The door to the models of clients that are opened again: what of a subscription's backlog they would not deliver.

Asked only of subscriptions on which a message that is whole is stuck; of those, every chunk that is not acknowledged is
played, because a message may be lost by what is stored before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.chunks.clients.events import DamageKind, LogEntry
from pulsar_backlog.chunks.clients.reopened import Reopened, Stop
from pulsar_backlog.frames.clients.log_stream import Stretch, by_topic, no_garbage_collection
from pulsar_backlog.subscriptions.states import States, SubscriptionState
from pulsar_backlog.tables.arrow import ddl_schema
from pulsar_backlog.tasks.shared import SharedValue
from pulsar_backlog.terms import Position

ANSWERS_DDL = (
    "topic string, subscription string, after_reset boolean, model string, chunk_uuid string, publish_time_ms bigint, "
    "outcome string, reason string, ledger_id bigint, entry_id bigint"
)

Stops = Mapping[tuple[str, str], tuple[Stop, ...]]
"""What stops which model, by topic and subscription."""


@dataclass(frozen=True)
class Question:
    """A subscription whose consumers are opened again.

    Attributes:
        state: what it has acknowledged.
        reset_to: first chunk that its cursor is reset to before; None when it stays.
    """

    state: SubscriptionState
    reset_to: Position | None = None


Questions = Mapping[str, tuple[Question, ...]]
"""By topic."""


def questions_of(stuck: Iterable[Mapping[str, Any]], states: States) -> Questions:
    """What is to be asked about subscriptions on which a message that is whole is stuck.

    Args:
        stuck: rows of conf/subscriptions/stuck.sql.
        states: subscriptions by topic.
    """
    resets = {(row["topic"], row["subscription"]): (row["ledger_id"], row["entry_id"]) for row in stuck}
    questions: dict[str, tuple[Question, ...]] = {}
    for topic in sorted({topic for topic, _ in resets} & states.keys()):
        own: list[Question] = []
        for state in states[topic]:
            if (topic, state.view.name) not in resets:
                continue
            own.append(Question(state))
            reset_to = resets[topic, state.view.name]
            if reset_to[0] is not None:
                own.append(Question(state, reset_to))
        if own:
            questions[topic] = tuple(own)
    return questions


@dataclass(frozen=True)
class AnswerTask:
    """What a task does with packed rows of topics that models are asked about."""

    shared: SharedValue[tuple[Questions, Sequence[str]]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """See `ask_models`."""
        yield from ask_models(batches, *self.shared.value)


def ask_models(
    batches: Iterable[pa.RecordBatch], questions: Questions, models: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The answers: a row for each message that a model does not deliver, and for each model that something stops.

    Args:
        batches: rows as `frames.clients.log_stream.by_topic` takes them, of topics that are asked about.
        questions: by topic.
        models: as by `models_to_ask`.
    """
    arrow = ddl_schema(ANSWERS_DDL)
    with no_garbage_collection():
        for topic, stretches in by_topic(batches):
            for answers in _answers(questions[topic], models, stretches):
                yield pa.RecordBatch.from_pylist([{"topic": topic, **row} for row in answers], schema=arrow)


def stops_of(rows: Iterable[Mapping[str, Any]]) -> Stops:
    """What stops which model, of rows of conf/subscriptions/stops.sql."""
    stops: dict[tuple[str, str], set[Stop]] = {}
    for row in rows:
        kind: DamageKind = row["reason"]
        stop = Stop(row["model"], kind, (row["ledger_id"], row["entry_id"]))
        stops.setdefault((row["topic"], row["subscription"]), set()).add(stop)
    return {key: tuple(sorted(positions)) for key, positions in stops.items()}


def _answers(
    questions: Iterable[Question], models: Sequence[str], stretches: Iterable[Stretch]
) -> Iterator[list[dict[str, Any]]]:
    """The answers of one topic, a few at a time."""
    opened: list[tuple[Question, Reopened]] = []
    for stretch in stretches:
        if not opened:
            opened = [(one, Reopened(models, one.state.view.type, stretch.end_ms)) for one in questions]
        for entries, in_logs in stretch.objects():
            for question, consumers in opened:
                comes = _comes(question, entries)
                consumers.offer_all(list(compress(entries, comes)), list(compress(in_logs, comes)))
                yield _losses(question, consumers)
    for question, consumers in opened:
        consumers.finish()
        yield _losses(question, consumers)
        yield [_stop(question, stop) for stop in consumers.stops()]


def _comes(question: Question, entries: Sequence[LogEntry]) -> npt.NDArray[np.bool_]:
    """For each entry whether it is delivered to a consumer that is opened."""
    parts = []
    for ledger_id, of in groupby((entry.position for entry in entries), key=lambda position: position[0]):
        entry_ids = np.array([entry_id for _, entry_id in of])
        comes = ~question.state.opened(ledger_id).is_acked(entry_ids)
        if question.reset_to is not None and ledger_id >= question.reset_to[0]:
            comes |= (entry_ids >= question.reset_to[1]) | (ledger_id > question.reset_to[0])
        parts.append(comes)
    return np.concatenate(parts)


def _losses(question: Question, consumers: Reopened) -> list[dict[str, Any]]:
    return [
        {
            "subscription": question.state.view.name,
            "after_reset": question.reset_to is not None,
            "model": loss.model,
            "chunk_uuid": loss.chunk_uuid,
            "publish_time_ms": loss.publish_time_ms,
            "outcome": loss.outcome,
            "reason": loss.reason,
        }
        for loss in consumers.losses()
    ]


def _stop(question: Question, stop: Stop) -> dict[str, Any]:
    return {
        "subscription": question.state.view.name,
        "after_reset": question.reset_to is not None,
        "model": stop.model,
        "reason": stop.damage,
        "ledger_id": stop.position[0],
        "entry_id": stop.position[1],
    }
