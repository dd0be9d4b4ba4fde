"""What clients make of what a subscription has not acknowledged, when its consumers are opened again.

A forecast from the beginning of the log is another question: there messages are acknowledged on the way, and what a
full client gave up stays given up. Opened again, a client has forgotten that and gets exactly what is not acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pulsar_backlog.chunks.clients.events import DamageKind, LogEntry
from pulsar_backlog.chunks.clients.models import DEFAULT_MODELS, parse_model
from pulsar_backlog.chunks.clients.outcomes import InLogFields, OutcomeWord
from pulsar_backlog.chunks.clients.settings import ClientSettings, SubscriptionType
from pulsar_backlog.chunks.clients.topic_run import Outcome, TopicRun
from pulsar_backlog.terms import Position

LOSSES: frozenset[OutcomeWord] = frozenset({"silent_loss", "lost", "wrong_content", "mixed", "breaks_client"})
"""Outcomes of a message that is whole in the log, after which the application does not have it as it was sent."""

DEATHS: frozenset[DamageKind] = frozenset({"process_death", "panic"})
"""Damages that end the client's process."""

_TYPES: dict[str | None, tuple[SubscriptionType, ...]] = {"Shared": ("Shared",), None: ("Exclusive", "Shared")}
"""Types that may be meant; Failover and Key_Shared are played as Exclusive, which is the best that can happen there."""


def models_to_ask(given: Iterable[str]) -> tuple[str, ...]:
    """The given models of consumers and, of each family that none of them is of, the current release."""
    own = tuple(name for name in dict.fromkeys(given) if parse_model(name).family != "sql")
    families = {parse_model(name).family for name in own}
    return own + tuple(name for name in DEFAULT_MODELS if parse_model(name).family not in families)


class Stop(NamedTuple):
    """A model that something stops or breaks, and where."""

    model: str
    damage: DamageKind
    position: Position

    def is_before(self, position: Position) -> bool:
        """Whether a message that ends there may not come to the client.

        One that dies takes with it what it had received and not yet delivered, so it may be any message.
        """
        return self.damage in DEATHS or self.position <= position


class Reopened:
    """Consumers of a subscription that are opened again, one of each model."""

    def __init__(self, models: Iterable[str], subscription_type: str | None, end_ms: int) -> None:
        """Connect them.

        Args:
            models: as by `models_to_ask`.
            subscription_type: as saved; None when nothing says.
            end_ms: when the topic's last chunk was stored.
        """
        types = _TYPES.get(subscription_type, ("Exclusive",))
        self._runs = [TopicRun(name, _settings(name, type_), end_ms) for type_ in types for name in models]

    def offer_all(self, entries: Sequence[LogEntry], in_logs: Sequence[InLogFields]) -> None:
        """The next chunk entries that are not acknowledged, in position order, with what the log holds of each."""
        for run in self._runs:
            run.offer_all(entries, in_logs)

    def finish(self) -> None:
        """There are no more."""
        for run in self._runs:
            run.finish()

    def losses(self) -> Iterator[Outcome]:
        """What is known since the last call of messages that a model does not deliver as they were sent."""
        for run in self._runs:
            yield from (outcome for outcome in run.outcomes() if outcome.outcome in LOSSES)

    def stops(self) -> Iterator[Stop]:
        """After `finish`: the models that something stops or breaks."""
        for run in self._runs:
            damage = run.forecast().damage
            if damage is not None:
                yield Stop(run.model, damage.kind, damage.position)


def _settings(name: str, type_: SubscriptionType) -> ClientSettings:
    """The model's settings, without what only a run from the beginning has."""
    settings = parse_model(name)
    return replace(settings, subscription=type_, live=False, start=None, reconnect_after=(), restart_after=())
