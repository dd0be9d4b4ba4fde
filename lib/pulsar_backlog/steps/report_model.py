"""The report's model, asked of all tables in few queries that run at once; bounded by topics, never by entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.report import acks as report_acks
from pulsar_backlog.frames.report import rows as queries
from pulsar_backlog.report import acks, acks_build, build, clients, model
from pulsar_backlog.report.model import ReportModel, TableCount
from pulsar_backlog.storage.exit_codes import exit_code
from pulsar_backlog.storage.runs import JobContext
from pulsar_backlog.tables import TABLES

Row = dict[str, Any]
QUERIES_AT_ONCE = 4


def model_of(context: JobContext) -> ReportModel:
    """The report's model from the tables."""
    tables = {name: context.table(name) for name in TABLES}
    topics_frame = context.keep(queries.topic_rows(tables))
    topics = _small_rows(topics_frame)
    chosen_frame = context.keep(queries.chosen_topics(topics_frame, model.MAX_TOPICS))
    chosen = _small_rows(chosen_frame)
    publications, findings = tables["chunked_messages"], context.keep(tables["findings"])
    of_topics = {
        "ledgers": queries.ledger_rows(tables, model.MAX_LEDGERS),
        "groups": queries.group_rows(publications, "topic"),
        "broken": queries.broken_rows(publications, model.MAX_BROKEN),
        "findings": queries.finding_rows(findings, model.MAX_TOPIC_FINDINGS),
        "totals": queries.total_rows(findings, "topic"),
        "stats": tables["topic_stats"].select("topic", "recommended"),
    }
    of_chosen = {name: queries.only_chosen(frame, chosen_frame) for name, frame in of_topics.items()}
    of_chosen["buckets"] = queries.bucket_rows(tables["ledger_facts"], chosen_frame)
    standing = context.keep(report_acks.standing(tables["subscriptions"], tables["stalls"]))
    of_all = {
        "groups": queries.group_rows(publications),
        "worst": queries.worst_finding_rows(findings, model.MAX_FINDINGS),
        "totals": queries.total_rows(findings),
        "quality": tables["quality_results"].orderBy("passed", "severity", "rule"),
        "acks": report_acks.acks_counts(standing),
        "blocked": report_acks.blocked_rows(standing, acks.MAX_BLOCKED),
        "models": report_acks.model_sums(tables["client_forecasts"], tuple(clients.OUTCOMES), clients.MAX_MODELS),
    }
    of_consumers = _of_consumers(context, tables, standing, chosen_frame)
    held = _held_sizes(context)
    per_topic, consumers, whole, counted = _at_once(of_chosen, of_consumers, of_all, _sizes(context, tables, held))
    sizes = held | {name: found[0]["rows"] for name, found in counted.items()}
    runs = _small_rows(tables["runs"].orderBy(f.col("started")))
    return ReportModel(
        cluster=context.cluster,
        source=next((run["source"] for run in reversed(runs) if run["job"] == "inventory_ledgers"), ""),
        out=context.out,
        started_ms=round(context.started.timestamp() * 1000),
        seconds=sum({run["job"]: run["seconds"] for run in runs}.values()),
        versions=runs[-1]["versions"] if runs else {},
        options=next((run["options"] for run in reversed(runs) if run["job"] == "inventory_ledgers"), {}),
        exit_code=exit_code(context),
        counts=build.counts(topics, queries.ledger_counts(tables["ledgers"])),
        groups=tuple(build.group(row) for row in whole["groups"]),
        topics=build.sections(chosen, build.TopicRows(**per_topic), acks_build.ConsumerRows(**consumers)),
        more_topics=build.more_topics(topics, chosen),
        findings=tuple(build.finding(row) for row in whole["worst"]),
        finding_totals=tuple(build.total(row) for row in whole["totals"]),
        quality=tuple(whole["quality"]),  # type: ignore[arg-type]
        tables=tuple(TableCount(name, sizes[name]) for name in TABLES if name in sizes),
        acks=acks_build.acks(whole["acks"][0], whole["blocked"]),
        clients=tuple(acks_build.model_sum(row) for row in whole["models"]),
    )  # fmt: skip


def _of_consumers(
    context: JobContext, tables: Mapping[str, DataFrame], standing: DataFrame, topics: DataFrame
) -> dict[str, DataFrame]:
    """What subscriptions and models of clients make of the chosen topics."""
    chosen = queries.only_chosen(standing, topics)
    drawn = context.keep(report_acks.chosen_subscriptions(chosen, acks.MAX_SUBSCRIPTIONS, acks.MAX_STRIPS))
    spans = context.keep(report_acks.ledger_spans(tables, drawn, acks.CELLS))
    return {
        "subscriptions": drawn,
        "axes": report_acks.axis_rows(spans),
        "cells": report_acks.cell_rows(tables["ack_ranges"], tables["stalls"], spans, drawn),
        "stalls": report_acks.stall_rows(tables["stalls"], drawn, acks.MAX_STALLS),
        "forecasts": queries.only_chosen(
            report_acks.forecast_rows(tables["client_forecasts"], clients.MAX_MODELS), topics
        ),
        "examples": queries.only_chosen(
            report_acks.example_rows(tables["consumer_outcomes"], clients.DANGEROUS), topics
        ),
    }


def _small_rows(frame: DataFrame) -> list[Row]:
    """A frame that is known to be small, as dictionaries."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def _at_once(*groups: Mapping[str, DataFrame]) -> list[dict[str, list[Row]]]:
    """Groups of small frames as dictionaries: planning one query leaves a core for the next."""
    with ThreadPoolExecutor(QUERIES_AT_ONCE) as pool:
        running = [{name: pool.submit(_small_rows, frame) for name, frame in group.items()} for group in groups]
        return [{name: task.result() for name, task in group.items()} for group in running]


def _held_sizes(context: JobContext) -> dict[str, int]:
    """The number of rows of each table that exists and is held."""
    present = {name: rows for name in TABLES if context.has(name) and (rows := context.held(name)) is not None}
    sizes = {name: rows.num_rows for name, rows in present.items()}
    if "ledger_facts" in present and context.has("entries"):
        sizes["entries"] = sum(present["ledger_facts"]["entries"].to_pylist())
    return sizes


def _sizes(context: JobContext, tables: Mapping[str, DataFrame], known: Collection[str]) -> dict[str, DataFrame]:
    """The number of rows of each other table that exists."""
    present = (name for name in tables if name not in known and context.has(name))
    counted = {name: tables[name].agg(f.count("*").alias("rows")) for name in present}
    entries = tables["ledger_facts"].agg(f.coalesce(f.sum("entries"), f.lit(0)).alias("rows"))
    return {name: entries if name == "entries" else rows for name, rows in counted.items()}
