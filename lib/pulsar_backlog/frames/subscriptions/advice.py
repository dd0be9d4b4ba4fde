"""Stalls whose advice takes what clients would make of it: judged, asked about where it matters, and judged again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pulsar_backlog.frames.subscriptions.reopened import ask_models, losses_of, questions_of, stops_of
from pulsar_backlog.frames.subscriptions.stall_join import Answers
from pulsar_backlog.subscriptions.states import States


class Join(Protocol):
    """`join_stalls` with everything but the subscriptions and what was asked about them."""

    def __call__(self, states: States, *, answers: Answers | None = None) -> DataFrame:
        """Rows of `stalls`."""


def advised_stalls(
    join: Join, readers: States, rows: DataFrame, models: Sequence[str], partitions: int,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:  # fmt: skip
    """Rows of `stalls`.

    Models are asked about subscriptions on which a message that is whole is stuck, and about no others.

    Args:
        join: what judges.
        readers: subscriptions by topic.
        rows: chunk rows as `MODEL_COLUMNS`.
        models: as by `models_to_ask`.
        partitions: tasks.
        keep: caches a frame until the job ends.
    """
    stalls = keep(join(readers))
    questions = questions_of(stalls, readers)
    if not questions:
        return stalls
    answers = keep(ask_models(rows, questions, models, partitions))
    states = {topic: tuple(one.state for one in of if one.reset_to is None) for topic, of in questions.items()}
    again = join(states, answers=Answers(losses_of(answers), stops_of(answers)))
    places = [(topic, state.view.name) for topic, of in states.items() for state in of]
    judged_again = stalls.sparkSession.createDataFrame(places, "topic string, subscription string")
    others = stalls.join(judged_again, on=["topic", "subscription"], how="left_anti")
    return others.select(*again.columns).unionByName(again)
