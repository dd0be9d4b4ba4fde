"""In which files the entries of a ledger lie, by its row of `ledgers`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f


def in_one_file() -> Column:
    """Whether all entries lie in the file `data_uri`: then a place in it needs no name of a file besides."""
    return f.forall("blocks", lambda block: block["uri"].isNull() | (block["uri"] == f.col("data_uri")))
