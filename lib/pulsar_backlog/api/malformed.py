"""What becomes of messages that could not be opened, in Spark's words: `dropmalformed`, `failfast`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.messages.outcomes import OPENED


def dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `messages` whose payload is here."""
    for batch in batches:
        yield batch.filter(pc.is_in(batch.column("outcome"), pa.array(OPENED)))


def refused(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `messages` up to the first whose payload is not here.

    Raises:
        DecodeError: for that one.
    """
    for batch in batches:
        bad = batch.filter(pc.invert(pc.is_in(batch.column("outcome"), pa.array(OPENED))))
        if bad.num_rows:
            row = bad.select(["ledger_id", "entry_id", "outcome", "reason"]).slice(0, 1).to_pylist()[0]
            place = f"{row['ledger_id']}:{row['entry_id']}"
            words = f"{row['reason']} at {place}"
            raise DecodeError(row["outcome"], offset=0, field="payload", expected="a message", found=words)
        yield batch
