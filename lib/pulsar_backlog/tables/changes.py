"""`changes`: what each audit found new, worse, healed, gone or back since the one before."""

from pulsar_backlog.tables.contract import Table
from pulsar_backlog.tables.problems import COLUMNS

TABLE = Table(
    name="changes",
    comment="One row per finding, stall, lost message or quality failure that is new, worse, healed, gone or back since the run before. What only lasts is in `problems`.",
    columns=COLUMNS,
    key=("cluster", "identity", "run_id"),
    slice_columns=("cluster", "run_id"),
    statistics=("cluster", "code", "topic"),
)
