"""Times as columns: the wire's milliseconds as SQL timestamps."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from pulsar_backlog.wire.metadata import END_OF_TIME_MS


def time_of_ms(name: str) -> Column:
    """The column's milliseconds as a timestamp; null where they lie outside the years 1970 to 9999.

    What a producer wrote may be any 64-bit number, and Spark stops at those that overflow its microseconds.
    """
    return f.when(f.col(name).between(0, END_OF_TIME_MS - 1), f.timestamp_millis(f.col(name)))
