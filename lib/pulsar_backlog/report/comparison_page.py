"""The report of a comparison: both sides, topic by topic what differs and where it lies on each, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.codes import CodeGroup, by_code
from pulsar_backlog.report.commands import READS_ONLY, Command, fill
from pulsar_backlog.report.html import report_environment, script, stylesheet
from pulsar_backlog.report.model import FindingRow
from pulsar_backlog.report.terminal.comparison import VERDICTS, parts_of
from pulsar_backlog.report.verdict import Grade
from pulsar_backlog.report.words import EXIT_CODES, position

MAX_LISTED_TOPICS = 2_000
"""Topics in the table, those that differ first; `compared_topics` has all."""

MAX_TOPICS_IN_FULL = 100
"""Of those that differ."""

MAX_ROWS_OF_KIND = 10
"""Differences of one kind and side of a topic; `differences` has all."""

MAX_SUBSCRIPTIONS = 300
"""Subscriptions listed, those that would skip most first; `compared_subscriptions` has all."""

KINDS: Mapping[str, str] = {
    "missing": "missing",
    "duplicate": "stored too often",
    "order": "in another order",
    "content": "other content",
    "broken": "broken",
    "policy": "not there by policy",
    "in_flight": "perhaps on the way",
}
"""What a kind of difference is called."""

SIDES: Mapping[str, str] = {"a": "in A", "b": "in B", "both": "A and B"}
GRADES: Mapping[str, Grade] = {"differs": "broken", "cannot_tell": "incomplete", "explained": "clean", "equal": "clean"}
"""Of each verdict, the worst first."""
VERDICT_WORDS: Mapping[str, str] = {verdict: verdict.replace("_", " ") for verdict in GRADES}
_BY_WEIGHT = tuple(GRADES)
_REPAIRED = ("missing", "broken")
_NO_CHANGE = "Changes nothing on a cluster"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ComparedSide:
    """One side: folder or bucket of its audit, its cluster, and where its ledgers lie."""

    out: str
    cluster: str
    source: str


@dataclass(frozen=True)
class ComparisonModel:
    """What the page says.

    Attributes:
        cluster: that the tables of the comparison name.
        out: where they are.
        verdict: on all topics.
        sides: both, by `a` and `b`.
        topics: rows of `compared_topics`.
        differences: some rows of `differences`, by topic.
        subscriptions: rows of `compared_subscriptions`.
        findings: rows of `findings`.
        exit_code: of the command.
        made_ms: when it ended, UTC milliseconds.
        versions: of what made it.
    """

    cluster: str
    out: str
    verdict: str
    sides: Mapping[str, ComparedSide]
    topics: Sequence[Row]
    differences: Mapping[str, Sequence[Row]]
    subscriptions: Sequence[Row]
    findings: Sequence[FindingRow]
    exit_code: int
    made_ms: int
    versions: Mapping[str, str]


@dataclass(frozen=True)
class CodeWords:
    """The findings of a code with the command that looks at them."""

    group: CodeGroup
    command: str


def render_comparison(model: ComparisonModel) -> str:
    """The page; no network, nothing to fetch. The same values give the same text."""
    ordered = sorted(model.topics, key=lambda row: (_BY_WEIGHT.index(row["verdict"]), -row["unsure"], row["topic"]))
    full = [row for row in ordered if row["verdict"] != "equal"]
    run = Run("", model.out, {}, True)
    groups = by_code(model.findings, ())
    return report_environment().get_template("comparison.html.j2").render(
        model=model,
        grade=GRADES[model.verdict],
        headline=VERDICTS[model.verdict],
        messages={side: sum(row[f"messages_{side}"] for row in model.topics) for side in model.sides},
        topics=ordered[:MAX_LISTED_TOPICS],
        full=[(row, _rows(model, row)) for row in full[:MAX_TOPICS_IN_FULL]],
        full_total=len(full),
        subscriptions=sorted(model.subscriptions, key=_weight)[:MAX_SUBSCRIPTIONS],
        codes=[CodeWords(one, fill(one.kind.command, run, one.rows[0])) for one in groups],
        steps=list(_steps(model)),
        exit_words=f"{model.exit_code}: {EXIT_CODES.get(model.exit_code, '')}",
        kinds=KINDS, side_words=SIDES, grades=GRADES, verdict_words=VERDICT_WORDS, parts_of=parts_of,
        position=position, **stylesheet(), **script(),
    )  # fmt: skip


def _rows(model: ComparisonModel, topic: Row) -> list[Row]:
    """The differences of a topic that are shown, kind by kind."""
    order = list(KINDS)
    rows = model.differences.get(topic["topic"], ())
    return sorted(rows, key=lambda row: (order.index(row["kind"]), row["side"], row["copy_number"]))


def _weight(row: Row) -> tuple[int, int, str, str, str]:
    skipped = (row["acked_messages"] or 0) + (row["absent_messages"] or 0)
    return -skipped, -(row["again_messages"] or 0), row["topic"], row["subscription"], row["side"]


def _steps(model: ComparisonModel) -> Iterator[tuple[str, Command]]:
    """What to do, with the commands that do it."""
    for side, other in (("a", "b"), ("b", "a")):
        if not sum(row[f"{kind}_{side}"] for row in model.topics for kind in _REPAIRED):
            continue
        export = f"pulsar-backlog export {shell_word(model.sides[other].out)}"
        yield (
            f"Take out what {other.upper()} holds:",
            Command(export, f"{_NO_CHANGE}: it writes to the audit's folder."),
        )
        plan = f"pulsar-backlog repair missing {shell_word(model.out)} --side {side}"
        lead = f"Plan to publish in {side.upper()} what is certainly missing or broken there:"
        yield lead, Command(plan, f"{_NO_CHANGE}: it writes a plan and names the command that applies it.")
    if model.verdict != "equal":
        query = Run("", model.out, {}, True).command("sql", '"SELECT * FROM differences"')
        yield "Look at all differences, message by message:", Command(query, READS_ONLY)
