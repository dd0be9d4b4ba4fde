"""From the tables to the report's model: small rows, gathered several at once; topics in batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.report import acks as report_acks
from pulsar_backlog.frames.report import rows as queries
from pulsar_backlog.report import acks, acks_build, build, clients
from pulsar_backlog.report.model import (
    MAX_BROKEN,
    MAX_FINDINGS,
    MAX_LEDGERS,
    MAX_SECTIONS,
    MAX_TOPIC_FINDINGS,
    MAX_TOPICS,
    ListedTopic,
    ReportModel,
    TableCount,
    TopicSection,
)
from pulsar_backlog.storage.context import JobContext
from pulsar_backlog.storage.exit_codes import exit_code
from pulsar_backlog.tables import TABLES

Row = dict[str, Any]
Found = dict[str, list[Row]]
QUERIES_AT_ONCE = 4


@dataclass(frozen=True)
class Gathering:
    """A report's values, gathered from the tables of one cluster."""

    context: JobContext

    @cached_property
    def tables(self) -> dict[str, DataFrame]:
        """The cluster's rows of all tables but `entries`, of which the scan noted what a report tells."""
        return {name: self.context.table(name) for name in TABLES if name != "entries"}

    @cached_property
    def topics(self) -> DataFrame:
        """A row per topic."""
        return self.context.keep(queries.topic_rows(self.tables))

    @cached_property
    def topic_rows(self) -> list[Row]:
        """The same, gathered: a line for each topic is what a report may grow by."""
        return rows(self.topics)

    @cached_property
    def findings(self) -> DataFrame:
        """All findings."""
        return self.context.keep(self.tables["findings"])

    @cached_property
    def standing(self) -> DataFrame:
        """All subscriptions."""
        return self.context.keep(report_acks.standing(self.tables["subscriptions"], self.tables["stalls"]))

    def further(self) -> Iterator[tuple[TopicSection, ...]]:
        """The batches of topics after the model's, each gathered when it is asked for."""
        for after in range(MAX_TOPICS, min(len(self.topic_rows), MAX_SECTIONS), MAX_TOPICS):
            chosen = self._chosen(MAX_TOPICS, after)
            yield _sections(rows(chosen), *at_once(*self._of_topics(chosen)))

    def rest(self) -> Iterator[ListedTopic]:
        """The topics after all batches."""
        left = len(self.topic_rows) - MAX_SECTIONS
        for row in rows(queries.chosen_topics(self.topics, left, MAX_SECTIONS)) if left > 0 else ():
            yield ListedTopic(row["topic"], row["errors"] or 0, row["entries"] or 0, row["bytes"] or 0)

    def model(self) -> ReportModel:
        """The report's model, with the first batch of topics."""
        context, tables = self.context, self.tables
        chosen, known = self._chosen(MAX_TOPICS, 0), _known_sizes(context)
        of_topics, of_consumers = self._of_topics(chosen)
        per_topic, consumers, whole, counted = at_once(
            of_topics, of_consumers, self._of_all(), _sizes(context, tables, known)
        )
        sizes = known | {name: found[0]["rows"] for name, found in counted.items()}
        runs = rows(tables["runs"].orderBy(f.col("started")))
        return ReportModel(
            cluster=context.cluster,
            source=next((run["source"] for run in reversed(runs) if run["job"] == "inventory_ledgers"), ""),
            out=context.out,
            started_ms=round(context.started.timestamp() * 1000),
            seconds=sum({run["job"]: run["seconds"] for run in runs}.values()),
            versions=runs[-1]["versions"] if runs else {},
            options=next((run["options"] for run in reversed(runs) if run["job"] == "inventory_ledgers"), {}),
            exit_code=exit_code(context),
            counts=build.counts(self.topic_rows, queries.ledger_counts(tables["ledgers"])),
            groups=tuple(build.group(row) for row in whole["groups"]),
            topics=_sections(rows(chosen), per_topic, consumers),
            findings=tuple(build.finding(row) for row in whole["worst"]),
            finding_totals=tuple(build.total(row) for row in whole["totals"]),
            quality=tuple(whole["quality"]),  # type: ignore[arg-type]
            tables=tuple(TableCount(name, sizes[name]) for name in TABLES if name in sizes),
            acks=acks_build.acks(whole["acks"][0], whole["blocked"]),
            subscriptions=tuple(acks_build.listed(row) for row in whole["subscriptions"]),
            clients=tuple(acks_build.model_sum(row) for row in whole["models"]),
        )  # fmt: skip

    def _chosen(self, limit: int, after: int) -> DataFrame:
        return self.context.keep(queries.chosen_topics(self.topics, limit, after))

    def _of_topics(self, chosen: DataFrame) -> tuple[dict[str, DataFrame], dict[str, DataFrame]]:
        """What is said of the topics of a batch; and what subscriptions and models of clients make of them."""
        tables, publications = self.tables, self.tables["chunked_messages"]
        found = {
            "ledgers": queries.ledger_rows(tables, MAX_LEDGERS),
            "groups": queries.group_rows(publications, "topic"),
            "broken": queries.broken_rows(publications, MAX_BROKEN),
            "findings": queries.finding_rows(self.findings, MAX_TOPIC_FINDINGS),
            "totals": queries.total_rows(self.findings, "topic"),
            "stats": tables["topic_stats"].select("topic", "recommended"),
        }
        of_chosen = {name: queries.only_chosen(frame, chosen) for name, frame in found.items()}
        of_chosen["buckets"] = queries.bucket_rows(tables["ledger_facts"], chosen)
        return of_chosen, self._of_consumers(chosen)

    def _of_consumers(self, topics: DataFrame) -> dict[str, DataFrame]:
        tables, chosen = self.tables, queries.only_chosen(self.standing, topics)
        drawn = self.context.keep(report_acks.chosen_subscriptions(chosen, acks.MAX_SUBSCRIPTIONS, acks.MAX_STRIPS))
        spans = self.context.keep(report_acks.ledger_spans(tables, drawn, acks.CELLS))
        forecasts = report_acks.forecast_rows(tables["client_forecasts"], clients.MAX_MODELS)
        examples = report_acks.example_rows(tables["consumer_outcomes"], clients.DANGEROUS)
        return {
            "subscriptions": drawn,
            "axes": report_acks.axis_rows(spans),
            "cells": report_acks.cell_rows(tables["ack_ranges"], tables["stalls"], spans, drawn),
            "stalls": report_acks.stall_rows(tables["stalls"], drawn, acks.MAX_STALLS),
            "forecasts": queries.only_chosen(forecasts, topics),
            "examples": queries.only_chosen(examples, topics),
        }

    def _of_all(self) -> dict[str, DataFrame]:
        """What is said of everything."""
        tables, standing, findings = self.tables, self.standing, self.findings
        return {
            "groups": queries.group_rows(tables["chunked_messages"]),
            "worst": queries.worst_finding_rows(findings, MAX_FINDINGS),
            "totals": queries.total_rows(findings),
            "quality": tables["quality_results"].orderBy("passed", "severity", "rule"),
            "acks": report_acks.acks_counts(standing),
            "blocked": report_acks.blocked_rows(standing, acks.MAX_BLOCKED),
            "subscriptions": report_acks.listed_rows(standing, acks.MAX_LISTED),
            "models": report_acks.model_sums(tables["client_forecasts"], tuple(clients.OUTCOMES), clients.MAX_MODELS),
        }


def _sections(topics: list[Row], per_topic: Found, consumers: Found) -> tuple[TopicSection, ...]:
    return build.sections(topics, build.TopicRows(**per_topic), acks_build.ConsumerRows(**consumers))


def rows(frame: DataFrame) -> list[Row]:
    """A frame that is known to be small, as dictionaries."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def at_once(*groups: Mapping[str, DataFrame]) -> list[Found]:
    """Groups of small frames as dictionaries: planning one query leaves a core for the next."""
    with ThreadPoolExecutor(QUERIES_AT_ONCE) as pool:
        running = [{name: pool.submit(rows, frame) for name, frame in group.items()} for group in groups]
        return [{name: task.result() for name, task in group.items()} for group in running]


def _known_sizes(context: JobContext) -> dict[str, int]:
    """The number of rows of each table that exists and whose log tells it."""
    return {name: rows for name in TABLES if context.has(name) and (rows := context.logged_rows(name)) is not None}


def _sizes(context: JobContext, tables: Mapping[str, DataFrame], known: Collection[str]) -> dict[str, DataFrame]:
    """The number of rows of each other table that exists."""
    counted = {name: f.count("*") for name in TABLES if name not in known and context.has(name)}
    if "entries" in counted:
        counted["entries"] = f.coalesce(f.sum("entries"), f.lit(0))
    of = {"entries": "ledger_facts"}
    return {name: tables[of.get(name, name)].agg(rows.alias("rows")) for name, rows in counted.items()}
