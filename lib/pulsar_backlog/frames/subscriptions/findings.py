"""Findings about subscriptions from stalls and stored batches, one per topic and code."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.finding_rows import Origin, code_of, counted_findings
from pulsar_backlog.frames.subscriptions.stall_join import first_place
from pulsar_backlog.subscriptions.stalls import CODES

_COUNTED = {
    "C23": "Chunked messages of which a subscription has acknowledged a part",
    "C24": "Sets of chunks in a subscription's backlog that no client can be delivered",
    "C25": "Sets of chunks that a Shared subscription cannot deliver",
    "C26": "Chunked messages that wait on a Key_Shared subscription",
    "C28": "Chunked messages of which the compacted topic keeps only the last chunk",
    "K07": "Whole chunked messages that a subscription passed over",
}


def findings_of_stalls(stalls: DataFrame, origin: Origin) -> DataFrame:
    """One finding per topic and code; positions are where each set begins, see `first_place`."""
    kinds = f.array_append("also", f.col("kind"))
    codes = f.array_distinct(f.array_compact(f.transform(kinds, lambda kind: code_of(kind, _codes()))))
    first = first_place()
    coded = stalls.select(
        "topic", first["ledger_id"].alias("ledger_id"), first["entry_id"].alias("entry_id"), "sureness", "reason",
        f.explode(codes).alias("code"),
    )  # fmt: skip
    return counted_findings(coded, _COUNTED, origin)


def _codes() -> dict[str, str]:
    return {kind: code for kind, code in CODES.items() if code} | {"compaction_truncation": "C28"}


def findings_of_batches(joined: DataFrame, origin: Origin) -> DataFrame:
    """K12 for each topic with batch indexes that the batches do not have."""
    bad = joined.filter(f.col("impossible")).select(
        "topic", "ledger_id", f.col("first_entry_id").alias("entry_id"), f.lit("certain").alias("sureness"),
        f.lit("compared with the stored batch").alias("reason"), f.lit("K12").alias("code"),
    )  # fmt: skip
    return counted_findings(bad, {"K12": "Entries whose batch is smaller than the acknowledged indexes say"}, origin)
