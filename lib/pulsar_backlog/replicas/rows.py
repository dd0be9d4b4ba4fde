"""Differences of a topic as rows of the table `differences`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.replicas.halves import Half, Int64s
from pulsar_backlog.replicas.judging import Difference
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

SCHEMA = arrow_schema(TABLES["differences"])
_SHARED = ("producer_name", "sequence_id", "publish_time_ms", "replicated_from", "chunk_uuid")
_POSITION = ("ledger_id", "entry_id", "batch_index")


def difference_rows(
    differences: Iterable[Difference], a: Half, b: Half, cluster: str, topics: tuple[str, str]
) -> pa.Table:
    """Rows of `differences`, in the order of the log of the side that has the message."""
    return pa.concat_tables([_rows(one, a, b, cluster, topics) for one in differences] or [SCHEMA.empty_table()])


def _rows(difference: Difference, a: Half, b: Half, cluster: str, topics: tuple[str, str]) -> pa.Table:
    order = np.lexsort((difference.b, difference.a))
    at_a, at_b = difference.a[order], difference.b[order]
    rows = len(order)
    made: dict[str, pa.Array] = {
        "cluster": pa.repeat(pa.scalar(cluster), rows),
        "kind": pa.repeat(pa.scalar(difference.kind), rows),
        "topic": pa.repeat(pa.scalar(topics[0]), rows),
        "topic_b": pa.repeat(pa.scalar(topics[1]), rows),
        "side": pa.repeat(pa.scalar(difference.side), rows),
        "copy_number": pa.array(np.arange(rows, dtype=np.int64)),
        "sureness": pa.array(difference.sureness[order], pa.string()),
        "reason": pa.array(difference.reason[order], pa.string()),
    }
    # Of a duplicate the row is about the copy that is too many.
    first, second = (
        ((at_b, b), (at_a, a)) if difference.side == "b" and difference.kind == "duplicate" else ((at_a, a), (at_b, b))
    )
    for name in _SHARED:
        here, there = (_taken(half, name, at) for at, half in (first, second))
        made[name] = pc.coalesce(here, there)
    for side, at, half in (("a", at_a, a), ("b", at_b, b)):
        made |= {f"{side}_{name}": _taken(half, name, at) for name in _POSITION}
    stream = made["replicated_from"]
    made["replicated_from"] = pc.if_else(pc.equal(stream, ""), pa.scalar(None, pa.string()), stream)
    return pa.table([made[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA)


def _taken(half: Half, name: str, at: Int64s) -> pa.Array:
    """Values of a column at places; null at -1."""
    column = half.rows[name].combine_chunks()
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    return column.take(pa.array(at, mask=at < 0))
