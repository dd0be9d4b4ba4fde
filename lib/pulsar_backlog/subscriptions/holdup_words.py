"""The kinds of holdups: code, remedy and words of each. `holdups.holdups` says when they hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HoldupKind:
    """One reason why a subscription does not drain.

    Attributes:
        name: as in the column `holdups` of `subscriptions`.
        code: of its finding; None when it is none.
        remedy: one word for what to do.
        advice: what it means and what to do; `{who}` is a consumer or a topic.
    """

    name: str
    code: str | None
    remedy: str
    advice: str


_IN_ORDER = (
    HoldupKind("statistics_wrong", None, "look",
        "The statistics contradict themselves, as they do after a reset of the cursor: unload the topic, and save them "
        "again."),
    HoldupKind("compaction", None, "compact",
        "Nobody connects to the broker's own subscription of compaction: it goes on when the topic is compacted, by "
        "hand or at its threshold. Do not delete it while anybody reads the compacted topic."),
    HoldupKind("no_consumers", None, "connect",
        "Nobody is connected: connect a consumer, or delete the subscription if nobody needs it."),
    HoldupKind("replicated_behind", None, "wait",
        "The subscription is replicated and nobody reads it here: it follows the other cluster, some time behind."),
    HoldupKind("unacked_limit", None, "receive",
        "The limit of unacknowledged messages is reached: nothing is sent before consumers acknowledge."),
    HoldupKind("pinned_to_dead", "C46", "unload",
        "They are chunks of messages that are pinned to a consumer that has gone: no other consumer gets them, and a "
        "rolling restart frees nothing. Unload the topic, or let all consumers leave and come back."),
    HoldupKind("headless_chunk", "C46", "acknowledge",
        "A chunk without its first blocks what is stored after it: acknowledge it by a repair plan. An unload, or all "
        "consumers leaving and coming back, delivers what is whole so far; do not rely on a rolling restart."),
    HoldupKind("small_queue_stall", "C46", "unload",
        "A broker 4.0 counts the wrong consumer's permits: with receiver queues below 10, several healthy consumers "
        "stall for good. Unload the topic, then set the queues to 10 or more; no run of 4.2 stalled so."),
    HoldupKind("last_chunk_only", "C46", "unload",
        "A last chunk waits that belongs to nobody: Java 4.0 and Python ask for the last chunk only after a negative "
        "acknowledgement (Python also after an ack timeout). It comes again when its consumer leaves, or after an "
        "unload; use Java 4.2 or Go, or with Java an ack timeout instead."),
    HoldupKind("cursor_inside", "C50", "reset",
        "A skip, an expiry (TTL), a backlog quota that evicts, or a subscription that begins there put the cursor "
        "inside a message: no client gets it, and on a Shared subscription its rest blocks what is stored after it. A "
        "repair plan resets the cursor to its first chunk where it is whole and nothing after it is acknowledged."),
    HoldupKind("open_transaction", None, "end_transaction",
        "A broker sends nothing from the first entry of an open transaction on, to nobody: have its application commit "
        "or abort it, or wait until it times out. Consumers, resets and acknowledgements do not help before. Its end "
        "may be stored where this audit did not look."),
    HoldupKind("draining_hashes", "C47", "let_leave",
        "A consumer joined while {who} held unfinished messages: their hashes drain until it acknowledges them, and "
        "with chunks still to come that is never. Let it leave: the others then get all whole. Its own expiry of "
        "incomplete messages would acknowledge the halves, which loses them."),
    HoldupKind("join_would_block", None, "add_nobody",
        "Nothing drains yet, but do not add a consumer now: keys whose messages are under way would go to it, and "
        "neither consumer would get on until the one that holds their beginnings leaves or gets their ends."),
    HoldupKind("leaked_permits", "C48", "larger_queue",
        "Java and Go keep the permit of a last chunk that they drop: so many of them, and nothing is sent any more. "
        "Restart the consumers with a larger receiver queue, and acknowledge the incomplete messages by a plan."),
    HoldupKind("no_permits", None, "receive",
        "The consumers' queues are full: their applications do not receive, or wait for what they hold."),
    HoldupKind("with_consumers", None, "receive",
        "Consumers have what is left and have not acknowledged it: it is being worked on, was forgotten by its "
        "application, was dropped by its client, or is the beginning of a message whose end is not stored yet."),
    HoldupKind("delayed", None, "wait", "They are to be delivered later; the view delayed_backlogs says until when."),
    HoldupKind("dead_letters_left", "C49", "verify_copy",
        "Java 4.2 acknowledges only the last chunk of a message that it rejects into {who}: the others stay here. "
        "Acknowledge them only when the copy there is found whole. With an ack timeout instead of negative "
        "acknowledgements they do not stay."),
)  # fmt: skip

HOLDUP_KINDS: dict[str, HoldupKind] = {kind.name: kind for kind in _IN_ORDER}
"""By name, in the order in which they are told."""
