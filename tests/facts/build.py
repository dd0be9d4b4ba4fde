"""Entries of one ledger that a fact may be wrong about: damaged, without time, out of order, absurd."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from pulsar_backlog.facts.ledger import Facts, both, facts_of
from pulsar_backlog.facts.steps import publish_times
from pulsar_backlog.facts.stretch import Stretch
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.blank_rows import complete_row

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON_MS = 1_795_258_800_000
END_OF_TIME_MS = 253_402_300_800_000
FLAGS = ("unknown_fields", "time_out_of_range", "text_not_utf8", "repeated_property", "unknown_compression", "new")


def batch_of(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Rows of `entries`."""
    table = TABLES["entries"]
    return pa.RecordBatch.from_pylist([complete_row(table, row) for row in rows], schema=arrow_schema(table))


def time_of(ms: int | None) -> datetime | None:
    """A wire time as the table has it."""
    in_range = ms is not None and 0 <= ms < END_OF_TIME_MS
    return EPOCH + timedelta(milliseconds=ms) if in_range else None  # type: ignore[arg-type]


def near(middle: int, *odd: int) -> st.SearchStrategy[int]:
    """Numbers close to each other, and now and then one that is not."""
    close = st.integers(middle - 1500, middle + 1500)
    return st.one_of(close, close, close, close, st.sampled_from((*odd, middle)))


@st.composite
def one_entry(draw: st.DrawFn) -> dict[str, Any]:
    """All of an entry but its place."""
    wire_ms = draw(near(NOON_MS, 0, -1, 2**63 - 1, -(2**63), NOON_MS + 10**7, END_OF_TIME_MS - 1))
    broker_ms = draw(st.none() | near(NOON_MS, 0, END_OF_TIME_MS - 1))
    chunk = draw(st.sampled_from(("no", "no", "no", "chunk", "one", "no uuid", "uuid only")))
    chunk_fields: dict[str, Any] = {
        "no": {},
        "chunk": {"uuid": "p-1", "chunk_id": draw(st.integers(0, 3)), "num_chunks_from_msg": 3},
        "one": {"uuid": "p-2", "chunk_id": 0, "num_chunks_from_msg": 1},
        "no uuid": {"chunk_id": 0, "num_chunks_from_msg": draw(st.sampled_from((None, 2, -1)))},
        "uuid only": {"uuid": ""},
    }[chunk]
    state = draw(st.sampled_from(("valid", "valid", "valid", "mismatch", "absent")))
    flags = draw(st.none() | st.none() | st.lists(st.sampled_from(FLAGS), min_size=1, max_size=3))
    metadata = draw(st.booleans())
    return chunk_fields | {
        "checksum_state": state,
        "has_broker_metadata": metadata,
        "broker_timestamp": time_of(broker_ms) if metadata else None,
        "index": draw(st.none() | near(7, 2**63 - 1, -(2**63), 2**61, -1)) if metadata else None,
        "publish_time": time_of(wire_ms),
        "publish_time_ms": wire_ms,
        "producer_name": draw(st.sampled_from(("p", "q", "", "ü"))),
        "sequence_id": draw(st.integers(-1, 3)),
        "marker_type": draw(st.none() | st.none() | st.none() | st.sampled_from((0, 10, 21, 22))),
        "num_messages_in_batch": draw(st.none() | st.none() | st.sampled_from((1, 3, 0, -4, 2**31 - 1))),
        "txnid_most_bits": draw(st.none() | st.none() | st.none() | st.just(1)),
        "replicated_from": draw(st.none() | st.none() | st.just("r1")),
        "length": draw(st.sampled_from((0, 60, 61, 70_000))),
        "payload_offset": draw(st.sampled_from((40, 41))),
        "payload_length": draw(st.sampled_from((20, 21))),
        "compression": draw(st.none() | st.none() | st.sampled_from(("NONE", "LZ4", "UNKNOWN(9)", "UNKNOWN(10)"))),
        "flags": flags,
    }


@st.composite
def ledgers(draw: st.DrawFn, ledger_id: int = 5, topic: str | None = "t", most: int = 12) -> list[dict[str, Any]]:
    """Entries of a ledger, ids ascending with gaps."""
    rows = draw(st.lists(one_entry(), min_size=1, max_size=most))
    entry_id, offset = draw(st.sampled_from((0, 0, 3))), 140
    for row in rows:
        row |= {"cluster": "c", "topic": topic, "ledger_id": ledger_id, "entry_id": entry_id, "offset": offset}
        entry_id += draw(st.sampled_from((1, 1, 1, 2)))
        offset += row["length"] + 12
    return rows


def facts_in_parts(batch: pa.RecordBatch, cuts: list[int], right_first: bool = False) -> Facts:
    """The facts of a batch that is cut at `cuts`, put together from the left or from the right."""
    edges = sorted({0, batch.num_rows, *(cut for cut in cuts if 0 < cut < batch.num_rows)})
    parts = [Stretch(batch.slice(a, b - a)) for a, b in itertools.pairwise(edges)]
    known = [(facts_of(part), [publish_times(part)]) for part in parts]
    while len(known) > 1:
        at = len(known) - 2 if right_first else 0
        (before, times), (after, times_after) = known[at : at + 2]
        joined = both(before, after, lambda late=times_after: late)  # type: ignore[misc]
        known[at : at + 2] = [(joined, times + times_after)]
    return known[0][0]
