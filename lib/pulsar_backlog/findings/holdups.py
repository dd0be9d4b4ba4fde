"""`C46` to `C50`, and `C55`: why subscriptions do not drain, as their statistics and the log say; kinds: subscriptions/holdup_words.py."""

from pulsar_backlog.findings.kinds import PULSAR, FindingKind

SQL_HOLDUPS = 'pulsar-backlog sql OUT "SELECT * FROM held_up_subscriptions"'

KINDS = (
    FindingKind(
        "C46",
        "chunks_with_nobody",
        "warning",
        "Chunks wait that no connected consumer of a Shared subscription gets, and what is stored after them may wait too.",
        "A consumer left in mid-message and its messages stay pinned to it; a chunk without its first; a client that asks for the last chunk only; small receiver queues on a broker 4.0.",
        "Save the statistics again to be sure, then do what the message says; a rolling restart frees nothing.",
        SQL_HOLDUPS,
        f"{PULSAR}/issues/26395",
    ),
    FindingKind(
        "C47",
        "draining_hashes",
        "warning",
        "A consumer that joined a Key_Shared subscription waits for keys whose earlier owner holds unfinished messages: with chunks still to come, neither gets on.",
        "A consumer joined in mid-message.",
        "Let the earlier owner leave: the others then get its messages whole. Do not add a consumer while large messages are under way.",
        SQL_HOLDUPS,
        f"{PULSAR}/blob/master/pip/pip-379.md",
    ),
    FindingKind(
        "C48",
        "permits_leaked",
        "warning",
        "No consumer of the subscription has permits left, and its log holds last chunks that clients drop together with a permit: nothing is sent any more.",
        "Messages without a first chunk or with a gap, read by Java or Go.",
        "Restart the consumers with a larger receiver queue, and acknowledge the incomplete messages by a repair plan.",
        SQL_HOLDUPS,
        f"{PULSAR}/issues/26675",
    ),
    FindingKind(
        "C49",
        "dead_letters_left",
        "warning",
        "Messages went to the dead-letter topic, and all of their chunks but the last stay at the source: the backlog never empties, and they come again.",
        "Java 4.2 rejects a chunked message by negative acknowledgements and acknowledges its last chunk alone.",
        "Acknowledge the rest only when the copy in the dead-letter topic is found whole; use an ack timeout instead of negative acknowledgements.",
        SQL_HOLDUPS,
        f"{PULSAR}/blob/master/pulsar-client/src/main/java/org/apache/pulsar/client/impl/ConsumerImpl.java",
    ),
    FindingKind(
        "C50",
        "cursor_inside_message",
        "warning",
        "The cursor of a subscription that does not drain stands inside a chunked message: no client gets it, and on Shared its rest blocks what is stored after it.",
        "A skip, an expiry (TTL), a backlog quota that evicts, or a subscription that was made in mid-message: all count entries, not messages.",
        "Reset the cursor to the message's first chunk by a repair plan where the message is whole; else acknowledge its rest by a plan.",
        SQL_HOLDUPS,
        f"{PULSAR}/issues/26395",
    ),
    FindingKind(
        "C55",
        "delayed_until",
        "info",
        "All that is left of a subscription is to be delivered later: it is not stalled, and its backlog stays until then.",
        "Its messages were sent with a time of delivery.",
        "Wait, or look at the messages and their times. Nothing is to be acknowledged or skipped.",
        'pulsar-backlog sql OUT "SELECT * FROM delayed_backlogs"',
        f"{PULSAR}/issues/26239",
        "Subscriptions with nothing left but delayed messages",
    ),
)
