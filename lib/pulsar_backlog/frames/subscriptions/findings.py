"""Places of findings about subscriptions, from stalls and stored batches."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.findings import count_sentences
from pulsar_backlog.frames.codes import code_of
from pulsar_backlog.frames.subscriptions.stall_join import first_place
from pulsar_backlog.subscriptions.stall_kinds import CODES

COUNTED = count_sentences("C23", "C24", "C25", "C26", "C28", "K07", "K12")


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
