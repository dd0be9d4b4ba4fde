"""One decoded entry as a row of the wire columns of the `entries` table, times as datetimes."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from pulsar_backlog.wire.entry import Entry
from pulsar_backlog.wire.metadata import time_in_range

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def wire_row(entry: Entry) -> dict[str, Any]:
    """The columns of `entries` that come from the entry's own bytes; `length` is its bytes."""
    layout, broker = entry.layout, entry.broker
    row = asdict(entry.metadata)
    row |= {
        "length": layout.payload_offset + layout.payload_length,
        "payload_offset": layout.payload_offset,
        "payload_length": layout.payload_length,
        "checksum_state": entry.checksum_state,
        "checksum": layout.checksum,
        "payload_crc32c": entry.payload_crc32c,
        "has_broker_metadata": broker is not None,
        "broker_timestamp": as_time(broker.broker_timestamp if broker else None),
        "index": broker.index if broker else None,
        "publish_time": as_time(entry.metadata.publish_time),
        "publish_time_ms": entry.metadata.publish_time,
        "event_time": as_time(entry.metadata.event_time or None),
        "deliver_at_time": as_time(entry.metadata.deliver_at_time),
        "flags": list(entry.flags) or None,
    }
    return row


def as_time(time_ms: int | None) -> datetime | None:
    """Milliseconds since 1970 as a datetime; None when absent or out of the range of SQL timestamps."""
    if time_ms is None or not time_in_range(time_ms):
        return None
    return _EPOCH + timedelta(milliseconds=time_ms)
