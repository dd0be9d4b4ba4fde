"""A publication and what a subscription has acknowledged of it -> why it is stuck, and the one thing to do.

The kinds and their rules: `stall_kinds`. The rule above all others: nothing is acknowledged or skipped while any
publication with its uuid may still be arriving, or can be rebuilt and has not been exported; and what is lost must be
lost for certain. And nobody is told to wait for a message that some client does not deliver when it is opened again, as
its model says.
"""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.subscriptions.stall_kinds import (
    BREAKS_CLIENTS,
    SetAcks,
    comes_after_reset,
    comes_again,
    is_fragile,
    kinds_of,
)
from pulsar_backlog.subscriptions.stall_values import Action, ChunkSet, Copy, Stall, SubscriptionView
from pulsar_backlog.subscriptions.stall_words import advice_of
from pulsar_backlog.terms import DOUBT


def judge(
    chunks: ChunkSet, acked: Sequence[bool], subscription: SubscriptionView, ends_log: bool = False
) -> Stall | None:
    """What becomes of a publication on a subscription; None when there is nothing to say.

    There is nothing to say when all of it is acknowledged, and when it is whole and simply not delivered yet.

    Args:
        chunks: the publication.
        acked: for each of its copies whether it is acknowledged.
        subscription: the subscription.
        ends_log: whether the last entry of the partition is one of its copies.
    """
    unacked = tuple(copy for copy, done in zip(chunks.copies, acked, strict=True) if not done)
    if not unacked:
        return None
    done = tuple(copy for copy, is_done in zip(chunks.copies, acked, strict=True) if is_done)
    one = SetAcks(chunks, done, unacked, subscription, ends_log)
    kinds = kinds_of(one)
    return _stall(one, kinds[0].name, kinds[0].code, [kind.name for kind in kinds[1:]]) if kinds else None


def _stall(one: SetAcks, kind: str, code: str | None, also: Sequence[str]) -> Stall:
    chunks = one.chunks
    completes = can_complete(chunks, one.unacked)
    blocks = blocks_dispatch(one)
    action = action_for(one, blocks)
    sureness, reason = _sureness(one, completes, blocks)
    heads = [copy.position for copy in chunks.copies if copy.chunk_id == 0]
    return Stall(
        chunk_uuid=chunks.chunk_uuid,
        publish_time_ms=chunks.publish_time_ms,
        code=code,
        kind=kind,
        also=tuple(sorted(also)),
        state=chunks.state,
        unacked=one.unacked,
        acked_entries=len(one.acked),
        acked_chunk_zero=bool(heads) and not any(copy.chunk_id == 0 for copy in one.unacked),
        can_complete=completes,
        rebuildable=chunks.rebuildable,
        blocks_dispatch=blocks,
        action=action,
        first_chunk=heads[0] if heads else None,
        last=chunks.copies[-1].position,
        sureness=sureness,
        reason=reason,
        advice=advice_of(chunks, kind, action, len(one.unacked), blocks=blocks, sureness=sureness),
    )


def can_complete(chunks: ChunkSet, copies: Sequence[Copy]) -> bool:
    """Whether a client that is given these copies in order can be delivered the message."""
    if chunks.state == "in_flight":
        return True
    return "decode_fault" not in chunks.flags and _ascends(copies, chunks.num_chunks)


def blocks_dispatch(one: SetAcks) -> bool:
    """Whether it keeps what follows from being delivered.

    Two things must come together: chunks that can block (of a Shared subscription without their head, of any where they
    break the client), and a cursor that shows it: it got to them, and nothing after them is acknowledged.
    """
    chunks, subscription = one.chunks, one.subscription
    can_block = bool(chunks.flags & BREAKS_CLIENTS) or chunks.state == "malformed"
    if subscription.type in ("Shared", None) and chunks.state != "in_flight":
        can_block = can_block or one.lacks_head
    return can_block and one.was_reached and subscription.highest_acked < one.unacked[-1].position


def action_for(one: SetAcks, blocks: bool) -> Action:
    """The one thing to do. `acknowledge` and `skip` come last, when nothing speaks against them."""
    chunks = one.chunks
    if chunks.family_in_flight or chunks.state == "in_flight":
        return "wait"
    sturdy = not is_fragile(chunks)
    if can_complete(chunks, one.unacked) and not blocks and sturdy and comes_again(chunks):
        return "wait"
    resets = chunks.rebuildable and sturdy and comes_after_reset(chunks)
    if resets and _reset_costs_nothing(one):
        return "reset_to_first_chunk"
    # Of what rests on a damaged copy an export gives nothing, whatever it gives of its uuid: the copy may be a part of
    # another message, and its payload may be salvaged.
    damaged = "corrupt_copy" in chunks.flags and chunks.sureness != "certain"
    exported = chunks.family_rebuildable or chunks.state in ("whole", "out_of_order")
    if chunks.rebuildable or (exported and not damaged):
        return "export_then_acknowledge"
    # Of chunks that make no sense clients deliver some: whole messages, or each as a message.
    if chunks.sureness != "certain" or chunks.state == "malformed":
        return "wait"
    return "skip" if blocks else "acknowledge"


def _reset_costs_nothing(one: SetAcks) -> bool:
    """Whether going back to chunk 0 gets this message delivered and repeats no other acknowledged entry."""
    chunks, done, subscription = one.chunks, one.acked, one.subscription
    first, mark = chunks.copies[0].position, subscription.mark_delete
    inside = bool(done) and first <= mark < chunks.copies[-1].position
    own = {copy.position for copy in done}
    nothing_later = subscription.last_acked is None or subscription.last_acked in own
    # Up to mark-delete all is acknowledged: other messages that lie between its chunks too.
    alone = first[0] == mark[0] and mark[1] - first[1] + 1 == sum(place <= mark for place in own)
    return inside and nothing_later and alone and chunks.state == "whole" and _ascends(chunks.copies, chunks.num_chunks)


def _ascends(copies: Sequence[Copy], count: int) -> bool:
    """Whether ids 0 to count-1 can be picked in this order."""
    wanted = 0
    for copy in copies:
        wanted += copy.chunk_id == wanted
    return count > 0 and wanted >= count


def _sureness(one: SetAcks, completes: bool, blocks: bool) -> tuple[str, str]:
    chunks, subscription = one.chunks, one.subscription
    doubts = [(chunks.sureness, chunks.reason)]
    if subscription.sureness != "certain":
        doubts.append((subscription.sureness, subscription.reason))
    if subscription.type is None:
        doubts.append(("likely", "no saved stats name the subscription's type"))
    if chunks.state == "malformed":
        doubts.append(("cannot_tell", "what clients make of chunk fields that make no sense cannot be told"))
    if blocks and not one.was_read:
        doubts.append(("cannot_tell", "the subscription stands before it, and nothing says whether it was read"))
    if completes or blocks:
        doubts.append(("likely", "it depends on the client and its settings"))
    if completes and chunks.reopened:
        doubts += [("likely", f"{loss.model}: {loss.reason or loss.outcome}") for loss in chunks.reopened.losses]
    worst = max((sureness for sureness, _ in doubts), key=DOUBT.__getitem__)
    return worst, "; ".join(dict.fromkeys(reason for _, reason in doubts if reason))
