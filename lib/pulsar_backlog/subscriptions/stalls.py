"""A publication and what a subscription has acknowledged of it -> why it is stuck, and the one thing to do.

One function per rule. The rule above all others: nothing is acknowledged or skipped while any publication with its uuid
may still be arriving, or can be rebuilt and has not been exported; and what is lost must be lost for certain. And
nobody is told to wait for a message that some client does not deliver when it is opened again, as its model says.

A client is delivered a message when chunks 0 to n-1 come to it in this order; only what is not acknowledged comes.
A broker gives the chunks of a Shared subscription to the consumer that got chunk 0: without it nobody gets the others,
and everything behind them waits. Payloads or sizes that break a client block whatever comes after them.
Source: https://github.com/apache/pulsar/issues/26395 and the client code it links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulsar_backlog.subscriptions.advice import UNVERIFIABLE
from pulsar_backlog.subscriptions.stall_values import Action, ChunkSet, Copy, Stall, SubscriptionView
from pulsar_backlog.subscriptions.stall_words import advice_of
from pulsar_backlog.terms import DOUBT, SURPLUS, UNDELIVERABLE

_BREAKS_CLIENTS = UNVERIFIABLE - {"copies_differ"}
_LOST_BY_SOME = frozenset(
    {"repeated_prefix", "overlap", "mixed_with_another_publication", "corrupt_copy", "copies_differ", "size_fault"}
)
_LOST_BY_REUSE = frozenset({"uuid_reused"})
"""Clients may lose what has this flag; where the models were asked, they decide."""

CODES: dict[str, str | None] = {
    "shared_stall": "C25", "head_acked": "C23", "last_only": "C23", "copies_only": "C23", "mark_delete_inside": "C23",
    "split": "C23", "orphan_hole": "C24", "tail_block": "C27", "key_shared_risk": "C26", "whole_hole": "K07",
    "pending": None,
}  # fmt: skip
"""Code of each kind, the kind that says most first."""


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
    kinds = [kind for kind, rule in _RULES.items() if rule(chunks, done, unacked, subscription)]
    if ends_log and chunks.state in UNDELIVERABLE:
        kinds.append("tail_block")
    if not kinds:
        return None
    main = next(kind for kind in CODES if kind in kinds)
    completes = can_complete(chunks, unacked)
    blocks = blocks_dispatch(chunks, unacked, subscription)
    action = action_for(chunks, done, unacked, subscription, blocks)
    sureness, reason = _sureness(chunks, unacked, subscription, completes, blocks)
    heads = [copy.position for copy in chunks.copies if copy.chunk_id == 0]
    return Stall(
        chunk_uuid=chunks.chunk_uuid,
        publish_time_ms=chunks.publish_time_ms,
        code=CODES[main],
        kind=main,
        also=tuple(sorted(kind for kind in kinds if kind != main)),
        state=chunks.state,
        unacked=unacked,
        acked_entries=len(done),
        acked_chunk_zero=bool(heads) and not any(copy.chunk_id == 0 for copy in unacked),
        can_complete=completes,
        rebuildable=chunks.rebuildable,
        blocks_dispatch=blocks,
        action=action,
        first_chunk=heads[0] if heads else None,
        last=chunks.copies[-1].position,
        sureness=sureness,
        reason=reason,
        advice=advice_of(chunks, main, action, len(unacked), blocks=blocks, sureness=sureness),
    )


Rule = Callable[[ChunkSet, Sequence[Copy], Sequence[Copy], SubscriptionView], bool]


def is_head_acked(chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], _: SubscriptionView) -> bool:
    """C23: every stored chunk 0 is acknowledged, and a later chunk that the message needs is not."""
    return (
        any(copy.chunk_id == 0 for copy in done)
        and all(copy.chunk_id != 0 for copy in unacked)
        and not is_copies_only(chunks, done, unacked, _)
    )


def is_last_only(chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], _: SubscriptionView) -> bool:
    """C23: of all chunks only the last is acknowledged, as clients did that knew only its id."""
    last = chunks.num_chunks - 1
    return (
        bool(done) and last > 0 and all(c.chunk_id == last for c in done) and any(c.chunk_id != last for c in unacked)
    )


def is_copies_only(_chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], _: SubscriptionView) -> bool:
    """C23: of each chunk a copy is acknowledged, and only surplus copies are not."""
    ids = {copy.chunk_id for copy in done}
    return bool(done) and all(copy.role in SURPLUS and copy.chunk_id in ids for copy in unacked)


def is_mark_delete_inside(
    chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], subscription: SubscriptionView
) -> bool:
    """C23: mark-delete lies between the first and the last copy."""
    return chunks.copies[0].position <= subscription.mark_delete < chunks.copies[-1].position and bool(done and unacked)


def is_split(_chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], _: SubscriptionView) -> bool:
    """C23: some entries are acknowledged and some are not."""
    return bool(done) and bool(unacked)


def is_orphan_hole(chunks: ChunkSet, _done: Sequence[Copy], unacked: Sequence[Copy], _: SubscriptionView) -> bool:
    """C24: unacknowledged entries of a message that no client can be delivered, or that belong to none."""
    if chunks.state in UNDELIVERABLE or chunks.state == "out_of_order":
        return True
    return chunks.state == "whole" and all(copy.role in ("residue", "orphan") for copy in unacked)


def is_whole_hole(
    chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], subscription: SubscriptionView
) -> bool:
    """K07: a whole message, nothing of it acknowledged, was passed over: something after it is, or it was reached."""
    if chunks.state != "whole" or done:
        return False
    passed = subscription.highest_acked > unacked[-1].position
    some_lose_it = _is_fragile(chunks) or not comes_again(chunks)
    return passed or (some_lose_it and _was_reached(unacked, subscription))


def is_shared_stall(
    chunks: ChunkSet, _done: Sequence[Copy], unacked: Sequence[Copy], subscription: SubscriptionView
) -> bool:
    """C25: on a Shared subscription a chunk waits whose chunk 0 does not come before it."""
    return subscription.type == "Shared" and chunks.state != "in_flight" and _lacks_head(unacked)


def is_key_shared_risk(
    chunks: ChunkSet, _done: Sequence[Copy], _unacked: Sequence[Copy], subscription: SubscriptionView
) -> bool:
    """C26: brokers do not keep the chunks of a message together on a Key_Shared subscription."""
    return subscription.type == "Key_Shared" and chunks.num_chunks > 1


def is_pending(chunks: ChunkSet, _done: Sequence[Copy], _unacked: Sequence[Copy], _: SubscriptionView) -> bool:
    """Nothing is wrong yet: it may still be arriving."""
    return chunks.state == "in_flight"


_RULES: dict[str, Rule] = {
    "shared_stall": is_shared_stall,
    "head_acked": is_head_acked,
    "last_only": is_last_only,
    "copies_only": is_copies_only,
    "mark_delete_inside": is_mark_delete_inside,
    "split": is_split,
    "orphan_hole": is_orphan_hole,
    "key_shared_risk": is_key_shared_risk,
    "whole_hole": is_whole_hole,
    "pending": is_pending,
}


def can_complete(chunks: ChunkSet, copies: Sequence[Copy]) -> bool:
    """Whether a client that is given these copies in order can be delivered the message."""
    if chunks.state == "in_flight":
        return True
    return "decode_fault" not in chunks.flags and _ascends(copies, chunks.num_chunks)


def blocks_dispatch(chunks: ChunkSet, unacked: Sequence[Copy], subscription: SubscriptionView) -> bool:
    """Whether it keeps what follows from being delivered.

    Two things must come together: chunks that can block (of a Shared subscription without their head, of any where they
    break the client), and a cursor that shows it: it got to them, and nothing after them is acknowledged.
    """
    can_block = bool(chunks.flags & _BREAKS_CLIENTS) or chunks.state == "malformed"
    if subscription.type in ("Shared", None) and chunks.state != "in_flight":
        can_block = can_block or _lacks_head(unacked)
    return can_block and _was_reached(unacked, subscription) and subscription.highest_acked < unacked[-1].position


def action_for(
    chunks: ChunkSet, done: Sequence[Copy], unacked: Sequence[Copy], subscription: SubscriptionView, blocks: bool
) -> Action:
    """The one thing to do. `acknowledge` and `skip` come last, when nothing speaks against them."""
    if chunks.family_in_flight or chunks.state == "in_flight":
        return "wait"
    sturdy = not _is_fragile(chunks)
    if can_complete(chunks, unacked) and not blocks and sturdy and comes_again(chunks):
        return "wait"
    resets = chunks.rebuildable and sturdy and _comes_after_reset(chunks)
    if resets and _reset_costs_nothing(chunks, done, subscription):
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


def comes_again(chunks: ChunkSet) -> bool:
    """Whether every client delivers it when consumers are opened again, as far as the models were asked."""
    if chunks.reopened is None:
        return not chunks.flags & _LOST_BY_REUSE
    return not chunks.reopened.losses


def _comes_after_reset(chunks: ChunkSet) -> bool:
    """The same when the cursor goes back to its first chunk."""
    if chunks.reopened is None:
        return not chunks.flags & _LOST_BY_REUSE
    return chunks.reopened.after_reset == ()


def _is_fragile(chunks: ChunkSet) -> bool:
    """Whether its flags say that some release loses it, or breaks on it."""
    return bool(chunks.flags & (_BREAKS_CLIENTS | _LOST_BY_SOME))


def _reset_costs_nothing(chunks: ChunkSet, done: Sequence[Copy], subscription: SubscriptionView) -> bool:
    """Whether going back to chunk 0 gets this message delivered and repeats no other acknowledged entry."""
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


def _lacks_head(unacked: Sequence[Copy]) -> bool:
    """Whether the first of them is not a chunk 0, so that no consumer holds the message."""
    return unacked[0].chunk_id != 0


def _was_read(unacked: Sequence[Copy], subscription: SubscriptionView) -> bool:
    """Whether the broker has read up to the first of them and on; False when nothing says."""
    return subscription.read_position is not None and subscription.read_position > unacked[0].position


def _was_reached(unacked: Sequence[Copy], subscription: SubscriptionView) -> bool:
    """Whether the subscription read them, or stands right before them: without consumers it forgets what it read."""
    ledger_id, entry_id = unacked[0].position
    return _was_read(unacked, subscription) or subscription.mark_delete == (ledger_id, entry_id - 1)


def _sureness(
    chunks: ChunkSet, unacked: Sequence[Copy], subscription: SubscriptionView, completes: bool, blocks: bool
) -> tuple[str, str]:
    doubts = [(chunks.sureness, chunks.reason)]
    if subscription.sureness != "certain":
        doubts.append((subscription.sureness, subscription.reason))
    if subscription.type is None:
        doubts.append(("likely", "no saved stats name the subscription's type"))
    if chunks.state == "malformed":
        doubts.append(("cannot_tell", "what clients make of chunk fields that make no sense cannot be told"))
    if blocks and not _was_read(unacked, subscription):
        doubts.append(("cannot_tell", "the subscription stands before it, and nothing says whether it was read"))
    if completes or blocks:
        doubts.append(("likely", "it depends on the client and its settings"))
    if completes and chunks.reopened:
        doubts += [("likely", f"{loss.model}: {loss.reason or loss.outcome}") for loss in chunks.reopened.losses]
    worst = max((sureness for sureness, _ in doubts), key=DOUBT.__getitem__)
    return worst, "; ".join(dict.fromkeys(reason for _, reason in doubts if reason))
