"""Plans in words, for someone tired and worried. No payload, key or property value occurs in them."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.counting import counted
from pulsar_backlog.repair.planning.safety import MALFORMED, NOT_EXPORTED, UNSURE, UNVERIFIED
from pulsar_backlog.repair.planning.values import PublicationFacts, Restored, StallFacts, Stored, Subscription
from pulsar_backlog.repair.runs import runs_of, runs_text
from pulsar_backlog.repair.values import Message, Run
from pulsar_backlog.terms import COMPLETE, Position, position_text

_NAMED = 10

EXPORT_FIRST = "export it (pulsar-backlog export OUT), then plan again"
EXPORT_WITH_KEY = "export it with its private key (pulsar-backlog export OUT --private-keys FOLDER), then plan again"
EXPORT_WITH_KEY_OR_NOT = f"{EXPORT_WITH_KEY}; or republish it unseen: plan with --as-stored"
STAYS_AFTER_COPY = "it is encrypted and republished as stored; its old entries stay, because no export verified it"
NOT_ENCRYPTED = "it is one entry that is not encrypted: --message republishes only encrypted and chunked messages"
NOT_STORED = "it is one encrypted entry: it can be republished only as stored"
AS_STORED = "plan with --as-stored"
REPUBLISHED = "it was republished already"
NO_COPY = (
    "it may be a dead letter whose chunks stayed behind: no export verifies a copy in the dead-letter topic with the "
    "same SHA-256, and a republished message would reach all subscriptions"
)
EXPORT_DEAD_LETTERS = (
    "audit and export the dead-letter topic too (pulsar-backlog export OUT), then plan again; or plan with "
    "--republish-to file"
)
FAMILY_TOO_LARGE = "too many messages share its uuid"
AUDIT_AGAIN = "audit again when the log has grown; or take the risk: plan with --accept-unsure {}"
GIVE_UP = (
    "copy the objects that hold its entries and look at what the export holds of it; to acknowledge it all the same, "
    "plan with --give-up LEDGER:ENTRY"
)
_GIVE_UP_OPTION = "--give-up LEDGER:ENTRY"
_EXPORT_AGAIN = ("payload_no_key", "its bytes could not be read", "--max-message-bytes")
"""What the reason says of an export that another key, place or limit would better."""
PLAN_AGAIN = "apply this plan, save the admin state again, audit, then plan again"
IN_SEGMENT = (
    "it lies in a segment of a scalable topic: no admin address acknowledges entries there or resets its cursor, and "
    "clients of topic:// choose the segment that they publish to"
)
SEGMENT_STEP = (
    "export it, have its producer send what is lost to the scalable topic again, and acknowledge its entries with a "
    "consumer of topic://"
)
TO_FILE = "plan with --republish-to file: the plan keeps the message in a file and acknowledges the entries in the way"
ACKNOWLEDGE_AFFECTS = "It affects no other entry and no other subscription."
RESTORE_AFFECTS = f"{ACKNOWLEDGE_AFFECTS} The broker redelivers all of a batch of which only a part was acknowledged."
FILE_UNDO = "Nothing is changed."
SEALED = "It is encrypted, and is republished as stored."
UNSEEN = "Nobody has seen its content here."
BATCH_UNDO = (
    "A published message cannot be taken back. It is a batch: its entry carries the property "
    "pulsar-backlog.plan, and consumers do not see it there."
)
REPUBLISH_UNDO = (
    "A published message cannot be taken back; each carries the property pulsar-backlog.plan, so that consumers "
    "can drop it."
)
SETTINGS_REASON = "These settings of clients and topic suit this log and would have prevented what was found."
SETTINGS_AFFECTS = "Advice only: apply does not change settings."


def next_step(why: str, *, encrypted: bool = False) -> str:
    """What would do away with a reason; of an encrypted message there may be two ways."""
    export = EXPORT_WITH_KEY_OR_NOT if encrypted else EXPORT_FIRST
    if encrypted and why.startswith(f"{UNVERIFIED}payload_no_key"):
        return export
    if why.startswith(UNVERIFIED) and any(words in why for words in _EXPORT_AGAIN):
        return export
    again = AUDIT_AGAIN.format("likely" if why.startswith(f"{UNSURE}(likely)") else "cannot_tell")
    steps = {NOT_EXPORTED: export, NOT_STORED: AS_STORED, UNSURE: again, UNVERIFIED: GIVE_UP, MALFORMED: GIVE_UP}
    return next((step for start, step in steps.items() if why.startswith(start)), "")


def with_places(step: str, places: Sequence[str]) -> str:
    """A next step that names the entries of chunk sets to give up."""
    named = list(dict.fromkeys(places))
    options = " ".join(f"--give-up {place}" for place in named[:_NAMED])
    return step.replace(_GIVE_UP_OPTION, options) if named else step


def waits_because(family: Sequence[PublicationFacts]) -> str:
    """Why a message that can still be delivered is left alone."""
    if any(one.state == "in_flight" for one in family):
        return "it may still be arriving"
    return (
        "clients can still receive it: reconnecting redelivers it, except where its advice in `stalls` says otherwise"
    )


def after_reset(others: int) -> str:
    """Why the rest of a subscription waits."""
    return (
        f"{counted(others, 'more chunk set waits', 'more chunk sets wait')} until this subscription's cursor is reset"
    )


def acknowledge_reason(cause: str, to: str) -> str:
    """Why entries are acknowledged away; `to` is where messages are republished."""
    if cause == "given_up":
        return (
            "Their messages are given up, as --give-up says: no export verifies them, and nobody gets them afterwards, "
            "nor anything else in their entries. Copy the objects that hold their entries before you apply this."
        )
    if cause == "dead_chunks":
        return "No client can ever receive these chunks: the rest of their messages is not stored."
    if cause == "dead_lettered":
        return (
            "Their messages went to the dead-letter topic, and these chunks stayed behind: the copy there is whole and "
            "verified, and its payload has the SHA-256 of the original's."
        )
    gets = {
        "same": "this subscription has them or will get them again",
        "file": "the plan keeps those that this subscription lacks in files",
    }
    then = gets.get(to, f"those that this subscription lacks go to {to}")
    return f"These chunks are in the way: their messages are exported and verified, and {then}."


def stall_evidence(stall: StallFacts, own: PublicationFacts | None) -> str:
    """One chunk set: what it is, where it lies, how sure that is."""
    places = runs_text(runs_of(sorted(entry.position for entry in stall.entries)))
    more = f" of {stall.unacked_entries:,}" if stall.unacked_entries > len(stall.entries) else ""
    log = ""
    if own is not None:
        log = f"; {own.state}, {own.present_chunks} of {own.num_chunks} chunks stored; {own.sureness}: {own.reason}"
        if own.exported is not None and own.exported.verified:
            log += "; exported and verified"
    if stall.copy is not None:
        log += f"; dead letter at {stall.copy}"
    kinds = ", ".join([stall.kind, *stall.also]) + f" ({stall.sureness})"
    count = f"{len(stall.entries):,}{more} {'entry' if len(stall.entries) == 1 else 'entries'}"
    return f"uuid {stall.chunk_uuid!r}: {count} at {places}{log}. Here: {kinds}. {_what(stall)}"


def acknowledge_undo(runs: Sequence[Run]) -> str:
    """How acknowledging could be taken back."""
    first = position_text((runs[0].ledger_id, runs[0].first_entry_id)) if runs else "the first entry"
    return f"Resetting the cursor to {first} redelivers these entries while they are stored, and everything after them."


def reset_reason(stall: StallFacts) -> str:
    """Why a cursor is reset."""
    first = position_text(stall.first_chunk or (0, 0))
    return f"The cursor is inside a whole message; a client that starts at its first chunk, {first}, gets the message."


def reset_affects(stall: StallFacts) -> str:
    """What a reset does besides."""
    again = stall.redelivered_entries
    what = f"{counted(again, 'entry', 'entries')} of other messages between are" if again else "Nothing else is"
    return f"{what} delivered again. Consumers are disconnected."


def reset_undo(mark_delete: Position | None) -> str:
    """How a reset could be taken back."""
    where = position_text(mark_delete) if mark_delete else "where it stood"
    return f"Acknowledging cumulatively up to {where} puts the cursor back."


def restore_reason(one: Restored) -> str:
    """Why acknowledgements are made again."""
    count = sum(run.last_entry_id - run.first_entry_id + 1 for run in one.runs)
    are = counted(count, "entry was", "entries were")
    return f"{are} acknowledged in the earlier audit but not now: consumers would get their messages again."


def left_runs(remaining: int, taken: int) -> str:
    """Why a plan does not make all lost acknowledgements again."""
    more = counted(remaining, "more run of entries was", "more runs of entries were")
    return f"{more} acknowledged in the earlier audit but not now: one plan restores {taken:,} at most"


def part_of_batch(batches: int) -> str:
    """Why not all acknowledgements are made again."""
    which = counted(batches, "batch was", "batches were")
    return (
        f"{which} acknowledged in part in the earlier audit, but no part is now: single messages of a batch cannot "
        "be acknowledged, so consumers get the whole batch again"
    )


def restore_evidence(one: Restored, now: Subscription) -> tuple[str, ...]:
    """Both states."""
    then = position_text(one.earlier) if one.earlier else "unknown"
    here = position_text(now.mark_delete) if now.mark_delete else "unknown"
    return (f"mark-delete was {then}, is {here}", f"entries {runs_text(one.runs)}", f"{one.sureness}: {one.reason}")


def republish_reason(one: PublicationFacts, cause: str, stall: StallFacts | None, stored: Stored | None) -> str:
    """Why a message is republished, and how, when it is as it is stored."""
    why = _republish_reason(one, cause, stall)
    if stored is None:
        return why
    seen = "" if one.exported is not None and one.exported.verified else f" {UNSEEN}"
    return f"{why} {SEALED}{seen}"


def named_reason(stored: Stored) -> str:
    """Why a message of one entry is republished."""
    what = "message" if stored.batch_size is None else f"batch of {counted(stored.batch_size, 'message', 'messages')}"
    return f"The {what} at {position_text(stored.position)} was named. {SEALED} {UNSEEN}"


def _republish_reason(one: PublicationFacts, cause: str, stall: StallFacts | None) -> str:
    what = f"The message is stored {'whole' if one.state == 'whole' else 'whole but out of order'}"
    if one.state not in COMPLETE:
        what = "Every chunk of the message is stored"
    if cause == "named":
        return f"{what}, and was named."
    if cause == "got_in_part" and stall is not None:
        who = f"subscription {stall.subscription!r}"
        return f"{what}, but {who} has acknowledged a part of it and will not get it any more."
    if one.losses:
        models = ", ".join(f"{loss.model} ({loss.outcome})" for loss in one.losses)
        return f"{what}, but clients do not deliver it: {models}."
    return f"{what}, but clients of some subscriptions cannot receive it as it is stored."


def republish_evidence(one: PublicationFacts, stall: StallFacts | None, stored: Stored | None) -> tuple[str, ...]:
    """Export, entries, models and subscription."""
    exported = one.exported
    facts = [f"uuid {one.chunk_uuid!r}: {one.state}, {one.num_chunks} chunks; {one.sureness}: {one.reason}"]
    if exported is not None and exported.verified:
        facts.append(f"exported and verified: {exported.payload_bytes or 0:,} bytes, sha256 {exported.payload_sha256}")
    if stored is not None:
        facts += stored_evidence(stored)
    facts += [f"{loss.model}: {loss.outcome}{': ' if loss.reason else ''}{loss.reason}" for loss in one.losses]
    if stall is not None:
        facts.append(f"subscription {stall.subscription!r}: {_what(stall)}")
    return tuple(facts)


def stored_evidence(stored: Stored) -> tuple[str, ...]:
    """What is published as it is stored."""
    entries = stored.as_stored.entries
    at = runs_text(runs_of(sorted(entry.position for entry in entries)))
    count, keys = counted(len(entries), "entry", "entries"), counted(stored.keys, "key", "keys")
    return (f"encrypted for {keys}: {count} at {at}, {stored.size_bytes:,} bytes; their checksums agree",)


def _what(stall: StallFacts) -> str:
    """What happened, of an advice that goes on to say what to do."""
    return f"{stall.advice.partition('. ')[0].rstrip('.')}."


def republish_affects(
    message: Message, stored: Stored | None, subscriptions: Sequence[str], to: str, *, has_schema: bool
) -> str:
    """Whom a republished message reaches besides.

    Args:
        message: what is published.
        stored: its entries, where they are published as they are.
        subscriptions: of its topic.
        to: where it goes, see `Choices.republish_to`.
        has_schema: whether it has a schema version, or may have one.
    """
    if to == "file":
        return "It reaches nobody: the plan only keeps it in a file."
    if to != "same":
        schema = " Its schema version has no meaning there and is left out." if has_schema else ""
        return f"It reaches every subscription of {to}, and none of the original topic.{schema}{_readers(stored)}"
    names = ", ".join(repr(name) for name in sorted(subscriptions)[:_NAMED])
    more = f" and {len(subscriptions) - _NAMED} more" if len(subscriptions) > _NAMED else ""
    whom = f"all of them get it: {names}{more}" if subscriptions else "which ones exist is unknown"
    again = "Subscriptions that had it already get it a second time."
    if message.was_encrypted and stored is None:
        again += " It was encrypted: apply asks for its readers' keys and encrypts it again for them."
    return f"It cannot be published to one subscription only; {whom}. {again}{_readers(stored)}"


def republish_undo(stored: Stored | None) -> str:
    """How it could be taken back."""
    return REPUBLISH_UNDO if stored is None or stored.batch_size is None else BATCH_UNDO


def _readers(stored: Stored | None) -> str:
    """Who can read what is published as it is stored."""
    if stored is None:
        return ""
    which = "the key" if stored.keys == 1 else f"one of the {stored.keys} keys"
    size = stored.batch_size
    batch = "" if size is None else f" It is a batch: {counted(size, 'message is', 'messages are')} republished."
    return f" Its readers need {which} that the original was encrypted for.{batch}"
