"""`compared_topics`: topic by topic, how two logs agree, in numbers."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required


def _count(name: str, words: str) -> Column:
    return required(name, "bigint", words)


TABLE = Table(
    name="compared_topics",
    comment="One row per topic of a comparison of two audits: messages of both sides, differences by kind, and what was read to find them.",
    columns=(
        CLUSTER,
        required("topic", "string", "Full name of the topic partition in audit A; of a topic that only B has, there."),
        required("topic_b", "string", "Its name in audit B."),
        required("out_a", "string", "Folder or bucket of audit A."),
        required("out_b", "string", "Folder or bucket of audit B."),
        required("verdict", "string", "`equal`, `differs` (something is wrong on a side), `explained` (all differences are of `policy` or `in_flight`) or `cannot_tell` (nothing certain is wrong, and not all could be read)."),
        _count("messages_a", "Messages of audit A that could be read."),
        _count("messages_b", "Messages of audit B that could be read."),
        _count("missing_a", "Messages that only B has."),
        _count("missing_b", "Messages that only A has."),
        _count("duplicate_a", "Messages that A has more often."),
        _count("duplicate_b", "Messages that B has more often."),
        _count("order_both", "Messages in another order."),
        _count("content_both", "Messages with other content."),
        _count("broken_a", "Messages that are whole in B and not in A."),
        _count("broken_b", "Messages that are whole in A and not in B."),
        _count("policy_a", "Messages that A does not have by policy."),
        _count("policy_b", "Messages that B does not have by policy."),
        _count("in_flight_a", "Messages that may still arrive in A."),
        _count("in_flight_b", "Messages that may still arrive in B."),
        _count("unsure", "Differences that are not certain."),
        _count("unread_a", "Entries and ledgers of A that could not be read."),
        _count("unread_b", "Entries and ledgers of B that could not be read."),
        _count("unopened_a", "Messages of A whose payload could not be opened, as for want of a key: their content was not compared."),
        _count("unopened_b", "The same of B."),
        _count("buckets", "Buckets of digests that were compared."),
        _count("buckets_read", "Buckets that differed, so that their messages were looked at."),
    ),
    key=("cluster", "topic"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
