"""What an export reads, from metadata alone: a row for each wanted entry, and for each wanted chunked message.

| row of | what it holds |
|---|---|
| an entry | position, location, whether it is a batch, its transaction |
| a chunked message | its publication, the positions that the fold picked, all sound copies of its chunks |

Both have the bin they lie in and their bytes, by which `frames/export/tasks.py` places them; the tasks read metadata
and payloads again. A row of an entry is eight numbers and the file's name. Of a chunked message, Spark shuffles 96
bytes and the name for each chunk (104 where producers or keys are wanted), and 16 for each picked position.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.chunks.rows import has_chunk_fields, is_chunk
from pulsar_backlog.frames.export.filters import (
    Filters,
    has_key,
    is_exportable,
    of_producers,
    of_times,
    visible_messages,
)
from pulsar_backlog.frames.export.tasks import bin_of

_LOCATION = ("uri", "offset", "length", "inner_offset", "block_length")
_CHUNK = (
    "chunk_id", "ledger_id", "entry_id", "uri", "offset", "length", "payload_offset", "inner_offset", "block_length",
)  # fmt: skip
_PUBLICATION = (
    "chunk_uuid", "publish_time_ms", "state", "num_chunks", "total_bytes", "uncompressed_bytes", "compression",
    "encrypted",
)  # fmt: skip


def plan_entries(messages: DataFrame, filters: Filters) -> DataFrame:
    """Plan rows of single messages and batches. A batch has many keys: `of_keys` looks at them once it is open.

    Chunks of a ledger whose topic nothing names are in no plan: they are no messages, and not joined.
    """
    is_batch = f.col("num_messages_in_batch").isNotNull()
    wanted = ~has_chunk_fields() & _wants_entry(filters, is_batch)
    return visible_messages(messages, filters).filter(wanted).select(
        "ledger_id", "entry_id", *_LOCATION, f.col("txn_state").cast("int").alias("txn_state"),
        is_batch.cast("int").alias("batched"), bin_of(f.col("offset")).alias("bin"),
        f.col("length").cast("bigint").alias("bytes"),
    )  # fmt: skip


def _wants_entry(filters: Filters, is_batch: Column) -> Column:
    """Whether an entry that is no chunk is wanted; one whose checksum does not agree is, whatever it says of itself."""
    if not filters.wants_entries():
        return f.lit(False)
    wanted = of_times(filters) & of_producers(filters)
    if filters.keys:
        wanted &= has_key(filters.keys) | is_batch
    if filters.states:
        wanted &= f.when(is_batch, "batch").otherwise("single").isin(*filters.states)
    return wanted | (f.col("checksum_state") == "mismatch")


def plan_chunked(messages: DataFrame, publications: DataFrame, filters: Filters) -> DataFrame:
    """Plan rows of chunked messages of which every chunk is stored: one row each, with all copies of its chunks.

    A message is wanted if any of its copies is, and hidden if any copy's transaction hides it: never a part of one.
    """
    copies = _copies(messages.filter(of_times(filters)), filters)
    joined = _whole(publications, filters).join(visible_messages(copies, filters), on="key", how="inner")
    first = f.col("copies")[0]
    return joined.select(
        *_PUBLICATION, "contested", "picked_ledgers", "picked_entries", "copies", "txn_state", "bytes",
        first["ledger_id"].alias("ledger_id"), first["uri"].alias("uri"), first["offset"].alias("offset"),
        bin_of(first["offset"]).alias("bin"),
    )  # fmt: skip


def _whole(publications: DataFrame, filters: Filters) -> DataFrame:
    """Wanted publications that can be tried, with the positions that the fold picked, by `_publication_key`.

    Contested ones are exported and never verified: nobody can tell which of their copies is right.
    """
    publications = publications.filter(of_times(filters))
    if filters.states:
        publications = publications.filter(f.col("state").isin(*filters.states))
    copies_disagree = f.arrays_overlap("flags", f.array(f.lit("copies_differ"), f.lit("metadata_conflict")))
    return publications.filter(is_exportable()).select(
        _publication_key(f.col("chunk_uuid")).alias("key"), *_PUBLICATION,
        (copies_disagree | (f.col("state") == "malformed")).alias("contested"),
        f.col("manifest.ledger_id").alias("picked_ledgers"), f.col("manifest.entry_id").alias("picked_entries"),
        f.col("stored_bytes").alias("bytes"),
    )  # fmt: skip


def _copies(messages: DataFrame, filters: Filters) -> DataFrame:
    """All sound copies of each wanted publication's chunks, by its key, with `txn_state`: the one that hides most."""
    is_sound = f.col("chunk_id").isNotNull() & (f.col("checksum_state") != "mismatch")
    chunks = messages.filter(is_chunk() & is_sound)
    columns: list[Column | str] = [
        _publication_key(f.coalesce("uuid", f.lit(""))).alias("key"), *_CHUNK,
        f.col("txn_state").cast("int").alias("txn_state"),
    ]  # fmt: skip
    aggregates = [
        f.sort_array(f.collect_list(f.struct(*_CHUNK))).alias("copies"),
        f.max("txn_state").alias("txn_state"),
    ]
    if not filters.producers and not filters.keys:
        return chunks.select(*columns).groupBy("key").agg(*aggregates)
    wanted = of_producers(filters)
    if filters.keys:
        wanted &= has_key(filters.keys)
    by_key = chunks.select(*columns, wanted.alias("wanted")).groupBy("key")
    return by_key.agg(*aggregates, f.bool_or("wanted").alias("wanted")).filter("wanted")


def _publication_key(uuid: Column) -> Column:
    """Eight bytes for topic, uuid and publish time. A collision only adds copies, which are looked at before use."""
    return f.xxhash64("topic", uuid, "publish_time_ms")
