"""`findings`: anomalies, with evidence. What a code means stands in the catalogue, docs/findings.md."""

from pulsar_backlog.tables.contract import CLUSTER, TOPIC, Column, Table, required

TABLE = Table(
    name="findings",
    comment="One row per anomaly: what, where, how sure, with evidence.",
    columns=(
        CLUSTER,
        required("job", "string", "Job that found it."),
        required("code", "string", "Code in the catalogue, docs/findings.md."),
        required("name", "string", "Name of the code."),
        required("severity", "string", "`error`, `warning` or `info`."),
        required("subject", "string", "What it is about: a topic, `ledger:N`, `ledger:entry`, an object or a chunk uuid."),
        TOPIC,
        Column("ledger_id", "bigint", "Ledger it is about; null when it is about more than one."),
        Column("entry_id", "bigint", "First entry it is about; null when it is not about entries."),
        required("count", "bigint", "How many entries, messages or objects are concerned."),
        required("sureness", "string", "`certain`, `likely` or `cannot_tell`."),
        required("reason", "string", "Why it is that sure."),
        required("message", "string", "The finding in one sentence, with its numbers."),
        required("evidence", "array<string>", "Positions (`ledger:entry`), objects or values that show it; the first 20."),
        required("incomplete", "boolean", "Whether something was unreadable, so that the audit is not complete (exit code 4)."),
    ),
    key=("cluster", "job", "code", "subject"),
    slice_columns=("cluster", "job"),
    statistics=("cluster", "code", "topic"),
)
