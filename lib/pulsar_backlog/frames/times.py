"""Times as columns: the wire's milliseconds as timestamps; null where they lie outside the years 1970 to 9999."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as f

from pulsar_backlog.wire.metadata import END_OF_TIME_MS


def time_of_ms(name: str) -> Column:
    """The column's milliseconds, in SQL.

    What a producer wrote may be any 64-bit number, and Spark stops at those that overflow its microseconds.
    """
    return f.when(f.col(name).between(0, END_OF_TIME_MS - 1), f.timestamp_millis(f.col(name)))


def times_of_ms(ms: pa.Array) -> pa.Array:
    """The same of an array."""
    inside = pc.and_(pc.greater_equal(ms, 0), pc.less(ms, END_OF_TIME_MS))
    return pc.multiply(pc.if_else(inside, ms, pa.scalar(None, ms.type)), 1000).view(pa.timestamp("us", tz="UTC"))
