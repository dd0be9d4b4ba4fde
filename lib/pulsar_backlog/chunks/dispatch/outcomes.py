"""What can come of a setting, and what is certain in all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pulsar_backlog.chunks.dispatch.settings import Setting

MIN_SEEDS = 84
RARE_SEEDS = 700
"""How many where rare timings decide."""
RACING_SEEDS = 4000
"""How many of those where a rare timing did decide."""
MAX_SEEDS = 8000
QUIET_SEEDS = 600
"""How many seeds without a new outcome end the search, once there is more than one."""


@dataclass(frozen=True, order=True)
class Outcome:
    """The end of a play.

    Attributes:
        delivered: how often each message was delivered to anyone, by label; those that were not are left out.
        mark_delete: as in `Topic`.
        deleted: acknowledged ranges beyond that: before the first, and the last.
        backlog: entries that are not acknowledged.
        other_topics: dead letters and retries: label, chunk, chunks.
    """

    delivered: tuple[tuple[str, int], ...]
    mark_delete: int
    deleted: tuple[tuple[int, int], ...]
    backlog: int
    other_topics: tuple[tuple[str, tuple[tuple[str, int | None, int | None], ...]], ...] = ()


@dataclass(frozen=True)
class Certain:
    """What holds in every outcome of a set.

    Attributes:
        deliveries: least and most by label.
        backlog: least and most.
        mark_delete: least and most.
    """

    deliveries: tuple[tuple[str, int, int], ...]
    backlog: tuple[int, int]
    mark_delete: tuple[int, int]

    def holds_in(self, outcome: Outcome) -> bool:
        """Whether an outcome is within it."""
        counts = dict(outcome.delivered)
        return (
            all(least <= counts.pop(label, 0) <= most for label, least, most in self.deliveries)
            and not counts
            and self.backlog[0] <= outcome.backlog <= self.backlog[1]
            and self.mark_delete[0] <= outcome.mark_delete <= self.mark_delete[1]
        )


@dataclass(frozen=True)
class Prediction:
    """A set of outcomes, with how many seeds gave each."""

    outcomes: dict[Outcome, int]

    @property
    def sharp(self) -> bool:
        """Whether there is only one."""
        return len(self.outcomes) == 1

    @property
    def certain(self) -> Certain:
        """What holds in all of them."""
        labels = sorted({label for outcome in self.outcomes for label, _count in outcome.delivered})
        counts = [dict(outcome.delivered) for outcome in self.outcomes]
        backlogs = [outcome.backlog for outcome in self.outcomes]
        marks = [outcome.mark_delete for outcome in self.outcomes]
        spans = tuple(
            (label, min(count.get(label, 0) for count in counts), max(count.get(label, 0) for count in counts))
            for label in labels
        )
        return Certain(spans, (min(backlogs), max(backlogs)), (min(marks), max(marks)))


def predict(setting: Setting, play: Callable[[Setting, int], Outcome]) -> Prediction:
    """Outcomes of many seeds: few where all agree, more where they do not, until nothing new comes."""
    outcomes: dict[Outcome, int] = {}
    newest = 0
    least, least_racing = (RARE_SEEDS, RACING_SEEDS) if setting.races_rarely else (MIN_SEEDS, QUIET_SEEDS)
    for seed in range(MAX_SEEDS):
        outcome = play(setting, seed)
        if outcome not in outcomes:
            newest = seed
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        races = len(outcomes) > 1
        if seed + 1 >= (least_racing if races else least) and not (races and seed - newest <= QUIET_SEEDS):
            break
    return Prediction(outcomes)
