"""`quality_results`: each data-quality rule and how it went."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="quality_results",
    comment="One row per data-quality rule of conf/quality that was checked.",
    columns=(
        CLUSTER,
        required("rule", "string", "Id of the rule, as in conf/quality."),
        required("summary", "string", "Summary the rule was checked on: `ledger_summary`, `topic_summary` or `audit_summary`."),
        required("severity", "string", "`error` or `warning`."),
        required("passed", "boolean", "Whether every row met the expectation."),
        required("checked", "bigint", "Rows of the summary that were checked."),
        required("failed", "bigint", "Rows that did not meet it."),
        required("sentence", "string", "What the rule says, in words."),
        required("expectation", "string", "Great Expectations' name of the check."),
        Column("examples", "array<string>", "Subjects (ledgers, topics) that failed; the first 20."),
    ),
    key=("cluster", "rule"),
    slice_columns=("cluster",),
)
