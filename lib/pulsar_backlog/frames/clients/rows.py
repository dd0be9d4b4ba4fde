"""Chunk entries with what the fold found of their publication: what the consumer models read."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.chunks.clients.events import PayloadFact
from pulsar_backlog.chunks.rows import ENCRYPTION_TAG_BYTES
from pulsar_backlog.frames.chunks.rows import is_chunk
from pulsar_backlog.terms import COMPLETE, SURENESSES
from pulsar_backlog.wire.entry import CHECKSUM_STATES
from pulsar_backlog.wire.metadata import COMPRESSIONS

LOG_COLUMNS = (
    "ledger_id", "entry_id", "uuid", "publish_time_ms", "stored_ms", "chunk_id", "num_chunks", "total_bytes",
    "slice_bytes", "batched", "checksum", "codec", "uncompressed_bytes", "payload",
)  # fmt: skip
"""What `chunks.clients.events.LogEntry` is made of, in its order; the last, `marker`, no chunk has set."""

IN_LOG_COLUMNS = ("copies", "whole", "in_flight", "sureness")
"""The fields of `chunks.clients.outcomes.InLog`, in its order."""

MODEL_COLUMNS = ("topic", *LOG_COLUMNS, *IN_LOG_COLUMNS, "end_ms")

UNKNOWN_CODEC = "UNKNOWN"
"""Stands for every codec that has no name."""
_CODECS = COMPRESSIONS[1:]
_FEW_VALUES: dict[str, tuple[Any, ...]] = {
    "batched": (False, True),
    "checksum": CHECKSUM_STATES,
    "codec": (None, *_CODECS, UNKNOWN_CODEC),
    "payload": get_args(PayloadFact),
    "whole": (False, True),
    "in_flight": (False, True),
    "sureness": SURENESSES,
}
"""Columns that hold one of few values. They go to the tasks as one number, because Spark takes its time to hand over
every single column."""


def model_rows(noted: DataFrame, publications: DataFrame) -> DataFrame:
    """Chunk rows of `noted_entries` as `MODEL_COLUMNS`; `end_ms` is when the topic's last chunk was stored."""
    rows = _log_rows(noted)
    ends = rows.groupBy("topic").agg(f.max("stored_ms").alias("end_ms"))
    found = publications.select(
        "topic", f.col("chunk_uuid").alias("uuid"), "publish_time_ms", payload_fact().alias("payload"), "copies",
        f.col("state").isin(*COMPLETE).alias("whole"),
        (f.col("state") == "in_flight").alias("in_flight"), "sureness",
    )  # fmt: skip
    joined = rows.join(found, on=["topic", "uuid", "publish_time_ms"], how="inner")
    return joined.join(f.broadcast(ends), on="topic", how="inner").select(*MODEL_COLUMNS)


def payload_fact() -> Column:
    """What decompressing a publication's payload gives, from the fold's check."""
    larger = f.coalesce(f.col("decoded_bytes") > f.col("uncompressed_bytes"), f.lit(True))
    return (
        f.when(f.col("decode_state").isin("ok", "not_needed"), "fits")
        .when(f.col("decode_state") == "fault", "garbage")
        .when((f.col("decode_state") == "wrong_size") & larger, "claim_too_small")
        .when(f.col("decode_state") == "wrong_size", "claim_too_large")
        .otherwise("unknown")
    )


def packed(rows: DataFrame) -> DataFrame:
    """Rows of `MODEL_COLUMNS` with the columns of few values as one number, `facts`; `unpacked` undoes it."""
    facts: Column = f.lit(0)
    for name, values in _FEW_VALUES.items():
        place = f.when(f.col(name).eqNullSafe(values[0]), 0)
        for at, value in enumerate(values[1:], start=1):
            place = place.when(f.col(name) == value, at)
        facts = facts * len(values) + place
    kept = [name for name in MODEL_COLUMNS if name not in _FEW_VALUES]
    return rows.select(*kept, facts.alias("facts"))


def unpacked(facts: pa.Array) -> dict[str, list[Any]]:
    """The columns that `packed` made one of."""
    places = np.unravel_index(facts.to_numpy(), [len(values) for values in _FEW_VALUES.values()])
    columns = zip(_FEW_VALUES.items(), places, strict=True)
    return {name: np.array(values, dtype=object)[place].tolist() for (name, values), place in columns}


def _log_rows(noted: DataFrame) -> DataFrame:
    tag = f.when(f.col("is_encrypted"), ENCRYPTION_TAG_BYTES).otherwise(0)
    stored_ms = f.coalesce("broker_timestamp_ms", "publish_time_ms")
    named = {
        "uuid": f.coalesce("uuid", f.lit("")),
        "stored_ms": stored_ms,
        "num_chunks": f.col("num_chunks_from_msg"),
        "total_bytes": f.coalesce("total_chunk_msg_size", f.lit(0)),
        "slice_bytes": f.col("payload_length") - tag,
        "batched": f.col("num_messages_in_batch").isNotNull(),
        "checksum": f.col("checksum_state"),
        "codec": f.when(f.col("compression").isin(*_CODECS), f.col("compression")).when(
            f.col("compression") != COMPRESSIONS[0], UNKNOWN_CODEC
        ),
        "uncompressed_bytes": f.col("uncompressed_size"),
    }
    columns = [named[name].alias(name) if name in named else f.col(name) for name in LOG_COLUMNS if name != "payload"]
    return noted.filter(is_chunk()).select("topic", *columns)
