"""Stalls in words: what happened and what to do, for someone tired and worried."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.chunks.clients.reopened import DEATHS, Stop
from pulsar_backlog.counting import counted
from pulsar_backlog.subscriptions.advice import UNVERIFIABLE
from pulsar_backlog.subscriptions.stall_kinds import COMPACTION_TRUNCATION, KINDS
from pulsar_backlog.subscriptions.stall_values import ChunkSet
from pulsar_backlog.terms import INCOMPLETE, position_text
from pulsar_backlog.wire.rows import as_time

_DO = {
    "wait": "Wait, and do not acknowledge any of its entries.",
    "acknowledge": "The rest of the message is not stored and will not come: acknowledge its entries.",
    "skip": "The rest of the message is not stored and will not come: skip its entries.",
    "reset_to_first_chunk": "Reset the cursor to its first chunk; the broker redelivers no other message.",
    "none": "Nothing to do now.",
}
_EXPORT = "Export it, verify the export, then acknowledge its entries."
_EXPORT_ANOTHER = (
    "This message cannot be rebuilt, but another send under its uuid can: export that one, verify the export, then "
    "acknowledge these entries."
)
_KEEP = "No export can verify it: keep the objects that hold its entries, then give it up (repair plan --give-up)."
_UNSURE = (
    "It is not certain that the message is lost: settle what the reason names (a later snapshot, the missing ledgers), "
    "then audit again; until then do not acknowledge any of its entries."
)
_UNSURE_AND_FREE = (
    "Wait, and do not acknowledge any of its entries: it is not certain that the message is lost. Settle what the "
    "reason names (a later snapshot, the missing ledgers), then audit again."
)
_EXPORT_MEANWHILE = (
    "Another send under its uuid may still be arriving: export this one, and do not acknowledge entries of either yet."
)
_BEHIND = {
    "certain": "; nothing behind it is delivered",
    "likely": "; most likely nothing behind it is delivered",
    "cannot_tell": "; perhaps nothing behind it is delivered",
}


def advice_of(chunks: ChunkSet, kind: str, action: str, entries: int, *, blocks: bool, sureness: str) -> str:
    """What happened and what to do.

    Args:
        chunks: the publication, as the subscription would get it.
        kind: of the stall.
        action: the one thing to do.
        entries: how many of its copies are not acknowledged.
        blocks: whether it keeps what follows from being delivered.
        sureness: how sure the stall is.
    """
    rest = f"{_when(chunks, kind)} ({counted(entries, 'entry')} unacknowledged)"
    lost = _lost_by(chunks) if action in ("export_then_acknowledge", "wait") else ""
    blocked = _BEHIND[sureness] if blocks else ""
    return f"{KINDS[kind].what}{rest}{lost}{blocked}. {_remedy(chunks, action, blocks=blocks)}"


def _when(chunks: ChunkSet, kind: str) -> str:
    """Until when a message is delayed."""
    if kind != "delayed" or chunks.deliver_at_ms is None:
        return ""
    until = as_time(chunks.deliver_at_ms)
    return "" if until is None else f": delayed until {until:%Y-%m-%d %H:%M:%S} UTC"


def compaction_advice() -> str:
    """What happened to a message of which compaction kept the last chunk."""
    return f"{COMPACTION_TRUNCATION.what}. {_DO[COMPACTION_TRUNCATION.remedy or 'none']}"


def _remedy(chunks: ChunkSet, action: str, *, blocks: bool) -> str:
    if action == "export_then_acknowledge":
        if chunks.flags & UNVERIFIABLE or chunks.state == "malformed":
            return _KEEP
        if chunks.rebuildable:
            return _EXPORT
        return _KEEP if chunks.state in ("whole", "out_of_order") or not chunks.family_rebuildable else _EXPORT_ANOTHER
    if action != "wait":
        return _DO[action]
    if chunks.state == "malformed" and not chunks.family_in_flight:
        return _KEEP
    if blocks:
        return _UNSURE
    if chunks.state in INCOMPLETE and not chunks.family_in_flight:
        return _UNSURE_AND_FREE
    return _EXPORT_MEANWHILE if _lost_by(chunks) else f"{_DO[action]}{_stopped(chunks)}"


def _lost_by(chunks: ChunkSet) -> str:
    losses = chunks.reopened.losses if chunks.reopened else ()
    if not losses:
        return ""
    verb = "does" if len(losses) == 1 else "do"
    return f"; {_names([loss.model for loss in losses])} {verb} not deliver it as sent, not even when opened again"


def _stopped(chunks: ChunkSet) -> str:
    """What keeps clients from getting to a message that they would deliver."""
    stops: Sequence[Stop] = chunks.reopened.stops if chunks.reopened else ()
    return "".join(
        f" {stop.model} {'crashes' if stop.damage in DEATHS else 'does not get past the entry'} at "
        f"{position_text(stop.position)}: repair that first."
        for stop in stops
    )


def _names(models: Sequence[str]) -> str:
    return models[0] if len(models) == 1 else f"{', '.join(models[:-1])} and {models[-1]}"
