"""Rows of `noted_entries`: those entries that later jobs look at one by one, with a few columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.facts.digest import DIGESTED, metadata_digests
from pulsar_backlog.facts.stretch import nullable, present
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.noted_entries import TABLE
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

_CHUNK_FIELDS = ("uuid", "num_chunks_from_msg", "chunk_id")
_MADE = ("broker_timestamp_ms", "has_key", "is_encrypted", "metadata_digest")
_READ = list(dict.fromkeys(
    [*(name for name in TABLE.column_names() if name not in _MADE), *DIGESTED, "broker_timestamp"]
))  # fmt: skip
"""Columns of `entries` that rows are made of; to take a few rows of the others would cost more than all of this."""


def noted_entries(entries: pa.RecordBatch) -> pa.RecordBatch | None:
    """The entries to note among rows of `entries`, with the columns `noted_rows` reads; None when there is none."""
    wanted = pc.equal(entries.column("checksum_state"), "mismatch")
    markers = entries.column("marker_type")
    if markers.null_count < len(markers):
        wanted = pc.or_(wanted, pc.is_in(markers, pa.array([TXN_COMMIT, TXN_ABORT], markers.type)))
    chunk_fields = [column for name in _CHUNK_FIELDS if (column := entries.column(name)).null_count < len(column)]
    for column in chunk_fields:
        wanted = pc.or_(wanted, pc.and_(pc.is_valid(column), pc.is_null(markers)))
    if not pc.any(wanted).as_py():
        return None
    encrypted = pa.array(present(entries.column("encryption_keys")))
    return entries.select(_READ).append_column("is_encrypted", encrypted).filter(wanted)


def noted_rows(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of `noted_entries`, of entries that were found in one or more batches."""
    entries = pa.concat_batches(batches)
    broker_ms = nullable(entries.column("broker_timestamp"))
    made = {
        "broker_timestamp_ms": pa.array(broker_ms.values, mask=~broker_ms.present),
        "has_key": pa.array(present(entries.column("partition_key"))),
        "metadata_digest": pa.array(metadata_digests(entries).view(np.int64)),
    }
    schema = arrow_schema(TABLE)
    arrays = [made[field.name] if field.name in made else entries.column(field.name) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
