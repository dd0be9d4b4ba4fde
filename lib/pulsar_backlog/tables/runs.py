"""`runs`: what ran, on what, and how it ended."""

from pulsar_backlog.tables.contract import CLUSTER, Table, required

TABLE = Table(
    name="runs",
    comment="One row per job run that did something.",
    columns=(
        CLUSTER,
        required("run_id", "string", "Unique id of the run."),
        required("job", "string", "Job that ran."),
        required("started", "timestamp", "When it started, UTC."),
        required("seconds", "double", "How long it took."),
        required("source", "string", "What it read, without credentials."),
        required("fingerprint", "string", "Digest of its inputs and options; the same means nothing new to do."),
        required("options", "map<string,string>", "Options that decide the result."),
        required("rows", "map<string,bigint>", "Rows written, by table."),
        required("bytes_read", "bigint", "Bytes read from the source."),
        required("versions", "map<string,string>", "Versions of this program, Spark and Python."),
        required("exit_code", "int", "0 clean, 1 findings, 4 incomplete; see the README."),
    ),
    key=("cluster", "run_id"),
    slice_columns=("cluster", "run_id"),
)
