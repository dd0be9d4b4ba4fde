"""Places of findings about subscriptions, from stalls and stored batches."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.codes import code_of
from pulsar_backlog.frames.subscriptions.stall_join import first_place
from pulsar_backlog.subscriptions.stall_kinds import CODES

COUNTED = {
    "C23": "Chunked messages of which a subscription has acknowledged a part",
    "C24": "Sets of chunks in a subscription's backlog that no client can be delivered",
    "C25": "Sets of chunks that a Shared subscription cannot deliver",
    "C26": "Chunked messages that wait on a Key_Shared subscription",
    "C28": "Chunked messages of which the compacted topic keeps only the last chunk",
    "K07": "Whole chunked messages that a subscription passed over",
    "K12": "Entries whose batch is smaller than the acknowledged indexes say",
}


def places_of_stalls(stalls: DataFrame) -> DataFrame:
    """Rows as `frames.codes.CODED`; positions are where each set begins, see `first_place`."""
    kinds = f.array_append("also", f.col("kind"))
    codes = f.array_distinct(f.array_compact(f.transform(kinds, lambda kind: code_of(kind, CODES))))
    first = first_place()
    return stalls.select(
        "topic", first["ledger_id"].alias("ledger_id"), first["entry_id"].alias("entry_id"), "sureness", "reason",
        f.explode(codes).alias("code"),
    )  # fmt: skip


def places_of_batches(joined: DataFrame) -> DataFrame:
    """The same of batch indexes that the batches do not have (K12)."""
    return joined.filter(f.col("impossible")).select(
        "topic", "ledger_id", f.col("first_entry_id").alias("entry_id"), f.lit("certain").alias("sureness"),
        f.lit("compared with the stored batch").alias("reason"), f.lit("K12").alias("code"),
    )  # fmt: skip
