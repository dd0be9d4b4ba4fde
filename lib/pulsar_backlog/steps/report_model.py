"""From the tables to the report's model: small rows, by the queries of conf/report; topics in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_backlog.facts.sizes import CELLS
from pulsar_backlog.options.printed import audit_options
from pulsar_backlog.report import acks, acks_build, build, clients
from pulsar_backlog.report.earlier import Earlier, earlier_scope
from pulsar_backlog.report.model import (
    MAX_BROKEN,
    MAX_FINDINGS,
    MAX_LEDGERS,
    MAX_TOPIC_FINDINGS,
    MAX_TOPICS,
    ListedTopic,
    ReportModel,
    TableCount,
    TopicSection,
)
from pulsar_backlog.report.outlook import Outlook
from pulsar_backlog.report.since import MAX_CHANGES, since_last
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.exit_codes import exit_code
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.engines import REPORT_TABLES, QueryEngine
from pulsar_backlog.sql.sureness import MOST_DOUBT, doubt_of, sureness_of
from pulsar_backlog.steps.known_state import earlier_state
from pulsar_backlog.steps.report_outlooks import Key, outlooks
from pulsar_backlog.steps.report_scalable import scalable_topics
from pulsar_backlog.subscriptions.advice import UNVERIFIABLE
from pulsar_backlog.tables import TABLES

Row = dict[str, Any]

MAX_SECTIONS = 5_000
"""Topics that have a section, at most; those after them are listed with what is known of each."""
QUIET_SECTIONS = 1_000
"""While there are no more topics, each has one; of more those with an error, a warning or a stalled subscription."""
LARGEST_QUIET = 100
"""Of the others so many have one too, the largest."""
MAX_LEDGER_ENTRIES = 1 << 40
"""More entries than this in one ledger is damaged metadata; then what was walked counts."""

_BY_TOPIC = {
    "ledgers": "ledgers", "groups": "topic_groups", "broken": "broken", "findings": "topic_findings",
    "totals": "topic_totals", "stats": "settings", "buckets": "buckets",
}  # fmt: skip
_BY_CONSUMER = {
    "subscriptions": "topic_subscriptions", "axes": "axes", "cells": "cells", "stalls": "stalls",
    "forecasts": "forecasts", "examples": "examples",
}  # fmt: skip
_ADVICE = ("needs", "dangers")
_OF_ALL = (
    "groups",
    "worst",
    "totals",
    "quality",
    "acks",
    "blocked",
    "subscriptions",
    "models",
    "copies",
    "runs",
    "change_counts",
    "changes",
    "growth_counts",
)


def _any_of(column: str, words: Iterable[str]) -> str:
    """Whether a list holds one of our words, as SQL."""
    return " OR ".join(f"array_contains({column}, {literal(word)})" for word in sorted(words))


LIMITS: Mapping[str, Mapping[str, int | str]] = {
    "ledgers": {"ledgers": MAX_LEDGERS},
    "broken": {"broken": MAX_BROKEN},
    "topic_findings": {"findings": MAX_TOPIC_FINDINGS},
    "worst": {"findings": MAX_FINDINGS},
    "buckets": {"time_cells": CELLS},
    "drawn": {"subscriptions": acks.MAX_SUBSCRIPTIONS, "strips": acks.MAX_STRIPS},
    "spans": {"cells": acks.CELLS, "ledger_entries": MAX_LEDGER_ENTRIES},
    "standing": {"doubt": doubt_of("b.sureness")},
    "stalls": {"stalls": acks.MAX_STALLS, "most_doubt": MOST_DOUBT},
    "needs": {"most_doubt": MOST_DOUBT},
    "families": {"unverifiable": _any_of("m.flags", UNVERIFIABLE), "doubt": doubt_of("sureness")},
    "forecasts": {"models": clients.MAX_MODELS},
    "models": {"models": clients.MAX_MODELS, "doubt": doubt_of("c.sureness"), "sureness": sureness_of("s.doubt")},
    "blocked": {"blocked": acks.MAX_BLOCKED},
    "subscriptions": {"listed": acks.MAX_LISTED},
    "changes": {"changes": MAX_CHANGES},
}
"""The numbers and words that queries of conf/report take."""


@dataclass(frozen=True)
class Gathering:
    """A report's values, gathered from the tables of one cluster.

    Attributes:
        context: of the job.
        engine: answers for its cluster.
    """

    context: JobContext
    engine: QueryEngine

    @cached_property
    def topic_rows(self) -> list[Row]:
        """A row per topic, the worst first: a line for each is what a report may grow by."""
        self.engine.create_view("sets", self._query("sets"))
        self.engine.materialize(_GROWTH, self.engine.sql("sql", _GROWTH, {}))
        for name in ("standing", "topics"):
            self._keep(name)
        return self._rows("SELECT * FROM topics ORDER BY place")

    @property
    def _section_total(self) -> int:
        """How many topics have a section: the first ones, as far as something is wrong with them, and some more."""
        if len(self.topic_rows) <= QUIET_SECTIONS:
            return len(self.topic_rows)
        wrong = sum(1 for row in self.topic_rows if row["is_wrong"])
        return min(len(self.topic_rows), min(MAX_SECTIONS, wrong) + LARGEST_QUIET)

    @cached_property
    def outlooks(self) -> dict[Key, Outlook]:
        """Forecasts of the worst stalled subscriptions."""
        return outlooks(self.context, self.engine)

    def further(self) -> Iterator[tuple[TopicSection, ...]]:
        """The batches of topics after the model's, each gathered when it is asked for."""
        for after in range(MAX_TOPICS, self._section_total, MAX_TOPICS):
            yield self._sections(after)

    def rest(self) -> Iterator[ListedTopic]:
        """The topics after all batches."""
        for row in self.topic_rows[self._section_total :]:
            yield ListedTopic(row["topic"], row["errors"] or 0, row["entries"] or 0, row["bytes"] or 0)

    def model(self) -> ReportModel:
        """The report's model, with the first batch of topics."""
        context, topics = self.context, self.topic_rows
        for name in ("families", *_ADVICE):
            self._keep(name)
        queries = {f"blocked_{name}": _OF_BLOCKED.format(name, acks.MAX_BLOCKED) for name in _ADVICE}
        whole = self.engine.rows({name: self._query(name) for name in _OF_ALL} | queries)
        sizes, runs = self._sizes(), whole["runs"]
        inventories = [run for run in runs if run["job"] == "inventory_ledgers"]
        return ReportModel(
            cluster=context.cluster,
            source=inventories[-1]["source"] if inventories else "",
            out=context.out,
            started_ms=round((context.audit_started or context.started).timestamp() * 1000),
            seconds=_seconds(context, runs),
            versions=runs[-1]["versions"] if runs else {},
            options=audit_options(runs),
            exit_code=exit_code(context),
            fail_on=str(context.options.fail_on),
            counts=build.counts(topics, whole["copies"][0]),
            groups=tuple(build.group(row) for row in whole["groups"]),
            topics=self._sections(0),
            findings=tuple(build.finding(row) for row in whole["worst"]),
            finding_totals=tuple(build.total(row) for row in whole["totals"]),
            quality=tuple(whole["quality"]),  # type: ignore[arg-type]
            tables=tuple(TableCount(name, sizes[name]) for name in TABLES if name in sizes),
            acks=acks_build.acks(
                whole["acks"][0], whole["blocked"], whole["blocked_needs"], whole["blocked_dangers"],
                whole["growth_counts"],
            ),
            subscriptions=tuple(acks_build.listed(row) for row in whole["subscriptions"]),
            clients=tuple(acks_build.model_sum(row) for row in whole["models"]),
            one_cluster=context.is_only_cluster(),
            earlier=Earlier(earlier_state(context), earlier_scope(inventories)),
            since=since_last(runs, whole["change_counts"], whole["changes"]),
            scalable=scalable_topics(self.engine),
        )  # fmt: skip

    def _sections(self, after: int) -> tuple[TopicSection, ...]:
        """The sections of a batch of topics."""
        topics = self.topic_rows[after : min(after + MAX_TOPICS, self._section_total)]
        self._keep("chosen", after=after, topics=len(topics))
        for name in ("drawn", "spans"):
            self._keep(name)
        queries = {query: self._query(query) for query in (*_BY_TOPIC.values(), *_BY_CONSUMER.values())}
        rows = self.engine.rows(queries | {name: _OF_DRAWN.format(name) for name in _ADVICE})
        of_topics = build.TopicRows(**{name: rows[query] for name, query in _BY_TOPIC.items()})
        of_consumers = acks_build.ConsumerRows(
            **{name: rows[query] for name, query in _BY_CONSUMER.items()}, **{name: rows[name] for name in _ADVICE},
            outlooks=self.outlooks,
        )  # fmt: skip
        return build.sections(topics, of_topics, of_consumers)

    def _sizes(self) -> dict[str, int]:
        """The number of rows of each table that exists: as its log tells it, or counted."""
        row_counts = {name: self.context.logged_rows(name) for name in TABLES if self.context.has(name)}
        unknown = [name for name, count in row_counts.items() if count is None]
        counts = self.engine.rows({name: _COUNT.format(name) for name in unknown if name in REPORT_TABLES})
        row_counts |= {name: rows[0]["rows"] for name, rows in counts.items()}
        if "entries" in unknown:
            row_counts["entries"] = sum(row["entries"] or 0 for row in self.topic_rows)
        return {name: self.context.rows(name) if count is None else count for name, count in row_counts.items()}

    def _keep(self, name: str, **values: int) -> None:
        self.engine.materialize(name, self._query(name, **values))

    def _query(self, name: str, **values: int) -> str:
        return self.engine.sql("report", name, {**LIMITS.get(name, {}), **values})

    def _rows(self, query: str) -> list[Row]:
        return self.engine.rows({"": query})[""]


def _seconds(context: JobContext, runs: Sequence[Row]) -> float:
    """How long the audit took; of jobs that were run one by one, what those took since the last inventory."""
    if context.audit_started is not None:
        return round((now() - context.audit_started).total_seconds(), 3)
    last = max((at for at, run in enumerate(runs) if run["job"] == "inventory_ledgers"), default=0)
    return float(sum({run["job"]: run["seconds"] for run in runs[last:]}.values()))


_GROWTH = "backlog_growth"
_COUNT = "SELECT count(*) AS rows FROM {}"
_OF_DRAWN = "SELECT n.* FROM {} AS n SEMI JOIN drawn AS d ON n.topic = d.topic AND n.subscription = d.subscription"
_OF_BLOCKED = (
    "SELECT n.* FROM {} AS n SEMI JOIN (SELECT topic, subscription FROM standing WHERE blocked_place <= {}) AS b "
    "ON n.topic = b.topic AND n.subscription = b.subscription"
)
