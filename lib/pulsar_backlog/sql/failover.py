"""What a subscription would get again, or never, on the other side: acknowledgements of both sides, message by message.

    on the side that consumers leave   on the side that they go to   they would
    acknowledged                       not acknowledged              get it again
    trimmed: older than all there      not acknowledged              get it again
    not acknowledged                   acknowledged                  never get it: `acked`
    not acknowledged                   not stored                    never get it, unless it still arrives: `absent`

A message is known by its origin; of a chunked one the last chunk counts. Messages that were sent before the oldest one
that is not acknowledged anywhere are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from pulsar_backlog.sql.duck import rows_of
from pulsar_backlog.sql.duck_values import literal

RANGES = pa.schema(
    [
        ("ledger_id", pa.int64()), ("first_entry_id", pa.int64()), ("last_entry_id", pa.int64()),
        ("unacked_batch_indexes", pa.list_(pa.int32())),
    ]
)  # fmt: skip
"""Runs of entries that are not acknowledged; of one with batch indexes only these members."""

COUNTS = (
    "open_messages", "again_messages", "again_entries", "acked_messages", "acked_entries", "absent_messages",
    "absent_entries",
)  # fmt: skip


@dataclass(frozen=True)
class Acknowledgements:
    """The state of one subscription on one side: the topic there, and what is not acknowledged, as `RANGES`."""

    topic: str
    unacked: pa.Table


def failover(
    connection: duckdb.DuckDBPyConnection, cluster: str, sides: dict[str, Acknowledgements]
) -> dict[str, dict[str, int]]:
    """Numbers of `COUNTS` by the side that consumers would go to.

    Args:
        connection: that knows `message_digests`.
        cluster: of the comparison.
        sides: by `a` and `b`.
    """
    for side, state in sides.items():
        connection.register(f"unacked_{side}", state.unacked)
        mine = f"cluster = {literal(cluster)} AND side = {literal(side)} AND topic = {literal(state.topic)}"
        connection.execute(_STORED_VIEW.format(side=side, mine=mine, listed=_LISTED))
    (begin,) = rows_of(connection, _BEGIN)
    if begin["at"] is None:
        return {side: dict.fromkeys(COUNTS, 0) for side in sides}
    made = {}
    for here, there in (("a", "b"), ("b", "a")):
        (made[here],) = rows_of(connection, _COUNTED.format(here=here, there=there, begin=int(begin["at"])))
    return made


_LISTED = 1000
"""Batch indexes that `ack_ranges` lists at most: of members behind so many nobody knows, so they count as open."""
_STORED_VIEW = """
CREATE OR REPLACE TEMP VIEW stored_{side} AS
SELECT m.ledger_id, m.entry_id, m.publish_time_ms, m.origin, m.ordinal,
  coalesce(m.entry_id <= r.last_entry_id
    AND (r.unacked_batch_indexes IS NULL OR list_contains(r.unacked_batch_indexes, m.batch_index)
      OR len(r.unacked_batch_indexes) >= {listed} AND m.batch_index > list_max(r.unacked_batch_indexes)), FALSE)
  AS is_open
FROM (SELECT * FROM message_digests WHERE {mine} AND origin IS NOT NULL) m
ASOF LEFT JOIN unacked_{side} r ON m.ledger_id = r.ledger_id AND m.entry_id >= r.first_entry_id
"""
_BEGIN = """
SELECT min(publish_time_ms) AS at
FROM (SELECT publish_time_ms FROM stored_a WHERE is_open UNION ALL SELECT publish_time_ms FROM stored_b WHERE is_open)
"""
_COUNTED = """
WITH here AS (SELECT * FROM stored_{here} WHERE publish_time_ms >= {begin}),
  there AS (SELECT * FROM stored_{there} WHERE publish_time_ms >= {begin}),
  state_here AS (SELECT origin, ordinal, bool_or(is_open) AS is_open FROM here GROUP BY ALL),
  state_there AS (SELECT origin, ordinal, bool_or(is_open) AS is_open FROM there GROUP BY ALL),
  first_there AS (SELECT min(publish_time_ms) AS at FROM stored_{there}),
  goes_on AS (
    SELECT h.ledger_id, h.entry_id, coalesce(NOT s.is_open, h.publish_time_ms < f.at, FALSE) AS again
    FROM here h LEFT JOIN state_there s USING (origin, ordinal), first_there f WHERE h.is_open),
  stays AS (
    SELECT t.ledger_id, t.entry_id, s.is_open
    FROM there t LEFT JOIN state_here s USING (origin, ordinal) WHERE t.is_open)
SELECT
  (SELECT count(*) FROM goes_on) AS open_messages,
  (SELECT count(*) FROM goes_on WHERE again) AS again_messages,
  (SELECT count(DISTINCT (ledger_id, entry_id)) FROM goes_on WHERE again) AS again_entries,
  (SELECT count(*) FROM stays WHERE NOT is_open) AS acked_messages,
  (SELECT count(DISTINCT (ledger_id, entry_id)) FROM stays WHERE NOT is_open) AS acked_entries,
  (SELECT count(*) FROM stays WHERE is_open IS NULL) AS absent_messages,
  (SELECT count(DISTINCT (ledger_id, entry_id)) FROM stays WHERE is_open IS NULL) AS absent_entries
"""
