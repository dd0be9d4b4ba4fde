"""Frames of `findings` rows: what was noticed, in the catalogue's terms, one finding per topic and code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.findings import CATALOGUE, MAX_EVIDENCE
from pulsar_backlog.tables import TABLES


@dataclass(frozen=True)
class Origin:
    """Whose findings: the cluster they are about and the job that makes them."""

    cluster: str
    job: str


NOTICED_COLUMNS = (
    "code", "subject", "topic", "ledger_id", "entry_id", "count", "sureness", "reason", "message", "evidence",
    "incomplete",
)  # fmt: skip
"""What a frame must say for `as_findings`."""


def as_findings(noticed: DataFrame, origin: Origin) -> DataFrame:
    """Rows of `findings`: `noticed` (as `NOTICED_COLUMNS`) with name and severity of its codes."""
    told = {
        "cluster": f.lit(origin.cluster),
        "job": f.lit(origin.job),
        "name": code_of(f.col("code"), {code: kind.name for code, kind in CATALOGUE.items()}),
        "severity": code_of(f.col("code"), {code: kind.severity for code, kind in CATALOGUE.items()}),
    }
    told |= {name: f.col(name) for name in NOTICED_COLUMNS}
    return noticed.select(*(told[c.name].cast(c.type).alias(c.name) for c in TABLES["findings"].columns))


def counted_findings(coded: DataFrame, counted: Mapping[str, str], origin: Origin) -> DataFrame:
    """One finding per topic and code of `coded` (topic, code, ledger_id, entry_id, sureness, reason).

    `counted` says what is counted, by code; other codes are left out. Position and evidence are those of the first
    places; where they are not equally sure, the least sure counts.
    """
    first = Window.partitionBy("topic", "code").orderBy("ledger_id", "entry_id")
    numbered = coded.filter(f.col("code").isin(*counted)).withColumn("number", f.row_number().over(first))
    place = f.struct("number", position_text().alias("at"))
    grouped = numbered.groupBy("topic", "code").agg(
        f.count("*").alias("count"),
        f.min_by("ledger_id", "number").alias("ledger_id"),
        f.min_by("entry_id", "number").alias("entry_id"),
        least_sure().alias("least_sure"),
        f.array_sort(f.collect_list(f.when(f.col("number") <= MAX_EVIDENCE, place))).alias("places"),
    )
    message = f.concat(code_of(f.col("code"), counted), f.lit(": "), f.col("count").cast("string"), f.lit("."))
    noticed = grouped.select(
        "code", subject().alias("subject"), "topic", "ledger_id", "entry_id", "count",
        f.col("least_sure.sureness").alias("sureness"), f.col("least_sure.reason").alias("reason"),
        message.alias("message"), f.col("places.at").alias("evidence"), f.lit(False).alias("incomplete"),
    )  # fmt: skip
    return as_findings(noticed, origin)


def subject() -> Column:
    """What a finding about a topic is about."""
    return f.coalesce("topic", f.lit("topic unknown"))


def position_text() -> Column:
    """`ledger:entry` of a row."""
    return f.concat_ws(":", f.col("ledger_id").cast("string"), f.col("entry_id").cast("string"))


def least_sure() -> Column:
    """The least sure `sureness` of a group with its `reason`."""
    doubt = f.when(f.col("sureness") == "certain", 0).when(f.col("sureness") == "likely", 1).otherwise(2)
    return f.max(f.struct(doubt.alias("doubt"), "sureness", "reason"))


def code_of(value: Column, codes: Mapping[Any, str]) -> Column:
    """What `codes` says of a value; null where it says nothing."""
    # One text, which Spark takes apart once: each `when` of a chain would be a dozen calls to the JVM.
    text = f.lit("\x1e".join(f"{name}\x1f{code}" for name, code in codes.items()))
    return f.try_element_at(f.str_to_map(text, f.lit("\x1e"), f.lit("\x1f")), value)
