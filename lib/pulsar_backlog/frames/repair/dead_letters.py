"""Copies in dead-letter topics of messages whose chunks stayed at the source.

Clients write into a dead letter's properties where it came from. Anyone may write properties, so a copy counts only if
an export verified it, and its payload has the SHA-256 of the original's.

    ORIGIN_MESSAGE_ID   1187:0:-1;1187:4:-1   of a chunked message those of its first and last chunk
    REAL_SUBSCRIPTION   that rejected it

Source: ConsumerImpl and RetryMessageUtil of apache/pulsar, and a dead letter of Java 4.2.4.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.messages.kinds import NOT_COMMITTED

ORIGIN_ID = "ORIGIN_MESSAGE_ID"
SUBSCRIPTION = "REAL_SUBSCRIPTION"
_LAST = r"(\d{1,18}):(\d{1,18}):-?\d{1,9}\z"
_ORIGINAL = ("ledger_id", "entry_id", "payload_sha256")


def dead_letter_rows(messages: DataFrame, exports: DataFrame) -> DataFrame:
    """One row for each original and subscription with a verified copy: `subscription`, and `copy`, where it lies.

    Args:
        messages: of all topics.
        exports: rows of `export_rows`, the originals.
    """
    origin = f.try_element_at("properties", f.lit(ORIGIN_ID))
    pending = f.coalesce(f.col("transaction"), f.lit("")).isin(*NOT_COMMITTED)
    copies = messages.filter(f.col("verified") & ~pending & origin.rlike(_LAST)).select(
        f.regexp_extract(origin, _LAST, 1).cast("bigint").alias("ledger_id"),
        f.regexp_extract(origin, _LAST, 2).cast("bigint").alias("entry_id"),
        "payload_sha256",
        f.try_element_at("properties", f.lit(SUBSCRIPTION)).alias("subscription"),
        f.col("topic").alias("of_topic"),
        f.concat_ws(" ", "topic", f.concat_ws(":", "ledger_id", "entry_id")).alias("copy"),
    )
    originals = exports.filter("verified").select("topic", "chunk_uuid", "publish_time_ms", *_ORIGINAL)
    joined = originals.join(copies, on=list(_ORIGINAL), how="inner").filter(f.col("of_topic") != f.col("topic"))
    return joined.groupBy("topic", "subscription", "chunk_uuid", "publish_time_ms").agg(f.min("copy").alias("copy"))
