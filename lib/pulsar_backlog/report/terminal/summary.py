"""The result for a terminal: what is stalled, what was found and what it means for whom, the next command."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.foreign_text import MAX_HEADLINE, visible
from pulsar_backlog.report.codes import CodeGroup, by_code
from pulsar_backlog.report.commands import run_of
from pulsar_backlog.report.consumers import blocked_words, sureness_words
from pulsar_backlog.report.growth import totals_words
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.since import about
from pulsar_backlog.report.verdict import Grade, Step, Verdict, exit_words, judge
from pulsar_backlog.report.words import SEVERITIES, byte_size, duration, severity_rank, spaced, utc_time

MAX_CHANGES = 6
MAX_WORST = 8
MAX_FACTS = 12
MAX_EXAMPLE = 160
MAX_BLOCKED_LINES = 6

_STYLES: dict[Grade, str] = {
    "broken": "bold red",
    "incomplete": "bold yellow",
    "odd": "bold yellow",
    "clean": "bold green",
    "nothing": "bold yellow",
}
_SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow"}


def print_summary(model: ReportModel, console: Console) -> None:
    """Verdict first, then what was found, what the worst of it means for whom, and the next command."""
    verdict = judge(model)
    _line(console, Text(visible(verdict.headline, MAX_HEADLINE), style=_STYLES[verdict.grade]))
    _line(console, Text(visible(verdict.sureness, MAX_HEADLINE)))
    if model.exit_code == 99:
        _line(console, Text("Nothing new to do: this is what the last audit found."))
    _print_since(model, console)
    _print_blocked(model, console)
    _print_facts(verdict, console)
    _print_worst(model, console)
    _print_next(verdict, console)
    console.print()
    _line(console, Text(_read_line(model)))
    _line(console, Text(f"Report: {visible(model.out)}/report.html   Tables: {visible(model.out)}/tables"))
    _line(console, Text(f"Exit code {exit_words(model, verdict.grade)}"))


def _line(console: Console, text: Text) -> None:
    console.print(text, highlight=False, overflow="fold")


def _indented(console: Console, text: Text, columns: int = 2) -> None:
    text.overflow = "fold"
    console.print(Padding(text, (0, 0, 0, columns), expand=False), highlight=False)


def _print_since(model: ReportModel, console: Console) -> None:
    """What is other than in the audit before; the most urgent of it by name."""
    since = model.since
    if since is None:
        return
    console.print()
    head = f"Since the last audit ({utc_time(since.previous_ms)}): {since.headline}"
    _line(console, Text(head, style="bold"))
    for row in since.rows[:MAX_CHANGES]:
        name = CATALOGUE[row["code"]].name if row["code"] in CATALOGUE else row["code"]
        words = Text(f"{row['change']} ", style=_SEVERITY_STYLES.get(row["severity"], ""))
        what = f"{visible(row['code'], 20)} {visible(spaced(name), 60)}: {visible(about(row), MAX_EXAMPLE)}"
        _indented(console, words.append(what, style="not bold default"))
    if since.listed > MAX_CHANGES:
        more = f"And {since.listed - MAX_CHANGES:,} more: {run_of(model).command('changes')}"
        _indented(console, Text(more))
    if growth := totals_words(model.acks.growth):
        _line(console, Text(f"Backlogs over the nights: {growth}"))


def _print_blocked(model: ReportModel, console: Console) -> None:
    """Subscriptions that are stalled, before all else: somebody waits for them now."""
    acks = model.acks
    if not acks.rows:
        return
    console.print()
    sure = sureness_words(acks.blocked, acks.sureness)
    _line(console, Text(f"Blocked subscriptions: {acks.blocked:,} of {acks.total:,} ({sure})", style="bold red"))
    for row in acks.rows[:MAX_BLOCKED_LINES]:
        name = Text(visible(row.subscription, MAX_EXAMPLE), style="bold")
        _indented(console, name.append(f" {blocked_words(row)}", style="not bold"))
        advice = visible(row.advice.label, MAX_HEADLINE)
        _indented(console, Text(f"[{visible(row.topic, MAX_EXAMPLE)}] {advice}", style="dim"), 4)
    rest = acks.blocked - len(acks.rows[:MAX_BLOCKED_LINES])
    if rest > 0:
        _indented(console, Text(f"And {rest:,} more, see the report."))


def _print_facts(verdict: Verdict, console: Console) -> None:
    facts = [fact for fact in verdict.facts if fact.kind != "blocked"]
    if not facts:
        return
    console.print()
    _line(console, Text("Found:", style="bold"))
    for fact in facts[:MAX_FACTS]:
        sureness = f" ({fact.sureness})" if fact.sureness else ""
        what = f"{fact.what[0].upper()}{fact.what[1:]}"
        _indented(console, Text.assemble((visible(what), "bold"), visible(sureness)))
    if len(facts) > MAX_FACTS:
        _indented(console, Text(f"And {len(facts) - MAX_FACTS} more, see the report."))


def _print_worst(model: ReportModel, console: Console) -> None:
    groups = [g for g in by_code(model.findings, model.finding_totals) if severity_rank(g.severity) <= 1]
    if not groups:
        return
    console.print()
    _line(console, Text("Worst findings:", style="bold"))
    for group in groups[:MAX_WORST]:
        _print_group(group, console)
    if len(groups) > MAX_WORST:
        _indented(console, Text(f"And {counted(len(groups) - MAX_WORST, 'more code')}, see the report."))


def _print_group(group: CodeGroup, console: Console) -> None:
    label = SEVERITIES.get(group.severity, (3, visible(group.severity, 20)))[1].lower()
    head = Text("  ")
    head.append(label, style=_SEVERITY_STYLES.get(group.severity, ""))
    head.append(f" {visible(group.kind.code, 20)} {visible(spaced(group.kind.name), 60)}", style="bold")
    head.append(f", {counted(group.findings, 'finding')}")
    _line(console, head)
    _indented(console, Text(group.kind.meaning), 4)
    if group.rows:
        row = group.rows[0]
        where = f" [{visible(row['topic'], MAX_EXAMPLE)}]" if row["topic"] else ""
        _indented(console, Text(f"{visible(row['message'], MAX_EXAMPLE)}{where}", style="dim"), 4)


def _print_next(verdict: Verdict, console: Console) -> None:
    """What puts the worst subscription right; without one, the first command about findings."""
    steps = [step for step in verdict.steps if step.subscription is not None] or verdict.steps[:1]
    if not steps:
        return
    console.print()
    named: tuple[str | None, str | None] | None = None
    for step in steps:
        if named != (step.topic, step.subscription):
            named = step.topic, step.subscription
            _line(console, Text.assemble((_next_words(step, first=step is steps[0]), "bold")))
            if step.advice:
                _indented(console, Text(step.advice.how))
        if step.remedies:
            _indented(console, Text(visible(step.remedies[0].text)))
        console.print(Text(f"  {step.command}", style="bold"), soft_wrap=True, highlight=False)
        _indented(console, Text(step.changes, style="dim"), 4)


def _next_words(step: Step, *, first: bool) -> str:
    if step.subscription is None:
        return "Next:"
    name = visible(step.subscription, MAX_EXAMPLE)
    what = f"subscription {name}): {visible(step.advice.label, MAX_HEADLINE) if step.advice else ''}"
    return f"Next ({what}" if first else f"What commands put right ({what}"


def _read_line(model: ReportModel) -> str:
    counts = model.counts
    return (
        f"Read: {counted(counts.ledgers, 'ledger copy')} of {counted(counts.topics, 'topic')}, "
        f"{counted(counts.entries, 'entry')}, {byte_size(counts.bytes)}, in {duration(int(model.seconds * 1000))}"
    )
