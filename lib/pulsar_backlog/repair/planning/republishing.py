"""Messages of one topic that are republished, each once, whoever asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pulsar_backlog.repair.planning import words
from pulsar_backlog.repair.planning.sendable import (
    message_as_stored,
    message_of,
    why_not_as_stored,
    why_not_chunks_as_stored,
    why_not_sendable,
)
from pulsar_backlog.repair.planning.values import (
    Choices,
    HeldBack,
    Named,
    PublicationFacts,
    PublicationKey,
    StallFacts,
    Stored,
    TopicFacts,
)
from pulsar_backlog.repair.values import Action, Message
from pulsar_backlog.terms import position_text

_LOSS_CODES = {"mixed": "C40", "breaks_client": "C41"}

Name = tuple[object, ...]


@dataclass(frozen=True)
class Draft:
    """An action that has no number yet.

    Attributes:
        name: what other drafts call it.
        needs: names of the drafts that must be done before it.
        source: publication whose payload it publishes; None when it publishes entries as they are stored, or nothing.
    """

    name: Name
    action: Action
    needs: tuple[Name, ...] = ()
    source: tuple[str, PublicationKey] | None = None


class Republishing:
    """The drafts of what is published, and what is held back.

    Attributes:
        held: what was asked for by no subscription and is not published, and why.
    """

    def __init__(self, facts: TopicFacts, choices: Choices) -> None:
        self.held: list[HeldBack] = []
        self._facts = facts
        self._choices = choices
        self._subscriptions = [subscription.name for subscription in facts.subscriptions]
        self._to_file = choices.republish_to == "file"
        self._elsewhere = None if choices.republish_to in ("same", "file") else choices.republish_to
        self._drafts: dict[object, Draft] = {}

    def drafts(self) -> list[Draft]:
        """All, in order of their positions."""
        return sorted(self._drafts.values(), key=lambda draft: draft.name[1:2])

    def of(self, key: PublicationKey) -> Draft | None:
        """The draft that publishes a publication."""
        return self._drafts.get(key)

    def goes_as_stored(self, one: PublicationFacts) -> bool:
        """Whether a message, if it is published, is so as it is stored."""
        return self._choices.as_stored and one.encrypted and not self._to_file

    def losses(self) -> None:
        """Publish what the chosen clients lose. It is about no subscription and no position of one."""
        choices = self._choices
        if choices.subscriptions:
            return
        for one in sorted(self._facts.publications, key=lambda publication: publication.key):
            codes = {_LOSS_CODES.get(loss.outcome, "C21") for loss in one.losses}
            chosen = not choices.codes or codes & choices.codes
            if not one.losses or not one.rebuildable or not chosen or not is_old_enough(choices, one.publish_time_ms):
                continue
            why = self.publish(one, "lost_by_clients", None)
            if why is not None:
                to_do = words.next_step(why, encrypted=one.encrypted) or words.TO_FILE
                self.held.append(HeldBack(self._facts.topic, None, one.chunk_uuid, one.publish_time_ms, why, to_do))

    def named(self) -> None:
        """Publish what the user names."""
        publications = {one.key: one for one in self._facts.publications}
        for one in sorted(self._facts.named, key=lambda named: named.position):
            if one.key is None:
                why = self._publish_single(one)
            elif one.key in publications:
                chosen = publications[one.key]
                why = self.publish(chosen, "named", None) or (
                    words.REPUBLISHED if chosen.republished == "done" else None
                )
            else:
                why = words.FAMILY_TOO_LARGE
            if why is not None:
                uuid, time_ms = one.key or ("", 0)
                who = f"the named message {position_text(one.position)}: {why}"
                to_do = words.next_step(why, encrypted=one.encrypted)
                self.held.append(HeldBack(self._facts.topic, None, uuid, time_ms, who, to_do))

    def publish(self, one: PublicationFacts, cause: str, stall: StallFacts | None) -> str | None:
        """Have a message published once; what speaks against it."""
        if one.key in self._drafts or one.republished == "done":
            return None
        as_stored = self.goes_as_stored(one)
        why = why_not_chunks_as_stored(one) if as_stored else why_not_sendable(one)
        if why is not None:
            return why
        if as_stored and one.stored is not None:
            stored, message = one.stored, message_as_stored(one.stored, one.chunk_uuid, self._original_topic)
        else:
            stored, message = None, message_of(one, self._original_topic)
        codes = {_LOSS_CODES.get(loss.outcome, "C21") for loss in one.losses}
        action = self._action(
            message,
            stored,
            cause,
            reason=words.republish_reason(one, cause, stall, stored),
            codes=codes_of([*codes, stall.code if stall else None]),
            evidence=words.republish_evidence(one, stall, stored),
            has_schema=_has_schema(one) if stored is None else stored.has_schema,
        )
        source = None if stored is not None else (self._facts.topic, one.key)
        self._drafts[one.key] = Draft(("republish", message.original, one.key), action, source=source)
        return None

    def _publish_single(self, named: Named) -> str | None:
        """Have a message of one entry published as it is stored; what speaks against it."""
        stored = named.stored
        if stored is None:
            return words.NOT_ENCRYPTED if not named.encrypted else words.NOT_STORED
        why = why_not_as_stored(stored)
        if stored.republished == "done" or why is not None:
            return why or words.REPUBLISHED
        message = message_as_stored(stored, None, self._original_topic)
        action = self._action(
            message,
            stored,
            "named",
            reason=words.named_reason(stored),
            codes=(),
            evidence=words.stored_evidence(stored),
            has_schema=stored.has_schema,
        )
        self._drafts[stored.position] = Draft(("republish", stored.position), action)
        return None

    @property
    def _original_topic(self) -> str | None:
        return self._facts.topic if self._elsewhere else None

    def _action(
        self, message: Message, stored: Stored | None, cause: str, *, reason: str, codes: tuple[str, ...],
        evidence: tuple[str, ...], has_schema: bool,
    ) -> Action:  # fmt: skip
        to = self._choices.republish_to
        return Action(
            number=0,
            kind="file" if self._to_file else "republish",
            topic=self._elsewhere or self._facts.topic,
            reason=reason,
            cause=cause,
            sureness="certain",
            size_bytes=message.size_bytes,
            codes=codes,
            evidence=evidence,
            affects=words.republish_affects(message, stored, self._subscriptions, to, has_schema=has_schema),
            undo=words.FILE_UNDO if self._to_file else words.republish_undo(stored),
            message=message,
        )


def _has_schema(one: PublicationFacts) -> bool:
    return one.exported is not None and (one.exported.schema_version or one.exported.schema_id) is not None


def is_old_enough(choices: Choices, publish_time_ms: int) -> bool:
    """Whether something is of an age that was asked for."""
    return choices.until_ms is None or publish_time_ms <= choices.until_ms


def codes_of(codes: Iterable[str | None]) -> tuple[str, ...]:
    """Codes of findings in order, each once."""
    return tuple(sorted({code for code in codes if code}))
