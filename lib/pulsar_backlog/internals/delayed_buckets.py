"""A bucket of delayed messages: one ledger, whose first entry says what is in the others, segments of an index.

```
entry 0   SnapshotMetadata         1 repeated {1 map of ledger id to a RoaringBitmap of entry ids, 2 latest, 3 earliest}
entry n   SnapshotSegment          1 repeated {1 time to deliver, 2 ledger id, 3 entry id}, in the order of times
```

The cursor names the ledger in its property `#pulsar.internal.delayed.bucket_<first ledger>_<last ledger>`. A segment
whose time has come is in memory only; the snapshot is deleted when its last message was.
Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/delayed/bucket/BookkeeperBucketSnapshotStorage.java,
https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/proto/DelayedMessageIndexBucketMetadata.proto and
DelayedMessageIndexBucketSegment.proto beside it
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulsar_backlog.internals.protobuf import is_exact, parsed, undecodable
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.proto import internal_state_pb2 as pb

PROPERTY = "#pulsar.internal.delayed.bucket"
"""How the cursor property of a bucket begins; the ids of the first and last ledger follow, each behind `_`."""

_MAX_TIME = 1 << 62


@dataclass(frozen=True, slots=True)
class BucketMetadata:
    """What entry 0 says: latest and earliest time of each segment, in milliseconds; whether the bytes are just that."""

    segments: tuple[tuple[int, int], ...]
    is_exact: bool


def decode_bucket_metadata(data: bytes) -> BucketMetadata:
    """Read the first entry of a bucket.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    message = parsed(pb.SnapshotMetadata, data, "SnapshotMetadata")
    for one in message.metadata_list:
        if not (one.HasField("max_schedule_timestamp") and one.HasField("min_schedule_timestamp")):
            raise undecodable("times of each segment", "a segment without", data)
    times = tuple((one.max_schedule_timestamp, one.min_schedule_timestamp) for one in message.metadata_list)
    return BucketMetadata(times, bool(times) and is_exact(message))


def decode_bucket_segment(data: bytes) -> tuple[Int64s, bool]:
    """Rows of time, ledger id and entry id, and whether the bytes are exactly such.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    message = parsed(pb.SnapshotSegment, data, "SnapshotSegment")
    rows = []
    for one in message.indexes:
        if not (one.HasField("timestamp") and one.HasField("ledger_id") and one.HasField("entry_id")):
            raise undecodable("a time and a position of each message", "a message without", data)
        row = (one.timestamp, one.ledger_id, one.entry_id)
        if max(row) > _MAX_TIME:
            raise undecodable("a time and a position of each message", str(max(row)), data)
        rows.append(row)
    exact = bool(rows) and is_exact(message)
    return np.array(rows, dtype=np.int64).reshape(-1, 3), exact


def bucket_span(key: str) -> tuple[int, int] | None:
    """First and last ledger that a cursor property's name says the bucket is about; None of another property."""
    parts = key.removeprefix(PROPERTY).split("_")
    is_bucket = key.startswith(PROPERTY) and len(parts) == 3 and not parts[0]
    if not is_bucket or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts[1:]):
        return None
    return int(parts[1]), int(parts[2])
