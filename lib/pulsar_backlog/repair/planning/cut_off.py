"""Messages behind the recorded end of a ledger that their producer was told are stored: republished, in their order.

They are published entry by entry as they are stored, and acknowledged nowhere: no subscription has them.

| `--cut-off` | producer | sequence id | when |
|---|---|---|---|
| `new` | of the plan | of the plan | always; properties name the original's |
| `own` | the message's own | the message's own | only where that producer has stored nothing behind the end |

Under its own name a broker that drops duplicates takes a message only when it knows no later one of that producer.
Afterwards it drops what the producer sends under the same numbers, so a producer that was started before and counts on
from the recorded end would lose messages: it must be stopped for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pulsar_backlog.counting import counted
from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.planning import words
from pulsar_backlog.repair.planning.cut_off_values import CutOff
from pulsar_backlog.repair.planning.republishing import Draft
from pulsar_backlog.repair.planning.values import Choices, HeldBack, TopicFacts
from pulsar_backlog.repair.values import Action, Message
from pulsar_backlog.terms import position_text
from pulsar_backlog.wire.names import is_segment

GRADES = ("certain", "likely")
"""Those that a producer was told of, or probably was; nothing else is ever published."""

_HINDRANCES = {
    "chunk": "it is a chunk, and republished alone its message would not become whole",
    "transaction": "it belongs to a transaction, and nobody can tell here whether that was committed",
    "marker": "it is a broker's marker, no message",
    "replicated": "it was replicated from another cluster, which can send it again",
    "copy": "a repair published it: republishing it would make a loop",
    "unknown_fields": "its metadata has fields that this version does not know, so nobody can tell what they mean",
    "checksum": "it has no matching checksum, so nobody would notice damage",
}
EXPORT_CUT_OFF = "take it out for its producer to send again: pulsar-backlog export OUT --only-cut-off --to FOLDER"
_UNCLEAR = "another plan began to republish it, and nobody knows how that ended: apply that plan again"
_WENT_ON = "its producer has stored other messages since, so that the broker would drop this one under its own number"
_WENT_ON_STEP = "plan with --cut-off new"
_NO_AUDIT = "the audit does not say whether it can be published by itself"
_AUDIT_AGAIN = "audit the source again with this version"


@dataclass(frozen=True)
class CutOffDrafts:
    """What is published and what is held back."""

    drafts: tuple[Draft, ...]
    held_back: tuple[HeldBack, ...]


def cut_off_drafts(facts: TopicFacts, choices: Choices) -> CutOffDrafts:
    """The drafts of a topic, each of which needs the one before it."""
    drafts: list[Draft] = []
    held_back: list[HeldBack] = []
    if choices.cut_off is None or (choices.codes and "S69" not in choices.codes):
        return CutOffDrafts((), ())
    for one in sorted(facts.cut_off, key=lambda cut: cut.position):
        if one.republished == "done" or (choices.until_ms is not None and one.publish_time_ms > choices.until_ms):
            continue
        why, step = _why_not(one, facts.topic, choices)
        if why is not None:
            sentence = f"the entry behind the end {position_text(one.position)}: {why}"
            held_back.append(HeldBack(facts.topic, None, "", one.publish_time_ms, sentence, step))
            continue
        needs = (drafts[-1].name,) if drafts else ()
        drafts.append(Draft(("cut_off", one.position), _action(one, facts, choices), needs))
    return CutOffDrafts(tuple(drafts), tuple(held_back))


def more_cut_off(rows: Sequence[tuple[str, CutOff]], taken: int) -> tuple[HeldBack, ...]:
    """What is said where there are more than one plan takes."""
    if len(rows) <= taken:
        return ()
    why = f"more than {taken:,} messages lie behind the ends of ledgers: one plan looks at the first {taken:,}"
    return (HeldBack(rows[taken][0], None, "", 0, why, words.PLAN_AGAIN),)


def _why_not(one: CutOff, topic: str, choices: Choices) -> tuple[str | None, str]:
    """What speaks against publishing it, and what would change that."""
    if one.grade not in GRADES:
        return "nothing proves that its producer was told that it is stored", EXPORT_CUT_OFF
    if is_segment(topic):
        return words.IN_SEGMENT, EXPORT_CUT_OFF
    if one.republished == "unclear":
        return _UNCLEAR, ""
    if one.hindrance is None or one.as_stored is None:
        return _NO_AUDIT, _AUDIT_AGAIN
    if one.hindrance:
        return _HINDRANCES.get(one.hindrance, f"it is hindered by {one.hindrance}"), EXPORT_CUT_OFF
    if choices.cut_off == "own" and one.went_on:
        return _WENT_ON, _WENT_ON_STEP
    return None, ""


def _action(one: CutOff, facts: TopicFacts, choices: Choices) -> Action:
    is_own = choices.cut_off == "own"
    message = Message(
        original=one.position,
        sha256=None,
        size_bytes=one.size_bytes,
        was_encrypted=one.encrypted,
        as_stored=one.as_stored,
        origin=Origin(one.producer, one.sequence_id, is_own),
    )
    return Action(
        number=0,
        kind="republish",
        topic=facts.topic,
        reason=_reason(one),
        cause="cut_off",
        sureness="certain",
        size_bytes=one.size_bytes,
        codes=("S69",),
        evidence=tuple(_evidence(one)),
        affects=_affects(one, [subscription.name for subscription in facts.subscriptions], is_own),
        undo=words.REPUBLISH_UNDO if one.batch_size is None else words.BATCH_UNDO,
        message=message,
    )


def _reason(one: CutOff) -> str:
    verb = "was told" if one.grade == "certain" else "was likely told"
    size = "message" if one.batch_size is None else f"batch of {counted(one.batch_size, 'message', 'messages')}"
    return (
        f"Producer {one.producer!r} {verb} that this {size} is stored, but it lies behind the recorded end of its "
        "ledger, where no consumer gets it."
    )


def _evidence(one: CutOff) -> Iterator[str]:
    yield f"entry {position_text(one.position)}, sequence id {one.sequence_id}: {one.grade}: {one.reason}"
    yield f"{one.size_bytes:,} bytes as stored; its checksum agrees"
    yield "nothing of that producer, sequence id and checksum lies in what the audit read of the topic's log"
    if one.went_on:
        yield "its producer has stored other messages behind the end: this one comes after them"


def _affects(one: CutOff, subscriptions: Iterable[str], is_own: bool) -> str:
    names = sorted(subscriptions)
    whom = f"all of them get it: {', '.join(map(repr, names[:10]))}" if names else "which ones exist is unknown"
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    key = " Its readers need a key that the original was encrypted for." if one.encrypted else ""
    late = "It comes behind everything that was published since."
    if not is_own:
        return f"It cannot be published to one subscription only; {whom}{more}. {late}{key}"
    return (
        f"It cannot be published to one subscription only; {whom}{more}. {late}{key} Stop producer "
        f"{one.producer!r} for good before: if it counts on from before {one.sequence_id}, the broker drops its new "
        "messages as duplicates. "
        "Started anew afterwards, it goes on behind it."
    )
