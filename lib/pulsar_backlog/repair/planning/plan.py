"""From what is known of topics to a repair plan. Pure and deterministic: the same facts make the same plan.

Per topic, in this order: messages that are republished, cursors that are reset, acknowledgements that a
rollback lost, chunk entries that are acknowledged away; then the settings that would have prevented it. Original
entries of a message that is republished are acknowledged only after that is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pulsar_backlog.errors import UsageError
from pulsar_backlog.repair.planning.republishing import Draft, Name
from pulsar_backlog.repair.planning.topic import TopicPlan
from pulsar_backlog.repair.planning.values import Choices, HeldBack, PublicationKey, TopicFacts
from pulsar_backlog.repair.values import Plan
from pulsar_backlog.terms import position_text


@dataclass(frozen=True)
class Planned:
    """A plan and what it is not.

    Attributes:
        sources: topic and publication of the message that an action publishes, by number of the action.
        held_back: what is left alone, and why.
        left_off: actions for which there was no room (`max_count`, `max_bytes`).
    """

    plan: Plan
    sources: dict[int, tuple[str, PublicationKey]]
    held_back: tuple[HeldBack, ...]
    left_off: int


def plan_repair(cluster: str, topics: Iterable[TopicFacts], choices: Choices) -> Planned:
    """The plan for some topics.

    Raises:
        UsageError: what is to be given up is no unacknowledged entry of a chunk set.
    """
    drafts: list[Draft] = []
    held_back: list[HeldBack] = []
    unknown = set(choices.give_up)
    for facts in sorted(topics, key=lambda one: one.topic):
        unknown -= {entry.position for stall in facts.stalls for entry in stall.entries}
        of_topic = TopicPlan(facts, choices)
        drafts += of_topic.drafts()
        held_back += of_topic.held
    if unknown:
        named = " --give-up ".join(map(position_text, sorted(unknown)))
        raise UsageError(f"no chunk set of these subscriptions waits at --give-up {named}")
    taken = _within_caps(drafts, choices)
    numbers = {draft.name: number for number, draft in enumerate(taken)}
    actions = tuple(
        replace(draft.action, number=numbers[draft.name], requires=tuple(sorted(numbers[need] for need in draft.needs)))
        for draft in taken
    )
    sources = {numbers[draft.name]: draft.source for draft in taken if draft.source is not None}
    return Planned(Plan(cluster, actions), sources, tuple(held_back), len(drafts) - len(taken))


def _within_caps(drafts: Sequence[Draft], choices: Choices) -> list[Draft]:
    """The first drafts that fit; one whose needs did not fit does not either."""
    taken: list[Draft] = []
    names: set[Name] = set()
    count = size = 0
    for draft in drafts:
        is_advice = draft.action.kind == "settings"
        fits = choices.max_count is None or count < choices.max_count
        fits = fits and (choices.max_bytes is None or size + draft.action.size_bytes <= choices.max_bytes)
        if (fits or is_advice) and names.issuperset(draft.needs):
            taken.append(draft)
            names.add(draft.name)
            count += not is_advice
            size += draft.action.size_bytes
    return taken
