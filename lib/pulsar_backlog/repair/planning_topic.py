"""The drafts of one topic: which actions, in which order, and what is held back instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pulsar_backlog.repair import planning_words as words
from pulsar_backlog.repair.planning_safety import acknowledgeable, is_kept, why_not_entry, why_not_family
from pulsar_backlog.repair.planning_values import (
    Choices,
    HeldBack,
    Publication,
    PublicationKey,
    Restored,
    StallRow,
    Subscription,
    TopicFacts,
)
from pulsar_backlog.repair.runs import runs_of
from pulsar_backlog.repair.sending import message_of, why_not_sendable
from pulsar_backlog.repair.values import Action

SETS_PER_ACTION = 100
"""Chunk sets of one subscription that one action acknowledges; more make another."""

_LOSS_CODES = {"mixed": "C40", "breaks_client": "C41"}
_SURPLUS = frozenset({"duplicate", "residue", "orphan", "conflicting"})

Name = tuple[object, ...]


@dataclass(frozen=True)
class Draft:
    """An action that has no number yet.

    Attributes:
        name: what other drafts call it.
        needs: names of the drafts that must be done before it.
        source: publication whose payload it publishes.
    """

    name: Name
    action: Action
    needs: tuple[Name, ...] = ()
    source: tuple[str, PublicationKey] | None = None


class TopicPlan:
    """The drafts of one topic, and what is held back."""

    def __init__(self, facts: TopicFacts, choices: Choices) -> None:
        self.held: list[HeldBack] = []
        self._facts = facts
        self._choices = choices
        self._publications = {one.key: one for one in facts.publications}
        self._subscriptions = {one.name: one for one in facts.subscriptions}
        self._republished: dict[PublicationKey, Draft] = {}

    def drafts(self) -> list[Draft]:
        """All of the topic, in the order in which they are applied."""
        stalls = sorted(filter(self._is_chosen, self._facts.stalls), key=lambda s: (s.subscription, _first(s), s.key))
        resets = list(self._resets(stalls))
        reset = {draft.action.subscription for draft in resets}
        acknowledged = [
            *self._restores(reset),
            *self._acknowledgements([s for s in stalls if s.subscription not in reset]),
        ]
        self._losses()
        published = sorted(self._republished.values(), key=lambda draft: draft.name[1:])
        drafts = [*published, *resets, *acknowledged]
        if drafts or self.held:
            drafts += self._settings()
        return drafts

    def _is_chosen(self, stall: StallRow) -> bool:
        choices = self._choices
        return (
            self._is_wanted(stall.subscription)
            and (not choices.codes or stall.code in choices.codes)
            and self._is_old_enough(stall.publish_time_ms)
        )

    def _is_wanted(self, subscription: str) -> bool:
        globs = self._choices.subscriptions
        return not globs or any(fnmatchcase(subscription, glob) for glob in globs)

    def _is_old_enough(self, publish_time_ms: int) -> bool:
        return self._choices.until_ms is None or publish_time_ms <= self._choices.until_ms

    def _resets(self, stalls: Sequence[StallRow]) -> Iterator[Draft]:
        """One per subscription, to the earliest message that a client could put together when started right."""
        wanted = [one for one in stalls if one.action == "reset_to_first_chunk" and one.first_chunk is not None]
        for name in dict.fromkeys(one.subscription for one in wanted):
            stall = min((one for one in wanted if one.subscription == name), key=_first)
            subscription = self._subscription(name)
            action = Action(
                number=0,
                kind="reset_cursor",
                topic=self._facts.topic,
                reason=words.reset_reason(stall),
                subscription=name,
                target=stall.first_chunk,
                expected_mark_delete=subscription.mark_delete,
                expected_type=subscription.type,
                cause="reset",
                sureness="certain",
                size_bytes=stall.unacked_bytes,
                codes=_codes([stall.code]),
                evidence=(words.stall_evidence(stall, self._publications.get(stall.key)),),
                affects=words.reset_affects(stall),
                undo=words.reset_undo(subscription.mark_delete),
            )
            yield Draft(("reset", name), action)
            others = sum(one.subscription == name for one in stalls) - 1
            if others:
                self._hold(stall, words.after_reset(others), words.PLAN_AGAIN)

    def _restores(self, reset: set[str | None]) -> Iterator[Draft]:
        for one in sorted(self._facts.restored, key=lambda restored: restored.subscription):
            if not self._is_wanted(one.subscription) or one.subscription in reset:
                continue
            if one.batches:
                self.held.append(HeldBack(self._facts.topic, one.subscription, "", 0, words.part_of_batch(one.batches)))
            if not one.runs:
                continue
            if one.sureness != "certain":
                why = f"its earlier state is not certain ({one.sureness}): {one.reason}"
                self.held.append(HeldBack(self._facts.topic, one.subscription, "", 0, why))
                continue
            yield Draft(("restore", one.subscription), self._restore(one))

    def _restore(self, one: Restored) -> Action:
        subscription = self._subscription(one.subscription)
        return Action(
            number=0,
            kind="acknowledge",
            topic=self._facts.topic,
            reason=words.restore_reason(one),
            subscription=one.subscription,
            runs=one.runs,
            expected_mark_delete=subscription.mark_delete,
            expected_type=subscription.type,
            cause="restore",
            size_bytes=one.bytes,
            codes=("K04",),
            evidence=words.restore_evidence(one, subscription),
            affects=words.RESTORE_AFFECTS,
            undo=words.acknowledge_undo(one.runs),
        )

    def _acknowledgements(self, stalls: Sequence[StallRow]) -> Iterator[Draft]:
        """Per subscription and cause, up to `SETS_PER_ACTION` chunk sets each."""
        groups: dict[tuple[str, str], list[StallRow]] = {}
        for stall in stalls:
            cause = self._cause(stall)
            if cause is not None:
                groups.setdefault((stall.subscription, cause), []).append(stall)
        for (name, cause), rows in sorted(groups.items()):
            for start in range(0, len(rows), SETS_PER_ACTION):
                yield self._acknowledge(name, cause, rows[start : start + SETS_PER_ACTION])

    def _cause(self, stall: StallRow) -> str | None:
        """Why its entries are acknowledged away; None when they are not, and that is noted."""
        if stall.action in ("none", "reset_to_first_chunk"):
            return None
        family = self._family(stall.chunk_uuid)
        if stall.can_complete and stall.action == "wait":
            self._hold(stall, words.waits_because(family))
            return None
        why = why_not_family(family, self._choices)
        if why is not None:
            self._hold(stall, why, words.next_step(why))
            return None
        doubts = sorted({why for entry in stall.entries if (why := why_not_entry(entry, stall)) is not None})
        if doubts:
            self._hold(stall, "; ".join(doubts))
        if not acknowledgeable(stall, family, self._choices):
            return None
        own = self._publications[stall.key]
        if not (own.rebuildable or is_kept(own.exported)):
            return "dead_chunks"
        return "exported" if self._delivered_anyway(stall, own) else None

    def _delivered_anyway(self, stall: StallRow, own: Publication) -> bool:
        """Whether the subscription has the message, or gets it once more: then its entries are only in the way."""
        if stall.acked_entries and all(entry.role in _SURPLUS for entry in stall.entries):
            return True  # every chunk the message needs is acknowledged
        cause = "got_in_part" if stall.acked_entries else "lost_by_clients"
        why = self._republish(own, cause, stall)
        if why is not None:
            self._hold(stall, why, words.TO_FILE)
        return why is None

    def _acknowledge(self, name: str, cause: str, rows: Sequence[StallRow]) -> Draft:
        positions = sorted({p for s in rows for p in acknowledgeable(s, self._family(s.chunk_uuid), self._choices)})
        runs = runs_of(positions)
        subscription = self._subscription(name)
        unsure = [one for s in rows for one in self._family(s.chunk_uuid) if not is_kept(one.exported)]
        needs = tuple(self._republished[s.key].name for s in rows if s.key in self._republished)
        action = Action(
            number=0,
            kind="acknowledge",
            topic=self._facts.topic,
            reason=words.acknowledge_reason(cause, self._choices.republish_to),
            subscription=name,
            runs=runs,
            expected_mark_delete=subscription.mark_delete,
            expected_type=subscription.type,
            cause=cause,
            sureness=words.worst(one.sureness for one in unsure),
            size_bytes=sum(s.unacked_bytes for s in rows),
            codes=_codes(s.code for s in rows),
            evidence=tuple(words.stall_evidence(s, self._publications[s.key]) for s in rows),
            affects=words.ACKNOWLEDGE_AFFECTS,
            undo=words.acknowledge_undo(runs),
        )
        return Draft(("acknowledge", name, cause, rows[0].key), action, needs)

    def _losses(self) -> None:
        """Publish what the chosen clients lose. It is about no subscription and no position of one."""
        choices = self._choices
        if choices.subscriptions:
            return
        for one in sorted(self._publications.values(), key=lambda publication: publication.key):
            codes = {_LOSS_CODES.get(loss.outcome, "C21") for loss in one.losses}
            chosen = not choices.codes or codes & choices.codes
            if not one.losses or not one.rebuildable or not chosen or not self._is_old_enough(one.publish_time_ms):
                continue
            why = self._republish(one, "lost_by_clients", None)
            if why is not None:
                to_do = words.next_step(why) or words.TO_FILE
                self.held.append(HeldBack(self._facts.topic, None, one.chunk_uuid, one.publish_time_ms, why, to_do))

    def _republish(self, one: Publication, cause: str, stall: StallRow | None) -> str | None:
        """Have a message published once, whoever asks for it; what speaks against it."""
        if one.key in self._republished or (one.exported is not None and one.exported.republished == "done"):
            return None
        why = why_not_sendable(one)
        if why is not None or one.exported is None:
            return why
        to_file = self._choices.republish_to == "file"
        elsewhere = None if self._choices.republish_to in ("same", "file") else self._choices.republish_to
        message = message_of(one, self._facts.topic if elsewhere else None)
        codes = {_LOSS_CODES.get(loss.outcome, "C21") for loss in one.losses}
        names = [subscription.name for subscription in self._facts.subscriptions]
        action = Action(
            number=0,
            kind="file" if to_file else "republish",
            topic=elsewhere or self._facts.topic,
            reason=words.republish_reason(one, cause, stall),
            cause=cause,
            sureness="certain",
            size_bytes=message.size_bytes,
            codes=_codes([*codes, stall.code if stall else None]),
            evidence=words.republish_evidence(one, stall),
            affects=words.republish_affects(one, names, self._choices.republish_to),
            undo=words.FILE_UNDO if to_file else words.REPUBLISH_UNDO,
            message=message,
        )
        name = ("republish", one.exported.position, one.key)
        self._republished[one.key] = Draft(name, action, source=(self._facts.topic, one.key))
        return None

    def _settings(self) -> list[Draft]:
        if not self._facts.settings:
            return []
        action = Action(
            number=0,
            kind="settings",
            topic=self._facts.topic,
            reason=words.SETTINGS_REASON,
            cause="settings",
            evidence=tuple(f"{name} = {value}: {reason}" for name, value, reason in self._facts.settings),
            affects=words.SETTINGS_AFFECTS,
        )
        return [Draft(("settings", self._facts.topic), action)]

    def _family(self, chunk_uuid: str) -> list[Publication]:
        return [one for one in self._facts.publications if one.chunk_uuid == chunk_uuid]

    def _subscription(self, name: str) -> Subscription:
        return self._subscriptions.get(name, Subscription(name))

    def _hold(self, stall: StallRow, why: str, next_step: str = "") -> None:
        held = HeldBack(self._facts.topic, stall.subscription, stall.chunk_uuid, stall.publish_time_ms, why, next_step)
        self.held.append(held)


def _first(stall: StallRow) -> tuple[int, int]:
    return stall.first_chunk or (stall.entries[0].position if stall.entries else (0, 0))


def _codes(codes: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({code for code in codes if code}))
