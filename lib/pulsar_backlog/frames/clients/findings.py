"""Findings of the consumer models: per topic, what the log does to whom, and where."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.frames.finding_rows import Origin, as_findings, least_sure, position_text
from pulsar_backlog.terms import COMPLETE

DAMAGE_CODES = {
    "reconnect_loop": "C41",
    "process_death": "C42",
    "panic": "C42",
    "query_failure": "C42",
    "permit_stall": "C43",
    "dispatch_stall": "C43",
}


def findings_of_models(outcomes: DataFrame, forecasts: DataFrame, publications: DataFrame, origin: Origin) -> DataFrame:
    """Rows of `findings` from all that the models said, and from the spans of whole messages."""
    frames = (
        _overflows(forecasts),
        _spans(publications),
        _divergence(outcomes, publications),
        _permit_leaks(forecasts),
        _mixtures(outcomes),
        _damages(forecasts),
    )
    return as_findings(reduce(DataFrame.unionByName, frames), origin)


def _overflows(forecasts: DataFrame) -> DataFrame:
    """C19: more open at one time, in the log, than a model keeps."""
    over = forecasts.filter(f.col("peak_open_in_log") > f.col("pending_limit"))
    text = f.concat_ws(" ", f.col("model"), f.lit("keeps"), f.col("pending_limit"))
    grouped = over.groupBy("topic").agg(f.max("peak_open_in_log").alias("count"), _told(text).alias("told"))
    message = f.format_string("%d chunked messages are open at one time: %s.", "count", f.concat_ws(", ", "told"))
    return _noticed(grouped, "C19", "count", message, f.array().cast("array<string>"), "likely", _FROM_TIMES)


def _spans(publications: DataFrame) -> DataFrame:
    """C20: whole messages that took longer than the default expiry."""
    slow = publications.filter((f.col("span_ms") > DEFAULT_EXPIRY_MS) & f.col("state").isin(*COMPLETE))
    placed = slow.select(
        "topic", "span_ms", f.col("first_ledger_id").alias("ledger_id"), f.col("first_entry_id").alias("entry_id")
    )
    grouped = placed.groupBy("topic").agg(f.count("*").alias("count"), f.max("span_ms").alias("longest"), *_places())
    message = f.format_string(
        "Chunked messages that took longer than 60 seconds to store: %d, the longest %d milliseconds.",
        "count",
        "longest",
    )
    return _noticed(grouped, "C20", "count", message, _evidence(), "certain", "read from the broker's timestamps")


def _divergence(outcomes: DataFrame, publications: DataFrame) -> DataFrame:
    """C21: whole in the log, and not delivered exactly once."""
    whole = publications.filter(f.col("state").isin(*COMPLETE)).select("topic", "chunk_uuid", "publish_time_ms")
    other = outcomes.filter(f.col("outcome") != "delivered")
    parted = other.join(whole, on=["topic", "chunk_uuid", "publish_time_ms"], how="left_semi")
    by_model = parted.groupBy("topic", "model", "outcome").agg(f.count("*").alias("n"))
    told = by_model.groupBy("topic").agg(_told(f.concat_ws(" ", "model", "n", "outcome")).alias("told"))
    one = _first_places(parted, "chunk_uuid", "publish_time_ms").join(told, on="topic", how="inner")
    message = f.format_string(
        "Whole chunked messages that a client does not deliver exactly once: %d (%s).",
        "count",
        f.concat_ws(", ", "told"),
    )
    return _noticed_unsure(one, "C21", message)


def _permit_leaks(forecasts: DataFrame) -> DataFrame:
    """C32: as many permits kept as half the receiver queue."""
    leaks = forecasts.filter(f.col("permits_kept") * 2 >= f.col("receiver_queue"))
    grouped = leaks.groupBy("topic").agg(
        f.max("permits_kept").alias("count"),
        _told(f.format_string("%s keeps %d of %d", "model", "permits_kept", "receiver_queue")).alias("told"),
    )
    message = f.format_string("Permits that a client keeps: %d at most (%s).", "count", f.concat_ws(", ", "told"))
    return _noticed(grouped, "C32", "count", message, f.array().cast("array<string>"), "likely", _FROM_BEGINNING)


def _mixtures(outcomes: DataFrame) -> DataFrame:
    """C40: delivered as part of a mixture."""
    mixed = outcomes.filter(f.col("mixed_deliveries") > 0)
    models = mixed.groupBy("topic").agg(_told(f.col("model")).alias("told"))
    one = _first_places(mixed, "chunk_uuid", "publish_time_ms").join(models, on="topic", how="inner")
    message = f.format_string(
        "Chunked messages that a client joins with another one and delivers: %d (%s).",
        "count",
        f.concat_ws(", ", "told"),
    )
    return _noticed_unsure(one, "C40", message)


def _damages(forecasts: DataFrame) -> DataFrame:
    """C41 to C43: what breaks or stops a client, the first place of each kind with the models it concerns."""
    code = reduce(
        lambda found, item: f.when(f.col("damage") == item[0], item[1]).otherwise(found),
        DAMAGE_CODES.items(),
        f.lit(None),
    )
    hit = forecasts.filter(f.col("damage").isNotNull()).select(
        "topic", code.alias("code"), f.col("damage_ledger_id").alias("ledger_id"),
        f.col("damage_entry_id").alias("entry_id"), "sureness", f.lit(_FROM_MODEL).alias("reason"),
        f.format_string(
            "%s: %s at %d:%d, messages behind it: %d",
            "model", "damage", "damage_ledger_id", "damage_entry_id", "blocked",
        ).alias("told"),
    )  # fmt: skip
    grouped = hit.groupBy("topic", "code").agg(
        f.count("*").alias("count"), *_places(), least_sure().alias("unsure"), _told(f.col("told")).alias("told")
    )
    return grouped.select(
        "code", f.col("topic").alias("subject"), "topic", "ledger_id", "entry_id", "count",
        f.col("unsure.sureness").alias("sureness"), f.col("unsure.reason").alias("reason"),
        f.concat(f.array_join("told", "; "), f.lit(".")).alias("message"), _evidence().alias("evidence"),
        f.lit(False).alias("incomplete"),
    )  # fmt: skip


_FROM_TIMES = "counted by stored times; a consumer that catches up has them open for a shorter or longer time"
_FROM_MODEL = "predicted by a model of the client"
_FROM_BEGINNING = "counted from the beginning of the log, without a reconnect"


def _told(text: Column) -> Column:
    """All such texts of a group, sorted: a few, one per model."""
    return f.array_sort(f.collect_set(text))


def _places() -> tuple[Column, ...]:
    """First position of a group, and the first twenty."""
    place = f.struct("ledger_id", "entry_id")
    return (
        f.min(place).getField("ledger_id").alias("ledger_id"),
        f.min(place).getField("entry_id").alias("entry_id"),
        f.min_by(position_text(), place).alias("at"),
    )


def _evidence() -> Column:
    return f.array("at")


def _first_places(rows: DataFrame, *key: str) -> DataFrame:
    """Per topic: how many publications, the first twenty positions, and the least sure of them."""
    once = rows.groupBy("topic", *key).agg(
        f.min("first_ledger_id").alias("ledger_id"), f.min("first_entry_id").alias("entry_id"),
        least_sure().alias("unsure"),
    ).select("topic", "ledger_id", "entry_id", "unsure.sureness", "unsure.reason")  # fmt: skip
    first = Window.partitionBy("topic").orderBy("ledger_id", "entry_id")
    numbered = once.withColumn("number", f.row_number().over(first))
    at = f.when(f.col("number") <= MAX_EVIDENCE, f.struct("number", position_text().alias("at")))
    return numbered.groupBy("topic").agg(
        f.count("*").alias("count"), f.min_by("ledger_id", "number").alias("ledger_id"),
        f.min_by("entry_id", "number").alias("entry_id"), least_sure().alias("unsure"),
        f.array_sort(f.collect_list(at)).getField("at").alias("evidence"),
    )  # fmt: skip


def _noticed_unsure(rows: DataFrame, code: str, message: Column) -> DataFrame:
    return rows.select(
        f.lit(code).alias("code"), f.col("topic").alias("subject"), "topic", "ledger_id", "entry_id", "count",
        f.col("unsure.sureness").alias("sureness"), f.col("unsure.reason").alias("reason"), message.alias("message"),
        "evidence", f.lit(False).alias("incomplete"),
    )  # fmt: skip


def _noticed(
    rows: DataFrame, code: str, count: str, message: Column, evidence: Column, sureness: str, reason: str
) -> DataFrame:
    known = set(rows.columns)
    place = {name: f.col(name) if name in known else f.lit(None).cast("bigint") for name in ("ledger_id", "entry_id")}
    return rows.select(
        f.lit(code).alias("code"), f.col("topic").alias("subject"), "topic",
        *(column.alias(name) for name, column in place.items()), f.col(count).cast("bigint").alias("count"),
        f.lit(sureness).alias("sureness"), f.lit(reason).alias("reason"), message.alias("message"),
        evidence.alias("evidence"), f.lit(False).alias("incomplete"),
    )  # fmt: skip
