"""What becomes of messages that could not be opened or decoded, in Spark's words: `dropmalformed`, `failfast`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.api.choices import Reading
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.messages.masking import masked
from pulsar_backlog.messages.outcomes import OPENED


def by_mode(batches: Iterator[pa.RecordBatch], reading: Reading) -> Iterator[pa.RecordBatch]:
    """Rows of `messages`, masked where that is asked for; those that are broken as the mode says."""
    if reading.mode == "dropmalformed":
        batches = _dropped(batches)
    elif reading.mode == "failfast":
        batches = _refused(batches)
    return (masked(batch, reading.masks) for batch in batches) if reading.masks else batches


def _dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(_sound(batch))


def _refused(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows up to the first that is broken.

    Raises:
        DecodeError: for that one.
    """
    for batch in batches:
        bad = batch.filter(pc.invert(_sound(batch)))
        if bad.num_rows:
            raise _error(bad.slice(0, 1).to_pylist()[0])
        yield batch


def _sound(batch: pa.RecordBatch) -> pa.Array:
    opened = pc.is_in(batch.column("outcome"), pa.array(OPENED))
    if "decode_error" not in batch.schema.names:
        return opened
    return pc.and_(opened, pc.is_null(batch.column("decode_error")))


def _error(row: dict[str, object]) -> DecodeError:
    place = f"{row['ledger_id']}:{row['entry_id']}"
    if row["outcome"] in OPENED:
        code, why = "undecodable", row.get("decode_error")
    else:
        code, why = str(row["outcome"]), row["reason"]
    return DecodeError(code, offset=0, field="payload", expected="a message", found=f"{why} at {place}")
