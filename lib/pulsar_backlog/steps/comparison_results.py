"""What a comparison leaves: tables, findings, result.json, and words on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from pulsar_backlog import __version__
from pulsar_backlog.arguments import scope_of
from pulsar_backlog.counting import counted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import CATALOGUE, MAX_EVIDENCE, Finding
from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.comparison_metrics import comparison_exposition
from pulsar_backlog.report.comparison_page import MAX_ROWS_OF_KIND, ComparedSide, ComparisonModel, render_comparison
from pulsar_backlog.report.model import FindingRow
from pulsar_backlog.report.places import FRONT
from pulsar_backlog.report.terminal.comparison import ComparisonSummary, print_comparison
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.exit_codes import exit_code
from pulsar_backlog.runs.findings import replace_findings
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.sql.digests import digests_in
from pulsar_backlog.steps.cluster_comparison import Compared, Comparison, topic_pairs
from pulsar_backlog.steps.compared_sides import mapped_topics
from pulsar_backlog.steps.compared_subscriptions import compared_subscriptions, skip_findings
from pulsar_backlog.steps.metrics import write_exposition
from pulsar_backlog.tableio.beside import beside, is_reached
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.terminal import terminal
from pulsar_backlog.terms import RESULT_NAME, RESULT_VERSION, SURENESSES, Sureness, least_sure

_CODES = {
    "missing": "D01", "duplicate": "D02", "order": "D03", "content": "D04", "broken": "D05", "policy": "D06",
    "in_flight": "D07",
}  # fmt: skip
_PERHAPS = "D08"
_UNREAD = "D09"
_GAPS = "D10"
_VERDICTS = ("differs", "cannot_tell", "explained", "equal")
"""The verdict on all topics is the first that any has."""

_NAMES = {"a": "A", "b": "B", "both": "either side"}


@dataclass(frozen=True)
class Summary:
    """What is shown of a comparison; `rows` are counts of rows that were written, by table.

    `bytes_read` are those of digests: what is equal is known by its buckets. `examples` are differences by topic.
    """

    shown: ComparisonSummary
    findings: Sequence[Finding]
    rows: dict[str, int]
    bytes_read: int
    sides: Mapping[str, AuditedSide]
    examples: Mapping[str, list[dict[str, Any]]]


def write_results(context: JobContext, sides: Mapping[str, AuditedSide]) -> Summary:
    """Compare all topics; write `differences`, `compared_topics` and findings.

    Raises:
        UsageError: there is no topic to compare.
    """
    scope = replace(scope_of(context.options), migrated={**sides["a"].migrated, **sides["b"].migrated})
    pairs = topic_pairs(sides["a"], sides["b"], mapped_topics(context.options), scope.names)
    if not pairs:
        raise UsageError("there is no topic to compare: neither audit has one that --topic or --map-topic names")
    with digests_in(context.out, context.cluster, context.options.endpoint) as digests:
        compared = list(Comparison(digests, sides["a"], sides["b"], context.cluster).topics(pairs))
        topic_rows = [one.row for one in compared]
        subscriptions = list(compared_subscriptions(digests, sides, context.cluster, topic_rows))
    differences = pa.concat_tables([one.differences for one in compared])
    topics = pa.Table.from_pylist(topic_rows, schema=arrow_schema(TABLES["compared_topics"]))
    cursors = pa.Table.from_pylist(subscriptions, schema=arrow_schema(TABLES["compared_subscriptions"]))
    rows = {
        "differences": context.replace("differences", differences),
        "compared_topics": context.replace("compared_topics", topics),
        "compared_subscriptions": context.replace("compared_subscriptions", cursors),
    }
    findings = [*_findings(compared), *skip_findings(subscriptions), *_unread(context, sides)]
    replace_findings(context, findings)
    shown = ComparisonSummary(
        verdict=next(word for word in _VERDICTS if any(one.row["verdict"] == word for one in compared)),
        out=context.out,
        out_a=sides["a"].out,
        out_b=sides["b"].out,
        topics=topic_rows,
        subscriptions=subscriptions,
        findings=[(one.code, one.kind.severity, one.message) for one in findings],
        exit_code=exit_code(context, context.job),
    )
    examples = {str(one.row["topic"]): list(_examples(one.differences)) for one in compared}
    return Summary(shown, findings, rows, digests.read.total(), sides, examples)


def tell(context: JobContext, summary: Summary) -> None:
    """Write result.json, the report and the numbers, and say how it ended."""
    shown = summary.shown
    at_ms = round(now().timestamp() * 1000)
    if is_reached(context.out):
        document = {
            "schema_version": RESULT_VERSION, "state": "finished", "kind": "comparison", "cluster": context.cluster,
            "run_id": context.run_id, "exit_code": shown.exit_code, "verdict": shown.verdict,
            "audit_a": shown.out_a, "audit_b": shown.out_b, "topics": shown.topics,
            "subscriptions": shown.subscriptions,
            "findings": [one.row(context.cluster, context.job) for one in summary.findings],
        }  # fmt: skip
        beside(context.out).write(RESULT_NAME, to_json(document, indent=1) + "\n")
        beside(context.out).write(FRONT, render_comparison(_page(context, summary, at_ms)))
    _write_numbers(context, at_ms, shown.exit_code, shown.topics, shown.subscriptions)
    print_comparison(shown, terminal())


def write_numbers_again(context: JobContext) -> None:
    """The file of `--metrics` where nothing was new: with the time of now, of what was compared before."""
    tables = [context.small_rows(name) for name in ("compared_topics", "compared_subscriptions")]
    rows = [table.to_pylist() for table in tables if table is not None]
    if len(rows) == len(tables):
        _write_numbers(context, round(now().timestamp() * 1000), exit_code(context, context.job), *rows)


def _write_numbers(
    context: JobContext, at_ms: int, code: int, topics: Sequence[Mapping[str, Any]],
    subscriptions: Sequence[Mapping[str, Any]],
) -> None:  # fmt: skip
    if context.options.metrics is not None:
        text = comparison_exposition(context.cluster, at_ms, code, topics, subscriptions)
        write_exposition(Path(context.options.metrics), text)


def _page(context: JobContext, summary: Summary, at_ms: int) -> ComparisonModel:
    shown = summary.shown
    return ComparisonModel(
        cluster=context.cluster,
        out=context.out,
        verdict=shown.verdict,
        sides={name: ComparedSide(one.out, one.cluster, one.source) for name, one in summary.sides.items()},
        topics=shown.topics,
        differences=summary.examples,
        subscriptions=shown.subscriptions,
        findings=[cast(FindingRow, one.row(context.cluster, context.job)) for one in summary.findings],
        exit_code=shown.exit_code,
        made_ms=at_ms,
        versions={"pulsar-backlog": __version__},
    )


def _examples(differences: pa.Table) -> Iterator[dict[str, Any]]:
    """The first differences of each kind and side."""
    of_kinds = zip(differences["kind"].to_pylist(), differences["side"].to_pylist(), strict=True)
    numbers: Counter[tuple[str, str]] = Counter()
    chosen = []
    for at, of_kind in enumerate(of_kinds):
        numbers[of_kind] += 1
        if numbers[of_kind] <= MAX_ROWS_OF_KIND:
            chosen.append(at)
    yield from differences.take(pa.array(chosen, pa.int64())).to_pylist()


def _findings(compared: Iterable[Compared]) -> Iterator[Finding]:
    for one in compared:
        for (code, side), rows in sorted(_by_code(one.differences).items()):
            yield _finding(code, side, str(one.row["topic"]), rows)
        yield from _gaps(one)


def _gaps(one: Compared) -> Iterator[Finding]:
    """What could not be read of a topic, so that nobody can tell of all its messages."""
    topic, words = str(one.row["topic"]), CATALOGUE[_GAPS].counted
    for side, places in one.gaps.items():
        if places:
            yield Finding(
                _GAPS, f"{topic} {side}", f"{words}, on {_NAMES[side]}: {len(places)}, in {topic}.", topic=topic,
                count=len(places), sureness="certain", reason="read from the tables of that audit",
                evidence=tuple(f"{side} {place}" for place in places[:MAX_EVIDENCE]),
            )  # fmt: skip


def _by_code(differences: pa.Table) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Differences by code and side."""
    names = ("kind", "side", "sureness", "reason", "a_ledger_id", "a_entry_id", "b_ledger_id", "b_entry_id")
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in differences.select(names).to_pylist():
        perhaps = row["kind"] == "missing" and row["sureness"] == SURENESSES[-1]
        grouped.setdefault((_PERHAPS if perhaps else _CODES[row["kind"]], row["side"]), []).append(row)
    return grouped


def _finding(code: str, side: str, topic: str, rows: Sequence[dict[str, Any]]) -> Finding:
    sureness: Sureness = least_sure(row["sureness"] for row in rows)
    words = CATALOGUE[code].counted
    return Finding(
        code, f"{topic} {side}", f"{words}, on {_NAMES[side]}: {len(rows)}, in {topic}.", topic=topic, count=len(rows),
        sureness=sureness, reason=Counter(row["reason"] for row in rows).most_common(1)[0][0],
        evidence=tuple(_evidence(row) for row in rows[:MAX_EVIDENCE]),
    )  # fmt: skip


def _evidence(row: Mapping[str, Any]) -> str:
    places = [
        f"{side} {row[f'{side}_ledger_id']}:{row[f'{side}_entry_id']}"
        for side in ("a", "b")
        if row[f"{side}_ledger_id"] is not None
    ]
    return ", ".join(places)


def _unread(context: JobContext, sides: Mapping[str, AuditedSide]) -> Iterator[Finding]:
    """Ledgers that could not be read again for their digests."""
    rows = context.small_rows("digest_ledgers")
    books = rows.to_pylist() if rows is not None else []
    for side, audit in sides.items():
        lost = [row["ledger_id"] for row in books if row["side"] == side and not row["complete"]]
        if lost:
            number = counted(len(lost), "ledger")
            words = f"{number} of {audit.out} could not be read from {audit.source} as when it was audited."
            places = tuple(f"ledger:{one}" for one in lost)
            yield Finding(_UNREAD, f"audit {side}", words, count=len(lost), evidence=places, incomplete=True)
