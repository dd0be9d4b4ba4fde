"""The kinds of stalls, in order of priority: a kind's code, words, rule and remedy are declared here and nowhere else.

A rule looks at one publication and at what one subscription has acknowledged of it. The kind of a stall is the first in
`KINDS` whose rule holds; the others that hold are its `also`.

A client is delivered a message when chunks 0 to n-1 come to it in this order; only what is not acknowledged comes.
A broker gives the chunks of a Shared subscription to the consumer that got chunk 0: without it nobody gets the others,
and everything behind them waits. Payloads or sizes that break a client block whatever comes after them.
Source: https://github.com/apache/pulsar/issues/26395 and the client code it links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pulsar_backlog.subscriptions.advice import UNVERIFIABLE
from pulsar_backlog.subscriptions.stall_values import Action, ChunkSet, Copy, SubscriptionView
from pulsar_backlog.terms import SURPLUS, UNDELIVERABLE

BREAKS_CLIENTS = UNVERIFIABLE - {"copies_differ"}
"""Flags of messages whose payload or sizes break some client."""
_LOST_BY_SOME = frozenset(
    {"repeated_prefix", "overlap", "mixed_with_another_publication", "corrupt_copy", "copies_differ", "size_fault"}
)
_LOST_BY_REUSE = frozenset({"uuid_reused"})
"""Clients may lose what has this flag; where the models were asked, they decide."""


@dataclass(frozen=True)
class SetAcks:
    """A publication, and what a subscription has acknowledged of it.

    Attributes:
        acked: its copies that are acknowledged.
        unacked: those that are not; at least one.
        ends_log: whether the last entry of the partition is one of its copies.
    """

    chunks: ChunkSet
    acked: tuple[Copy, ...]
    unacked: tuple[Copy, ...]
    subscription: SubscriptionView
    ends_log: bool = False

    @property
    def lacks_head(self) -> bool:
        """Whether the first copy still to come is not a chunk 0, so that no consumer holds the message."""
        return self.unacked[0].chunk_id != 0

    @property
    def was_read(self) -> bool:
        """Whether the broker has read up to the first of them and on; False when nothing says."""
        read = self.subscription.read_position
        return read is not None and read > self.unacked[0].position

    @property
    def was_reached(self) -> bool:
        """Whether the subscription read them, or stands right before them: without consumers it forgets its reads."""
        ledger_id, entry_id = self.unacked[0].position
        return self.was_read or self.subscription.mark_delete == (ledger_id, entry_id - 1)


Rule = Callable[[SetAcks], bool]


@dataclass(frozen=True)
class StallKind:
    """One way in which a publication is stuck on a subscription.

    Attributes:
        name: as in the columns `kind` and `also` of `stalls`.
        code: of its finding; None when it is none.
        what: what happened, the beginning of a sentence.
        rule: when it holds; None where the table is made of something else than acknowledgements.
        remedy: what is to be done whatever the subscription; None where `stalls.action_for` decides.
    """

    name: str
    code: str | None
    what: str
    rule: Rule | None
    remedy: Action | None = None


def is_shared_stall(one: SetAcks) -> bool:
    """On a Shared subscription a chunk waits whose chunk 0 does not come before it."""
    return one.subscription.type == "Shared" and one.chunks.state != "in_flight" and one.lacks_head


def is_head_acked(one: SetAcks) -> bool:
    """Every stored chunk 0 is acknowledged, and a later chunk that the message needs is not."""
    return (
        any(copy.chunk_id == 0 for copy in one.acked)
        and all(copy.chunk_id != 0 for copy in one.unacked)
        and not is_copies_only(one)
    )


def is_last_only(one: SetAcks) -> bool:
    """Of all chunks only the last is acknowledged, as clients did that knew only its id."""
    last = one.chunks.num_chunks - 1
    return (
        bool(one.acked)
        and last > 0
        and all(copy.chunk_id == last for copy in one.acked)
        and any(copy.chunk_id != last for copy in one.unacked)
    )


def is_copies_only(one: SetAcks) -> bool:
    """Of each chunk a copy is acknowledged, and only surplus copies are not."""
    ids = {copy.chunk_id for copy in one.acked}
    return bool(one.acked) and all(copy.role in SURPLUS and copy.chunk_id in ids for copy in one.unacked)


def is_mark_delete_inside(one: SetAcks) -> bool:
    """Mark-delete lies between the first and the last copy."""
    first, last = one.chunks.copies[0].position, one.chunks.copies[-1].position
    return first <= one.subscription.mark_delete < last and is_split(one)


def is_split(one: SetAcks) -> bool:
    """Some entries are acknowledged and some are not."""
    return bool(one.acked) and bool(one.unacked)


def is_orphan_hole(one: SetAcks) -> bool:
    """Unacknowledged entries of a message that no client can be delivered, or that belong to none."""
    state = one.chunks.state
    if state in UNDELIVERABLE or state == "out_of_order":
        return True
    return state == "whole" and all(copy.role in ("residue", "orphan") for copy in one.unacked)


def is_tail_block(one: SetAcks) -> bool:
    """The log ends on a copy of a message that no client can be delivered."""
    return one.ends_log and one.chunks.state in UNDELIVERABLE


def is_key_shared_risk(one: SetAcks) -> bool:
    """Brokers do not keep the chunks of a message together on a Key_Shared subscription."""
    return one.subscription.type == "Key_Shared" and one.chunks.num_chunks > 1


def is_delayed(one: SetAcks) -> bool:
    """A whole message, nothing of it acknowledged, whose time had not come; only these types wait for it."""
    chunks = one.chunks
    is_late = chunks.deliver_at_ms is not None and one.subscription.type in ("Shared", "Key_Shared")
    return is_late and chunks.state == "whole" and not one.acked


def is_whole_hole(one: SetAcks) -> bool:
    """A whole message, nothing of it acknowledged, was passed over: something after it is, or it was reached."""
    if one.chunks.state != "whole" or one.acked:
        return False
    passed = one.subscription.highest_acked > one.unacked[-1].position and not is_delayed(one)
    some_lose_it = is_fragile(one.chunks) or not comes_again(one.chunks)
    return passed or (some_lose_it and one.was_reached)


def is_pending(one: SetAcks) -> bool:
    """Nothing is wrong yet: it may still be arriving."""
    return one.chunks.state == "in_flight"


MARK_DELETE_INSIDE = StallKind(
    "mark_delete_inside", "C23", "The mark-delete position lies inside the message", is_mark_delete_inside
)
COMPACTION_TRUNCATION = StallKind(
    "compaction_truncation", "C28", "The compacted topic keeps only the last chunk of this message", None, "none"
)
"""Made by `conf/subscriptions/compacted.sql`: a topic's compaction acknowledges nothing."""

LAST_ONLY = StallKind(
    "last_only", "C23", "Only the last chunk is acknowledged: the client knew no other chunk's id", is_last_only
)
"""Also what is left of a message that Java 4.2 rejected into a dead-letter topic."""

_IN_ORDER = (
    StallKind(
        "shared_stall",
        "C25",
        "Chunks wait without their first chunk before them: no consumer of a Shared subscription gets them",
        is_shared_stall,
    ),
    StallKind(
        "head_acked",
        "C23",
        "The first chunk is acknowledged and later chunks are not: no client gets this message any more",
        is_head_acked,
    ),
    LAST_ONLY,
    StallKind(
        "copies_only",
        "C23",
        "The message is acknowledged, but surplus copies of its chunks are not",
        is_copies_only,
    ),
    MARK_DELETE_INSIDE,
    StallKind("split", "C23", "Only a part of the message is acknowledged", is_split),
    StallKind("orphan_hole", "C24", "No client can receive these chunks", is_orphan_hole),
    StallKind(
        "tail_block",
        "C27",
        "The log ends on a chunk that no client will receive: readers that wait for the last message hang",
        is_tail_block,
    ),
    StallKind(
        "key_shared_risk",
        "C26",
        "Brokers do not keep chunks together on a Key_Shared subscription",
        is_key_shared_risk,
    ),
    StallKind("delayed", None, "The message is to be delivered later", is_delayed),
    StallKind(
        "whole_hole",
        "K07",
        "The message is stored whole; the subscription reached it and has acknowledged nothing of it",
        is_whole_hole,
    ),
    StallKind("pending", None, "The message may still be arriving", is_pending),
    COMPACTION_TRUNCATION,
)

KINDS: dict[str, StallKind] = {kind.name: kind for kind in _IN_ORDER}
"""By name, the kind that says most first."""

CODES: dict[str, str] = {kind.name: kind.code for kind in _IN_ORDER if kind.code}
"""Code of the finding that a kind belongs to, of the kinds that have one."""


def kinds_of(one: SetAcks) -> list[StallKind]:
    """The kinds that hold, the one that says most first."""
    return [kind for kind in _IN_ORDER if kind.rule is not None and kind.rule(one)]


def comes_again(chunks: ChunkSet) -> bool:
    """Whether every client delivers it when consumers are opened again, as far as the models were asked."""
    if chunks.reopened is None:
        return not chunks.flags & _LOST_BY_REUSE
    return not chunks.reopened.losses


def comes_after_reset(chunks: ChunkSet) -> bool:
    """The same when the cursor goes back to its first chunk."""
    if chunks.reopened is None:
        return not chunks.flags & _LOST_BY_REUSE
    return chunks.reopened.after_reset == ()


def is_fragile(chunks: ChunkSet) -> bool:
    """Whether its flags say that some release loses it, or breaks on it."""
    return bool(chunks.flags & (BREAKS_CLIENTS | _LOST_BY_SOME))
