"""Tables -> encrypted messages as they lie in the log: their entries, and whether they may be published like that."""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.log.transactions import with_transactions
from pulsar_backlog.frames.repair.rows import copies_in_log, republished, tried_originals
from pulsar_backlog.messages.kinds import TRANSACTIONS
from pulsar_backlog.messages.provenance import LOOP_PROPERTY
from pulsar_backlog.wire.metadata import FLAG_UNKNOWN_FIELDS

_ENTRY = ("topic", "ledger_id", "entry_id")
_MESSAGE = ("topic", "chunk_uuid", "publish_time_ms", "last_ledger_id", "last_entry_id")


def named_rows(named: DataFrame, entries: DataFrame, chunks: DataFrame) -> DataFrame:
    """Positions that a user names, with what lies there; `topic` is null where nothing does.

    Args:
        named: `ledger_id` and `entry_id`.
        entries: where to look; markers are no messages.
        chunks: a chunk names the message that it belongs to.
    """
    stored = entries.filter(f.col("marker_type").isNull()).select(
        *_ENTRY, f.col("encryption_keys").isNotNull().alias("encrypted")
    )
    owners = chunks.select(*_ENTRY, "chunk_uuid", "publish_time_ms")
    matches = stored.join(f.broadcast(named), on=["ledger_id", "entry_id"], how="left_semi")
    owned = matches.join(owners, on=list(_ENTRY), how="left")
    return named.join(owned, on=["ledger_id", "entry_id"], how="left").orderBy("ledger_id", "entry_id")


def stored_rows(
    publications: DataFrame, verdicts: DataFrame, named: DataFrame, entries: DataFrame, actions: DataFrame
) -> DataFrame:
    """Encrypted messages that are stored whole, one row each, with `parts`: their entries in order.

    `sound`: checksums agree; `agreed`: neither chunks nor copies of one contradict each other; `known`: no field of its
    metadata is unknown; `first`: no repair published it; `republished`: `done`, `unclear` or `no`, by plans and by the
    log. Runs a query, see `with_transactions`.

    Args:
        publications: the chunked messages that are asked for.
        verdicts: rows of `chunked_messages`.
        named: rows of `named_rows`; those that are no chunks are messages of one entry.
        entries: of these topics.
        actions: of earlier plans.
    """
    parts = _chunks(publications, verdicts).unionByName(_singles(named))
    stored = with_transactions(entries).select(
        *_ENTRY, "uri", "offset", "length", "inner_offset", "block_length", "payload_length", "checksum",
        "checksum_state", "flags", "properties", "encryption_keys", "num_messages_in_batch", "schema_version",
        "schema_id", "txn_state", _seal().alias("seal"),
    )  # fmt: skip
    joined = stored.join(f.broadcast(parts), on=list(_ENTRY), how="inner")
    entry = f.struct(
        "number", "ledger_id", "entry_id", "uri", "offset", "length", "checksum", "inner_offset", "block_length"
    )
    whole = joined.groupBy(*_MESSAGE, "expected", "agreed").agg(
        f.sort_array(f.collect_list(entry)).alias("parts"),
        f.sum("payload_length").alias("bytes"),
        f.bool_and(f.col("checksum_state") == "valid").alias("sound"),
        f.bool_and(f.col("encryption_keys").isNotNull()).alias("encrypted"),
        f.bool_and(~f.array_contains(f.coalesce("flags", f.array()), FLAG_UNKNOWN_FIELDS)).alias("known"),
        f.bool_and(f.try_element_at("properties", f.lit(LOOP_PROPERTY)).isNull()).alias("first"),
        # By name: some clients add all keys again with each chunk.
        f.max(f.size(f.array_distinct("encryption_keys.key"))).alias("keys"),
        f.max("num_messages_in_batch").alias("batch_size"),
        f.bool_or(f.coalesce("schema_version", "schema_id").isNotNull()).alias("has_schema"),
        f.max("txn_state").alias("txn_state"),
        f.max_by("seal", "number").alias("seal"),
    )
    return _with_republished(whole.filter(f.size("parts") == f.col("expected")), entries, actions)


def _chunks(publications: DataFrame, verdicts: DataFrame) -> DataFrame:
    key = ["topic", "chunk_uuid", "publish_time_ms"]
    chosen = verdicts.filter(f.col("encrypted") & f.col("rebuildable")).join(
        f.broadcast(publications.select(*key)), on=key, how="left_semi"
    )
    last = f.element_at("manifest", -1)
    agreed = ~f.arrays_overlap("flags", f.array(f.lit("copies_differ"), f.lit("metadata_conflict")))
    return chosen.select(
        *key, last["ledger_id"].alias("last_ledger_id"), last["entry_id"].alias("last_entry_id"),
        f.size("manifest").alias("expected"), agreed.alias("agreed"), f.explode("manifest").alias("chunk"),
    ).select(
        *_MESSAGE, "expected", "agreed", f.col("chunk.chunk_id").alias("number"), f.col("chunk.ledger_id"),
        f.col("chunk.entry_id"),
    )  # fmt: skip


def _singles(named: DataFrame) -> DataFrame:
    return named.filter(f.col("encrypted") & f.col("chunk_uuid").isNull()).select(
        "topic", "chunk_uuid", "publish_time_ms", f.col("ledger_id").alias("last_ledger_id"),
        f.col("entry_id").alias("last_entry_id"), f.lit(1).alias("expected"), f.lit(True).alias("agreed"),
        f.lit(0).alias("number"), "ledger_id", "entry_id",
    )  # fmt: skip


def _seal() -> Column:
    """What a copy has in common with its original and nothing else: a vector is used once with a data key."""
    wrapped = f.transform("encryption_keys", lambda one: one["value"])
    return f.struct(f.col("encryption_param").alias("param"), wrapped.alias("wrapped"), "payload_length")


def _with_republished(messages: DataFrame, entries: DataFrame, actions: DataFrame) -> DataFrame:
    """With `republished`. What proves a copy is its original's seal."""
    copies = copies_in_log(entries.filter(f.col("encryption_keys").isNotNull()), _seal().alias("of_seal"))
    same = [messages["last_ledger_id"] == copies["of_ledger"], messages["last_entry_id"] == copies["of_entry"],
            messages["seal"] == copies["of_seal"]]  # fmt: skip
    there = messages.join(copies, on=reduce(and_, same), how="left_semi").select(
        "topic", "last_ledger_id", "last_entry_id", f.lit("done").alias("there")
    )
    tried = tried_originals(actions).select(
        f.col("ledger_id").alias("last_ledger_id"), f.col("entry_id").alias("last_entry_id"), "tried"
    )
    joined = messages.join(f.broadcast(there), on=["topic", "last_ledger_id", "last_entry_id"], how="left")
    joined = joined.join(f.broadcast(tried), on=["last_ledger_id", "last_entry_id"], how="left")
    return joined.select(
        *_MESSAGE, "parts", "bytes", "sound", "encrypted", "known", "agreed", "first", "keys", "batch_size",
        "has_schema", f.array(*map(f.lit, TRANSACTIONS))[f.col("txn_state")].alias("transaction"),
        republished("there", "tried"),
    )  # fmt: skip
