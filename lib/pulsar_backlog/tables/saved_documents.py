"""`saved_documents`: what was read of files of saved admin JSON, so that the next audit need not parse them again."""

from pulsar_backlog.tables.contract import CLUSTER, Table, required

TABLE = Table(
    name="saved_documents",
    comment="One row per file of saved admin JSON (--admin) with nothing in it but well-formed documents of topics. While a file of that name has the same bytes, audits go by the row and do not parse it again. No answer is read from it, and it may be deleted at any time.",
    columns=(
        CLUSTER,
        required("path", "string", "The file, relative to the folder."),
        required("digest", "string", "BLAKE2b of its bytes."),
        required("reader", "string", "Release that read it; what another one read is read again."),
        required("documents", "string", "What it says, as JSON of this program."),
    ),
    key=("cluster", "path"),
    slice_columns=("cluster",),
    statistics=("cluster", "path"),
)
