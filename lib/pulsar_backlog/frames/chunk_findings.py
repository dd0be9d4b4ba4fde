"""Findings about chunked messages: per topic, what is wrong with how many of them, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.chunks.verdict_findings import FLAG_CODES, STATE_CODES
from pulsar_backlog.frames.entry_findings import Origin, counted_findings

SENTENCES = {
    "C02": "chunked messages with a repeated beginning (stored again before they were complete).",
    "C03": "chunked messages with overlapping chunks (some stored twice before they were complete).",
    "C04": "whole chunked messages followed by a rest of themselves.",
    "C05": "chunked messages that are stored whole more than once.",
    "C06": "chunked messages begin but never end.",
    "C07": "chunked messages may still be arriving.",
    "C08": "chunked messages without their first chunk.",
    "C09": "chunked messages with chunks missing in the middle.",
    "C10": "chunked messages are complete but out of order.",
    "C11": "chunked messages whose chunks contradict each other.",
    "C12": "chunked messages whose uuid other messages use as well.",
    "C13": "chunked messages whose sizes or counts contradict their bytes.",
    "C14": "chunked messages that cannot be decompressed.",
    "C15": "chunked messages with chunk fields that make no sense.",
    "C17": "whole chunked messages followed by their own beginning.",
    "C22": "chunked messages lie in more than one ledger.",
    "C33": "chunked messages that a client joins with another one.",
    "C34": "chunked messages with a damaged chunk.",
    "C35": "chunked messages of which two copies of a chunk differ.",
    "C36": "chunked messages that are cut unevenly or hold an empty chunk.",
}


def findings_of_chunks(publications: DataFrame, origin: Origin) -> DataFrame:
    """One finding per topic and code; positions are those of the first copies."""
    of_state = _lookup(f.col("state"), STATE_CODES)
    of_flags = f.transform("flags", lambda flag: _lookup(flag, FLAG_CODES))
    codes = f.array_distinct(f.array_compact(f.array_append(of_flags, of_state)))
    coded = publications.select(
        "topic", f.col("first_ledger_id").alias("ledger_id"), f.col("first_entry_id").alias("entry_id"),
        "sureness", "reason", f.explode(codes).alias("code"),
    )  # fmt: skip
    return counted_findings(coded, SENTENCES, origin)


def _lookup(value: Column, codes: Mapping[Any, str]) -> Column:
    found = f.lit(None).cast("string")
    for name, code in codes.items():
        found = f.when(value == name, code).otherwise(found)
    return found
