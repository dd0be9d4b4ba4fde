"""Times as arrays: the wire's milliseconds as timestamps; null where they lie outside the years 1970 to 9999."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.wire.metadata import END_OF_TIME_MS


def times_of_ms(ms: pa.Array) -> pa.Array:
    """An array of milliseconds as timestamps."""
    inside = pc.and_(pc.greater_equal(ms, 0), pc.less(ms, END_OF_TIME_MS))
    return pc.multiply(pc.if_else(inside, ms, pa.scalar(None, ms.type)), 1000).view(pa.timestamp("us", tz="UTC"))
