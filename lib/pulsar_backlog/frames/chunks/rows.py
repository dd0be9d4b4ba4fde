"""Which stored entries are parts of chunked messages."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

HAS_CHUNK_FIELDS = "coalesce(uuid, CAST(chunk_id AS string), CAST(num_chunks_from_msg AS string)) IS NOT NULL"
"""SQL: whether a row of `entries` or `noted_entries` says that it is a part of a message."""

IS_CHUNK = f"{HAS_CHUNK_FIELDS} AND marker_type IS NULL AND topic IS NOT NULL"
"""SQL: whether such a row carries chunk fields and is a message of a known topic."""


def is_chunk() -> Column:
    """`IS_CHUNK`."""
    return f.expr(IS_CHUNK)


def has_chunk_fields() -> Column:
    """`HAS_CHUNK_FIELDS`."""
    return f.expr(HAS_CHUNK_FIELDS)
