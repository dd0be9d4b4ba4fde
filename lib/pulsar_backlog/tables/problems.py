"""`problems`: all that audits found wrong, each under an identity that stays, with since when and until when."""

from pulsar_backlog.tables.contract import CLUSTER, TOPIC, Column, Table, required

COLUMNS = (
    CLUSTER,
    required("identity", "string", "SHA-256 of what it is, in hexadecimal: kind, code, topic, subscription and subject, see docs/changes.md. The same in every run, in any order."),
    required("kind", "string", "`finding`, `stall` (of a chunked message in a subscription), `lost_message` (a chunked message that cannot be had any more) or `quality` (a rule that failed)."),
    required("code", "string", "Code in the catalogue, docs/findings.md; of `quality` the id of the rule."),
    required("severity", "string", "`error`, `warning` or `info`."),
    TOPIC,
    Column("subscription", "string", "Name of the subscription; null when it is not about one."),
    required("subject", "string", "Subject of the finding; of a chunked message `UUID @ PUBLISH_TIME_MS`; id of the rule."),
    Column("ledger_id", "bigint", "Ledger it is about; null when it is about more than one or none."),
    required("message", "string", "What it is, in one sentence, as it was found last."),
    required("count", "bigint", "How many entries, messages or objects are concerned, as it was found last."),
    Column("count_before", "bigint", "The same one comparison earlier; null when it is new."),
    required("change", "string", "What the last comparison that looked at it said: `new`, `back` (it was over, or its acknowledgement ended), `worse` (more severe, or twice as many are concerned as when it was news last), `still`, `healed`, `gone` (not found, and what it was about left the source or the saved state, so nobody can tell whether it was put right), or `unsure` (not found, but the audit could not read everything). See docs/changes.md."),
    Column("reason", "string", "Why `change` is what it is, where that is not plain."),
    required("run_id", "string", "Run of `compare_audits` that said so, as in `runs`."),
    required("compared_at", "timestamp", "When that run started, UTC."),
    required("first_seen", "timestamp", "When a comparison saw it first, UTC."),
    required("last_seen", "timestamp", "When a comparison saw it last, UTC."),
    Column("healed_at", "timestamp", "When a comparison called it healed, UTC; null while it lasts, and where it is `gone`."),
    required("times_back", "bigint", "How often it came back after it was over (`healed` or `gone`)."),
    Column("acknowledged_by", "string", "Owner of the acknowledgement (`--known`) that covers it; null when none does."),
    Column("acknowledged_until", "string", "Last day of that acknowledgement, `YYYY-MM-DD`, UTC."),
    Column("gone_at", "timestamp", "When a comparison called it `gone`, UTC; null otherwise.", since=2),
    Column("news_count", "bigint", "`count` when it was news last (`new`, `back` or `worse`): twice as many are news again.", since=2),
)  # fmt: skip

TABLE = Table(
    name="problems",
    comment="One row per finding, stall, lost message and failed quality rule that an audit has compared with the one before, also those that are over (`healed`, `gone`).",
    columns=COLUMNS,
    key=("cluster", "identity"),
    slice_columns=("cluster",),
    statistics=("cluster", "code", "topic"),
)
