"""Stalls in words: what happened and what to do, for someone tired and worried."""

from __future__ import annotations

_WHAT = {
    "shared_stall": "Chunks wait without their first one before them: no consumer of a Shared subscription gets them",
    "head_acked": "The first chunk is acknowledged and later ones are not: no client gets this message any more",
    "last_only": "Only the last chunk is acknowledged: the client knew no other id",
    "copies_only": "The message is acknowledged, surplus copies of its chunks are not",
    "mark_delete_inside": "The mark-delete position lies inside the message",
    "split": "A part of the message is acknowledged and a part is not",
    "orphan_hole": "No client can be delivered these chunks",
    "tail_block": "The log ends on a chunk that will never be delivered: readers that wait for the last message hang",
    "key_shared_risk": "Brokers do not keep chunks together on a Key_Shared subscription",
    "whole_hole": "The message is stored whole, nothing of it is acknowledged, and the subscription went on",
    "pending": "The message may still be arriving",
    "compaction_truncation": "The compacted topic keeps only the last chunk of this message",
}
_DO = {
    "wait": "Wait and acknowledge nothing of it.",
    "export_then_acknowledge": "Export it, verify the export, then acknowledge its entries.",
    "acknowledge": "It is lost for certain: acknowledge its entries.",
    "skip": "It is lost for certain and blocks what follows: skip its entries.",
    "reset_to_first_chunk": "Reset the cursor to its first chunk; nothing else is delivered twice.",
    "none": "Nothing need be done now.",
}
_BLOCKED_AND_UNSURE = (
    "Whether it is lost is not certain: settle what the reason names (a later snapshot, the missing ledgers), then "
    "audit again; until then acknowledge nothing of it."
)


def advice_of(kind: str, action: str, entries: int, blocks: bool) -> str:
    """What happened and what to do."""
    left = f" ({entries:,} {'entry' if entries == 1 else 'entries'} unacknowledged)"
    blocked = "; nothing behind it is delivered" if blocks else ""
    remedy = _BLOCKED_AND_UNSURE if blocks and action == "wait" else _DO[action]
    return f"{_WHAT[kind]}{left}{blocked}. {remedy}"
