"""Findings about chunked messages: per topic, what is wrong with how many of them, and where."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.chunks.verdict_findings import FLAG_CODES, NO_LOSS, STATE_CODES
from pulsar_backlog.frames.finding_rows import Origin, code_of, counted_findings

COUNTED = {
    "C01": "Chunked messages that are stored whole, in order and undamaged",
    "C02": "Chunked messages with a repeated beginning (stored again before they were complete)",
    "C03": "Chunked messages with overlapping chunks (some stored twice before they were complete)",
    "C04": "Whole chunked messages followed by a rest of themselves",
    "C05": "Chunked messages that are stored whole more than once",
    "C06": "Chunked messages without their end",
    "C07": "Chunked messages that may still be arriving",
    "C08": "Chunked messages without their first chunk",
    "C09": "Chunked messages with chunks missing in the middle",
    "C10": "Chunked messages that are complete but out of order",
    "C11": "Chunked messages whose chunks contradict each other",
    "C12": "Chunked messages whose uuid other sends use as well",
    "C13": "Chunked messages whose sizes or counts contradict their bytes",
    "C14": "Chunked messages that cannot be decompressed",
    "C15": "Chunked messages with invalid chunk fields",
    "C16": "Chunked messages of which deduplication dropped chunks",
    "C17": "Whole chunked messages followed by their own beginning",
    "C18": "Chunked messages that were completed in another order than their producer numbered them",
    "C22": "Chunked messages that lie in more than one ledger",
    "C27": "Chunked messages that end the topic and are never delivered",
    "C30": "Chunked messages that a transaction hides",
    "C31": "Producers whose chunks leave no room for their header",
    "C33": "Chunked messages that a client joins with another one",
    "C34": "Chunked messages with a damaged chunk",
    "C35": "Chunked messages of which two copies of a chunk differ",
    "C36": "Chunked messages that are cut unevenly or hold an empty chunk",
    "C37": "First chunks of chunked messages that were resent and are stored whole",
}


def findings_of_chunks(publications: DataFrame, in_context: DataFrame, origin: Origin) -> DataFrame:
    """One finding per topic and code; positions are those of the first copies.

    Args:
        publications: rows of `chunked_messages`.
        in_context: codes that need more than one row of it, as `codes_in_context` makes them.
        origin: whose findings.
    """
    of_flags = f.transform("flags", lambda flag: code_of(flag, FLAG_CODES))
    flawless = (f.col("state") == "whole") & (f.size(f.array_remove("flags", "ledger_span")) == 0)
    of_state = f.when(~f.array_contains("flags", NO_LOSS), code_of(f.col("state"), STATE_CODES))
    others = f.array(of_state, f.when(flawless, "C01"))
    codes = f.array_distinct(f.array_compact(f.concat(of_flags, others)))
    coded = publications.select(
        "topic", f.col("first_ledger_id").alias("ledger_id"), f.col("first_entry_id").alias("entry_id"),
        "sureness", "reason", f.explode(codes).alias("code"),
    )  # fmt: skip
    return counted_findings(coded.unionByName(in_context), COUNTED, origin)
