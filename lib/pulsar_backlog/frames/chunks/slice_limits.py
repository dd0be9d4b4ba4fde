"""What stored chunks show of the broker's `maxMessageSize`, which no log records."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

FRAME_PADDING_BYTES = 10 * 1024
"""What a frame may be larger than `maxMessageSize`: room for the header of a slice that fills the limit.
Source: apache/pulsar pulsar-common/.../protocol/Commands.java at 492eb456, `MESSAGE_SIZE_FRAME_PADDING`."""

_STEP_BYTES, _LEAST_BYTES = 4096, 16 * 1024


def limit_in_evidence(slice_bytes: Column, slice_entry_bytes: Column, largest_entry_bytes: Column) -> Column:
    """The `maxMessageSize` that the largest slice was cut for, in bytes; null when the slices do not show one.

    Java since 2.10, C++ and Go cut so that payload and metadata fill the limit, before they add the chunk fields; older
    Java lets the payload alone fill it. So a round number between the payload and the whole entry is the limit, unless
    other entries are far larger. A limit of the application's own (`chunkMaxMessageSize`) shows none.
    """
    rounded = (f.ceil(slice_bytes / _STEP_BYTES) * _STEP_BYTES).cast("bigint")
    plausible = (rounded >= _LEAST_BYTES) & (rounded <= slice_entry_bytes)
    return f.when(plausible & (largest_entry_bytes <= rounded + FRAME_PADDING_BYTES), rounded)


def fills_limit(slice_bytes: Column, limit_bytes: Column) -> Column:
    """Whether a slice's payload alone fills the limit, so that its whole header needs the padding."""
    return slice_bytes == limit_bytes
