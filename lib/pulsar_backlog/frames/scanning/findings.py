"""Findings of the scan: from the books per ledger, and from the entries per topic. Frames of `findings` rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as f

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.frames.finding_rows import Origin, as_findings, code_of, subject
from pulsar_backlog.ledgers.budget import TopicBytes
from pulsar_backlog.ledgers.values import PlannedCopy

_READ = "read from the stored bytes"
_COUNTED = {
    "E01": "Entries whose bytes do not match their checksum",
    "E03": "Entries with metadata fields this version does not know",
    "E04": "Entries with times outside the years 1970 to 9999",
    "E05": "Entries without a checksum",
    "E06": "Entries with text that is not UTF-8",
    "E07": "Entries with odd metadata",
}


def findings_of_changed(rows: Iterable[Row]) -> Iterator[Finding]:
    """A finding for each scanned object that is not what it was."""
    for row in rows:
        before, after = row["scanned_bytes"], row["data_bytes"]
        yield Finding(
            "S17",
            f"ledger:{row['ledger_id']}",
            f"The data object of ledger {row['ledger_id']} was {before} bytes when it was scanned, and is {after} now.",
            topic=row["topic"],
            ledger_id=row["ledger_id"],
            reason="size or version tag differs from the last scan's",
            evidence=(row["data_uri"],),
        )


def findings_of_left(
    left: Iterable[PlannedCopy], topics: Mapping[str | None, TopicBytes], budget: str
) -> Iterator[Finding]:
    """A finding for each topic with ledgers that were left unread by the `budget` that was typed."""
    by_topic: dict[str | None, list[PlannedCopy]] = {}
    for copy in left:
        by_topic.setdefault(copy.topic, []).append(copy)
    for topic, copies in sorted(by_topic.items(), key=lambda one: one[0] or ""):
        unread, stored = sum(copy.data_bytes or 0 for copy in copies), topics[topic].stored
        first, last = copies[0].ledger_id, copies[-1].ledger_id
        yield Finding(
            LEFT_UNREAD,
            topic or "ledgers without a topic",
            f"{counted(len(copies), 'ledger')} of ids {first} to {last} ({unread:,} of {stored:,} bytes) are not read "
            f"yet, because of {budget}.",
            topic=topic,
            count=len(copies),
            reason="chosen by option",
            evidence=tuple(f"ledger:{copy.ledger_id}" for copy in copies[:MAX_EVIDENCE]),
            incomplete=True,
        )


def findings_of_scans(scans: DataFrame, rejects: DataFrame, origin: Origin) -> DataFrame:
    """What the books of each ledger say: rejected entries, missing entries, damaged blocks, lengths, unread parts."""
    first = Window.partitionBy("ledger_id", "scope").orderBy("offset", "code")
    place = f.concat_ws(" ", "code", f.concat(f.lit("at "), "uri", f.lit("+"), f.col("offset").cast("string")))
    entry = f.concat(f.col("code"), f.lit(" at "), f.concat_ws(":", "ledger_id", "entry_id"))
    listed = rejects.withColumn("number", f.row_number().over(first)).filter(f.col("number") <= MAX_EVIDENCE)
    evidence = listed.groupBy("ledger_id").agg(
        f.collect_list(f.when(f.col("scope") == "entry", place)).alias("entry_evidence"),
        f.collect_list(f.when(f.col("scope") == "structure", place)).alias("structure_evidence"),
        f.collect_list(f.when(f.col("scope") == "hidden", entry)).alias("hidden_evidence"),
        f.min(f.when(f.col("scope") == "entry", f.col("entry_id"))).alias("first_entry"),
    )
    hidden = rejects.filter(f.col("scope") == "hidden").groupBy("ledger_id").agg(f.count("*").alias("hidden"))
    books = scans.join(evidence, on="ledger_id", how="left").join(hidden, on="ledger_id", how="left")
    none = f.array().cast("array<string>")
    missing = f.col("expected_entries") - f.col("frames")
    short = f.col("expected_bytes") - f.col("entry_bytes")
    whole = f.col("complete")
    promised = "%d of %d entries that the ledger metadata promises are not in the data object."
    around = "%d faults in the bytes around entries: headers, blocks, records, sync markers, padding."
    cases = (
        ("E02", f.col("rejected") > 0, f.col("rejected"), "entry_evidence",
         f.format_string("%d of %d entries could not be decoded.", "rejected", "frames")),
        ("S12", f.col("structure_faults") > 0, f.col("structure_faults"), "structure_evidence",
         f.format_string(around, "structure_faults")),
        ("S13", whole & (missing > 0), missing, "structure_evidence",
         f.format_string(promised, missing, "expected_entries")),
        ("S14", whole & (missing == 0) & (short != 0), f.lit(1), None,
         f.format_string("The entries hold %d bytes; the metadata records %d.", "entry_bytes", "expected_bytes")),
        ("S40", f.col("hidden") > 0, f.col("hidden"), "hidden_evidence",
         f.format_string("%d entries that the broker confirmed and hides from every consumer.", "hidden")),
        ("S02", ~whole, f.col("unreadable_units"), None,
         f.format_string("%d of %d parts could not be read: %s", "unreadable_units", "units", "unreadable")),
    )  # fmt: skip
    frames = [
        books.filter(when).select(
            f.lit(code).alias("code"), f.concat(f.lit("ledger:"), f.col("ledger_id").cast("string")).alias("subject"),
            "topic", "ledger_id", (f.col("first_entry") if code == "E02" else f.lit(None)).alias("entry_id"),
            count.alias("count"), f.lit("certain").alias("sureness"), f.lit(_READ).alias("reason"),
            message.alias("message"), (f.coalesce(evidence, none) if evidence else none).alias("evidence"),
            f.lit(code == "S02").alias("incomplete"),
        )
        for code, when, count, evidence, message in cases
    ]  # fmt: skip
    return as_findings(reduce(DataFrame.unionByName, frames), origin)


def findings_of_entries(facts: DataFrame, origin: Origin) -> DataFrame:
    """Per topic and code: entries whose checksum is wrong or absent, and entries that are odd but readable.

    `facts` are rows of `ledger_facts`.
    """
    place = f.transform("entry_ids", lambda entry_id: f.concat_ws(":", "ledger_id", entry_id.cast("string")))
    odd = facts.select("topic", "ledger_id", f.inline("odd"))
    grouped = odd.groupBy("topic", "code").agg(
        f.sum("count").alias("count"),
        f.array_sort(f.collect_list(f.struct("ledger_id", "entry_ids", place.alias("places")))).alias("found"),
    )
    message = f.concat(code_of(f.col("code"), _COUNTED), f.lit(": "), f.col("count").cast("string"), f.lit("."))
    noticed = grouped.select(
        "code", subject().alias("subject"), "topic", f.col("found")[0]["ledger_id"].alias("ledger_id"),
        f.col("found")[0]["entry_ids"][0].alias("entry_id"), "count", f.lit("certain").alias("sureness"),
        f.lit(_READ).alias("reason"), message.alias("message"),
        f.slice(f.flatten("found.places"), 1, MAX_EVIDENCE).alias("evidence"), f.lit(False).alias("incomplete"),
    )  # fmt: skip
    return as_findings(noticed, origin)
