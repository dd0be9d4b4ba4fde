"""Markers that end transactions."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT


def ends_transaction() -> Column:
    """Whether an entry of `entries` commits or aborts a transaction.

    One whose checksum does not agree is not believed: which transaction it ends, and how, may be what was damaged.
    """
    return f.col("marker_type").isin(TXN_COMMIT, TXN_ABORT) & (f.col("checksum_state") != "mismatch")
