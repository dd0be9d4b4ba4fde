"""Findings of the scan: from the books per ledger, and from the entries per topic. Frames of `findings` rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f

from pulsar_backlog.findings import CATALOGUE, MAX_EVIDENCE, Finding
from pulsar_backlog.tables import TABLES
from pulsar_backlog.wire.metadata import (
    FLAG_NOT_UTF8,
    FLAG_REPEATED_PROPERTY,
    FLAG_TIME_OUT_OF_RANGE,
    FLAG_UNKNOWN_COMPRESSION,
    FLAG_UNKNOWN_FIELDS,
)


@dataclass(frozen=True)
class Origin:
    """Whose findings: the cluster they are about and the job that makes them."""

    cluster: str
    job: str


_READ = "read from the stored bytes"
_FLAG_CODES = {
    FLAG_UNKNOWN_FIELDS: "E03",
    FLAG_TIME_OUT_OF_RANGE: "E04",
    FLAG_NOT_UTF8: "E06",
    FLAG_REPEATED_PROPERTY: "E07",
    FLAG_UNKNOWN_COMPRESSION: "E07",
}
_COUNTED = {
    "E01": "Entries whose bytes do not agree with their checksum",
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


def findings_of_scans(scans: DataFrame, rejects: DataFrame, origin: Origin) -> DataFrame:
    """What the books of each ledger say: rejected entries, missing entries, damaged blocks, lengths, unread parts."""
    first = Window.partitionBy("ledger_id", "scope").orderBy("offset", "code")
    place = f.concat_ws(" ", "code", f.concat(f.lit("at "), "uri", f.lit("+"), f.col("offset").cast("string")))
    listed = rejects.withColumn("number", f.row_number().over(first)).filter(f.col("number") <= MAX_EVIDENCE)
    evidence = listed.groupBy("ledger_id").agg(
        f.collect_list(f.when(f.col("scope") == "entry", place)).alias("entry_evidence"),
        f.collect_list(f.when(f.col("scope") == "structure", place)).alias("structure_evidence"),
        f.min(f.when(f.col("scope") == "entry", f.col("entry_id"))).alias("first_entry"),
    )
    books = scans.join(evidence, on="ledger_id", how="left")
    none = f.array().cast("array<string>")
    missing = f.col("expected_entries") - f.col("frames")
    short = f.col("expected_bytes") - f.col("entry_bytes")
    whole = f.col("complete")
    promised = "%d of %d entries that the ledger metadata promises are not in the data object."
    blocks = "%d faults in block headers, entry chains or padding."
    cases = (
        ("E02", f.col("rejected") > 0, f.col("rejected"), "entry_evidence",
         f.format_string("%d of %d entries could not be decoded.", "rejected", "frames")),
        ("S12", f.col("structure_faults") > 0, f.col("structure_faults"), "structure_evidence",
         f.format_string(blocks, "structure_faults")),
        ("S13", whole & (missing > 0), missing, "structure_evidence",
         f.format_string(promised, missing, "expected_entries")),
        ("S14", whole & (missing == 0) & (short != 0), f.lit(1), None,
         f.format_string("The entries hold %d bytes; the metadata records %d.", "entry_bytes", "expected_bytes")),
        ("S02", ~whole, f.col("unreadable_units"), None,
         f.format_string("%d of %d parts of the data object could not be read.", "unreadable_units", "units")),
    )  # fmt: skip
    frames = [
        books.filter(when).select(
            *_columns(
                code, origin, f.concat(f.lit("ledger:"), f.col("ledger_id").cast("string")),
                ledger_id=f.col("ledger_id"), entry_id=f.col("first_entry") if code == "E02" else f.lit(None),
                count=count, message=message, incomplete=f.lit(code == "S02"),
                evidence=f.coalesce(evidence, none) if evidence else none,
            )
        )
        for code, when, count, evidence, message in cases
    ]  # fmt: skip
    return _together(frames)


def findings_of_entries(entries: DataFrame, origin: Origin) -> DataFrame:
    """Per topic and code: entries whose checksum is wrong or absent, and entries that are odd but readable."""
    codes = f.array_union(
        f.transform(
            f.coalesce("flags", f.array().cast("array<string>")),
            lambda flag: f.coalesce(code_of(flag, _FLAG_CODES), f.lit("E07")),
        ),
        f.array_compact(
            f.array(
                f.when(f.col("checksum_state") == "mismatch", "E01"), f.when(f.col("checksum_state") == "absent", "E05")
            )
        ),
    )
    odd = entries.filter((f.col("checksum_state") != "valid") | f.col("flags").isNotNull())
    sure = (f.lit("certain").alias("sureness"), f.lit(_READ).alias("reason"))
    coded = odd.select("topic", "ledger_id", "entry_id", *sure, f.explode(codes).alias("code"))
    return counted_findings(coded, _COUNTED, origin)


def counted_findings(coded: DataFrame, counted: dict[str, str], origin: Origin) -> DataFrame:
    """One finding per topic and code of `coded` (topic, code, ledger_id, entry_id, sureness, reason).

    Position and evidence are those of the first places; where they are not equally sure, the least sure counts.
    """
    first = Window.partitionBy("topic", "code").orderBy("ledger_id", "entry_id")
    position = f.concat_ws(":", f.col("ledger_id").cast("string"), f.col("entry_id").cast("string"))
    doubt = f.when(f.col("sureness") == "certain", 0).when(f.col("sureness") == "likely", 1).otherwise(2)
    place = f.struct("number", position.alias("at"))
    numbered = coded.withColumn("number", f.row_number().over(first))
    grouped = numbered.groupBy("topic", "code").agg(
        f.count("*").alias("count"),
        f.min_by("ledger_id", "number").alias("ledger_id"),
        f.min_by("entry_id", "number").alias("entry_id"),
        f.max(f.struct(doubt.alias("doubt"), "sureness", "reason")).alias("least_sure"),
        f.array_sort(f.collect_list(f.when(f.col("number") <= MAX_EVIDENCE, place))).alias("places"),
    )  # fmt: skip
    frames = [
        grouped.filter(f.col("code") == code).select(
            *_columns(
                code, origin, f.coalesce("topic", f.lit("topic unknown")), ledger_id=f.col("ledger_id"),
                entry_id=f.col("entry_id"), count=f.col("count"),
                message=f.format_string(f"{what}: %d.", "count"),
                sureness=f.col("least_sure.sureness"), reason=f.col("least_sure.reason"),
                evidence=f.col("places.at"), incomplete=f.lit(False),
            )
        )
        for code, what in counted.items()
    ]  # fmt: skip
    return _together(frames)


def code_of(value: Column, codes: Mapping[Any, str]) -> Column:
    """The finding code of a state or flag; null where it has none."""
    found = f.lit(None).cast("string")
    for name, code in codes.items():
        found = f.when(value == name, code).otherwise(found)
    return found


def _columns(code: str, origin: Origin, subject: Column, **given: Column) -> list[Column]:
    """The columns of `findings` in order; `topic` comes from the frame."""
    kind = CATALOGUE[code]
    values = {
        "cluster": f.lit(origin.cluster),
        "job": f.lit(origin.job),
        "code": f.lit(code),
        "name": f.lit(kind.name),
        "severity": f.lit(kind.severity),
        "subject": subject,
        "topic": f.col("topic"),
        "sureness": f.lit("certain"),
        "reason": f.lit(_READ),
    } | given
    schema = {column.name: column.type for column in TABLES["findings"].columns}
    return [values[name].cast(schema[name]).alias(name) for name in schema]


def _together(frames: list[DataFrame]) -> DataFrame:
    first, *others = frames
    for frame in others:
        first = first.unionByName(frame)
    return first
