"""Rows of `noted_entries`: those entries that later jobs look at one by one, with a few columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pulsar_backlog.facts.digest import DIGESTED, metadata_digests
from pulsar_backlog.facts.stretch import Stretch, nullable, present
from pulsar_backlog.tables.arrow import arrow_schema, plain
from pulsar_backlog.tables.noted_entries import TABLE
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

_MADE = ("broker_timestamp_ms", "has_key", "is_encrypted", "metadata_digest")
_READ = list(dict.fromkeys(
    [*(name for name in TABLE.column_names() if name not in _MADE), *DIGESTED, "broker_timestamp"]
))  # fmt: skip
"""Columns of `entries` that rows are made of; to take a few rows of the others would cost more than all of this."""


def noted_entries(stretch: Stretch) -> pa.RecordBatch | None:
    """The entries to note of a stretch, with the columns `noted_rows` reads; None when there is none."""
    markers = stretch.nullable("marker_type")
    wanted = stretch.is_damaged | (stretch.has_chunk_field & ~markers.present)
    if markers.present.any():
        wanted |= markers.present & np.isin(markers.values, (TXN_COMMIT, TXN_ABORT))
    if not wanted.any():
        return None
    places = pa.array(np.flatnonzero(wanted))  # they are few: to look at each row of each column takes longer
    encrypted = pa.array(stretch.present("encryption_keys"))
    rows = stretch.rows.select(_READ).append_column("is_encrypted", encrypted).take(places)
    return pa.RecordBatch.from_arrays([plain(column) for column in rows.columns], rows.schema.names)


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
