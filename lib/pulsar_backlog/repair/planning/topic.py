"""The drafts of one topic: which actions, in which order, and what is held back instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from pulsar_backlog.grouping import groups_of
from pulsar_backlog.repair.planning import words
from pulsar_backlog.repair.planning.cut_off import cut_off_drafts
from pulsar_backlog.repair.planning.republishing import Draft, Republishing, codes_of, is_old_enough
from pulsar_backlog.repair.planning.safety import (
    NOT_EXPORTED,
    UNVERIFIED,
    acknowledgeable,
    is_given_up,
    is_kept,
    why_not_entry,
    why_not_family,
)
from pulsar_backlog.repair.planning.unloading import unload_action
from pulsar_backlog.repair.planning.values import (
    Choices,
    HeldBack,
    PublicationFacts,
    Restored,
    StallFacts,
    Subscription,
    TopicFacts,
)
from pulsar_backlog.repair.runs import runs_of
from pulsar_backlog.repair.values import Action
from pulsar_backlog.subscriptions.stall_kinds import LAST_ONLY
from pulsar_backlog.terms import UNUSED, least_sure, position_text
from pulsar_backlog.wire.names import is_segment

SETS_PER_ACTION = 100
"""Chunk sets of one subscription that one action acknowledges; more make another."""


class TopicPlan:
    """The drafts of one topic, and what is held back."""

    def __init__(self, facts: TopicFacts, choices: Choices) -> None:
        self.held: list[HeldBack] = []
        self._facts = facts
        self._choices = choices
        self._publications = {one.key: one for one in facts.publications}
        self._subscriptions = {one.name: one for one in facts.subscriptions}
        self._republishing = Republishing(facts, choices)

    def drafts(self) -> list[Draft]:
        """All of the topic, in the order in which they are applied."""
        stalls = sorted(filter(self._is_chosen, self._facts.stalls), key=lambda s: (s.subscription, _first(s), s.key))
        if is_segment(self._facts.topic):
            for stall in stalls:
                self._hold(stall, words.IN_SEGMENT, words.SEGMENT_STEP)
            self.held += cut_off_drafts(self._facts, self._choices).held_back
            return []
        resets = list(self._resets(stalls))
        reset = {draft.action.subscription for draft in resets}
        acknowledged = [
            *self._restores(reset),
            *self._acknowledgements([s for s in stalls if s.subscription not in reset]),
        ]
        self._republishing.losses()
        self._republishing.named()
        self.held += self._republishing.held
        cut_off = cut_off_drafts(self._facts, self._choices)
        self.held += cut_off.held_back
        drafts = [*cut_off.drafts, *self._republishing.drafts(), *resets, *acknowledged, *self._unloads(reset)]
        if drafts or self.held:
            drafts += self._settings()
        return drafts

    def _is_chosen(self, stall: StallFacts) -> bool:
        choices = self._choices
        return (
            self._is_wanted(stall.subscription)
            and (not choices.codes or stall.code in choices.codes)
            and is_old_enough(self._choices, stall.publish_time_ms)
        )

    def _is_wanted(self, subscription: str) -> bool:
        globs = self._choices.subscriptions
        return not globs or any(fnmatchcase(subscription, glob) for glob in globs)

    def _resets(self, stalls: Sequence[StallFacts]) -> Iterator[Draft]:
        """One per subscription, to the earliest message that a client could put together when started right."""
        wanted = [one for one in stalls if _is_reset(one) and one.first_chunk is not None]
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
                codes=codes_of([stall.code]),
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
            if one.left_runs:
                why = words.left_runs(one.left_runs, len(one.runs))
                self.held.append(HeldBack(self._facts.topic, one.subscription, "", 0, why, words.PLAN_AGAIN))
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

    def _acknowledgements(self, stalls: Sequence[StallFacts]) -> Iterator[Draft]:
        """Per subscription and cause, up to `SETS_PER_ACTION` chunk sets each."""
        groups: dict[tuple[str, str], list[StallFacts]] = {}
        for stall in stalls:
            cause = self._cause(stall)
            if cause is not None:
                groups.setdefault((stall.subscription, cause), []).append(stall)
        for (name, cause), rows in sorted(groups.items()):
            for group in groups_of(rows, SETS_PER_ACTION):
                yield self._acknowledge(name, cause, group)

    def _cause(self, stall: StallFacts) -> str | None:
        """Why its entries are acknowledged away; None when they are not, and that is noted."""
        if stall.action == "none" or _is_reset(stall):
            return None
        family = self._family(stall.chunk_uuid)
        if stall.can_complete and stall.action == "wait":
            self._hold(stall, words.waits_because(family))
            return None
        given_up = is_given_up(stall, self._choices)
        why = why_not_family(family, self._choices, given_up=given_up)
        if why is not None:
            self._hold(stall, *self._meanwhile(stall, why))
            return None
        reasons = (why_not_entry(entry, stall, given_up=given_up) for entry in stall.entries)
        doubts = sorted({why for why in reasons if why is not None})
        if doubts:
            self._hold(stall, "; ".join(doubts))
        if not acknowledgeable(stall, family, self._choices):
            return None
        if given_up and why_not_family(family, self._choices) is not None:
            return "given_up"
        own = self._publications[stall.key]
        if not (own.rebuildable or is_kept(own.exported)):
            return "dead_chunks"
        if stall.copy is not None:
            return "dead_lettered"
        return "exported" if self._delivered_anyway(stall, own) else None

    def _meanwhile(self, stall: StallFacts, why: str) -> tuple[str, str]:
        """Why its entries stay, and what comes next; what is whole and encrypted is published as it is stored."""
        own = self._publications.get(stall.key)
        waits = why == NOT_EXPORTED or why.startswith(UNVERIFIED)
        if own is None or not waits or not self._republishing.goes_as_stored(own) or _has_it(stall):
            return why, words.next_step(why, encrypted=own is not None and own.encrypted)
        speaks_against = self._republishing.publish(own, _cause_of(stall), stall)
        if speaks_against is not None:
            return speaks_against, words.next_step(speaks_against, encrypted=True)
        return words.STAYS_AFTER_COPY, words.EXPORT_WITH_KEY

    def _delivered_anyway(self, stall: StallFacts, own: PublicationFacts) -> bool:
        """Whether the subscription has the message, or gets it again: then its entries are only in the way."""
        if _has_it(stall):
            return True
        left_behind = stall.kind == LAST_ONLY.name and self._subscription(stall.subscription).leaves_dead_letters
        if left_behind and self._choices.republish_to == "same":
            self._hold(stall, words.NO_COPY, words.EXPORT_DEAD_LETTERS)
            return False
        why = self._republishing.publish(own, _cause_of(stall), stall)
        if why is not None:
            self._hold(stall, why, words.TO_FILE)
        return why is None

    def _acknowledge(self, name: str, cause: str, rows: Sequence[StallFacts]) -> Draft:
        positions = sorted({p for s in rows for p in acknowledgeable(s, self._family(s.chunk_uuid), self._choices)})
        runs = runs_of(positions)
        subscription = self._subscription(name)
        unsure = [one for s in rows for one in self._family(s.chunk_uuid) if not is_kept(one.exported)]
        needs = tuple(draft.name for s in rows if (draft := self._republishing.of(s.key)) is not None)
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
            sureness="cannot_tell" if cause == "given_up" else least_sure(one.sureness for one in unsure),
            size_bytes=sum(s.unacked_bytes for s in rows),
            codes=codes_of(s.code for s in rows),
            evidence=tuple(words.stall_evidence(s, self._publications[s.key]) for s in rows),
            affects=words.ACKNOWLEDGE_AFFECTS,
            undo=words.acknowledge_undo(runs),
        )
        return Draft(("acknowledge", name, cause, rows[0].key), action, needs)

    def _unloads(self, reset: set[str | None]) -> Iterator[Draft]:
        """Last, so that what blocks is acknowledged by then; a reset frees what an unload frees."""
        for one in sorted(self._facts.subscriptions, key=lambda subscription: subscription.name):
            chosen = [why for why in one.unloadable if not self._choices.codes or why.code in self._choices.codes]
            if chosen and self._is_wanted(one.name) and one.name not in reset:
                yield Draft(("unload", one.name), unload_action(self._facts.topic, one, chosen))

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

    def _family(self, chunk_uuid: str) -> list[PublicationFacts]:
        return [one for one in self._facts.publications if one.chunk_uuid == chunk_uuid]

    def _subscription(self, name: str) -> Subscription:
        return self._subscriptions.get(name, Subscription(name))

    def _hold(self, stall: StallFacts, why: str, next_step: str = "") -> None:
        at = position_text(stall.entries[0].position) if stall.entries else None
        key = (stall.chunk_uuid, stall.publish_time_ms)
        self.held.append(HeldBack(self._facts.topic, stall.subscription, *key, why, next_step, at))


def _is_reset(stall: StallFacts) -> bool:
    """Whether a reset delivers the message; one whose dead letter is verified went there, and would come once more."""
    return stall.action == "reset_to_first_chunk" and stall.copy is None


def _has_it(stall: StallFacts) -> bool:
    """Whether every chunk that its message needs is acknowledged."""
    return bool(stall.acked_entries) and all(entry.role in UNUSED for entry in stall.entries)


def _cause_of(stall: StallFacts) -> str:
    return "got_in_part" if stall.acked_entries else "lost_by_clients"


def _first(stall: StallFacts) -> tuple[int, int]:
    return stall.first_chunk or (stall.entries[0].position if stall.entries else (0, 0))
