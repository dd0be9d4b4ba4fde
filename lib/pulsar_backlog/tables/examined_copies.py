"""`examined_copies`: what examining a stored copy found, so that the next audit need not open it again."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, Column, Table, required

TABLE = Table(
    name="examined_copies",
    comment="One row per stored copy of a ledger in which nothing was wrong when its index was read. While the store lists its objects with the same names, sizes, version tags and times, the inventory goes by the row and does not open them again. No answer is read from it, and it may be deleted at any time.",
    columns=(
        CLUSTER,
        LEDGER_ID,
        required("copy", "string", "Which stored copy, as in `ledgers`."),
        Column("address", "string", "The source that it lies in, as the audit was given it."),
        required("examiner", "string", "Release that examined it; what another one examined is examined again."),
        required("examined", "string", "What was listed, and what was found, as JSON of this program."),
    ),
    key=("cluster", "ledger_id", "copy"),
    slice_columns=("cluster",),
    statistics=("cluster", "ledger_id"),
)
