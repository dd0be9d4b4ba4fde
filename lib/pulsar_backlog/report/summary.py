"""The result for a terminal, for result.json, and as JSON lines. The shape of the JSON: docs/result.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pulsar_backlog.report.codes import CodeGroup, by_code
from pulsar_backlog.report.hostile import visible
from pulsar_backlog.report.model import MAX_FINDINGS, FindingRow, ReportModel, TopicSection
from pulsar_backlog.report.outcomes import by_flag, by_outcome, by_state, rebuildable
from pulsar_backlog.report.verdict import Grade, Verdict, judge, topic_line
from pulsar_backlog.report.words import EXIT_CODES, SEVERITIES, byte_size, counted, duration, severity_rank, spaced

SCHEMA_VERSION = 1
"""Of result.json and of the JSON lines; grows when a field changes its meaning or goes away."""

MAX_WORST = 8
MAX_FACTS = 12
MAX_EXAMPLE = 160

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
    _line(console, Text(visible(verdict.headline), style=_STYLES[verdict.grade]))
    _line(console, Text(verdict.sureness))
    if model.exit_code == 99:
        _line(console, Text("Nothing new to do: this is what the last audit found."))
    _print_facts(verdict, console)
    _print_worst(model, console)
    if verdict.steps:
        console.print()
        _line(console, Text("Next:", style="bold"))
        step = verdict.steps[0]
        _indented(console, Text(visible(step.remedies[0].text)))
        console.print(Text(f"  {step.command}", style="bold"), soft_wrap=True, highlight=False)
    console.print()
    _line(console, Text(_read_line(model)))
    _line(console, Text(f"Report: {visible(model.out)}/report.html   Tables: {visible(model.out)}/tables"))
    _line(console, Text(f"Exit code {model.exit_code}: {EXIT_CODES.get(model.exit_code, 'unknown')}"))


def _line(console: Console, text: Text) -> None:
    console.print(text, highlight=False, overflow="fold")


def _indented(console: Console, text: Text, columns: int = 2) -> None:
    text.overflow = "fold"
    console.print(Padding(text, (0, 0, 0, columns), expand=False), highlight=False)


def _print_facts(verdict: Verdict, console: Console) -> None:
    if not verdict.facts:
        return
    console.print()
    _line(console, Text("Found:", style="bold"))
    for fact in verdict.facts[:MAX_FACTS]:
        sureness = f" ({fact.sureness})" if fact.sureness else ""
        what = f"{fact.what[0].upper()}{fact.what[1:]}"
        _indented(console, Text.assemble((visible(what), "bold"), visible(sureness)))
    if len(verdict.facts) > MAX_FACTS:
        _indented(console, Text(f"And {len(verdict.facts) - MAX_FACTS} more, see the report."))


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


def _read_line(model: ReportModel) -> str:
    counts = model.counts
    return (
        f"Read: {counted(counts.ledgers, 'ledger copy')} of {counted(counts.topics, 'topic')}, "
        f"{counted(counts.entries, 'entry')}, {byte_size(counts.bytes)}, in {duration(int(model.seconds * 1000))}"
    )


def result_json(model: ReportModel) -> dict[str, object]:
    """The content of result.json: exact values, nothing made visible or shortened."""
    verdict = judge(model)
    return {
        "schema_version": SCHEMA_VERSION,
        "cluster": model.cluster,
        "source": model.source,
        "started_ms": model.started_ms,
        "seconds": model.seconds,
        "options": dict(model.options),
        "versions": dict(model.versions),
        "exit_code": model.exit_code,
        "verdict": _verdict_json(verdict),
        "counts": _counts_json(model),
        "findings": _findings_json(model),
        "quality": [dict(row) for row in model.quality],
        "topics": _topics_json(model),
        "tables": {table.name: table.rows for table in model.tables},
        "next": [
            {"command": step.command, "codes": [remedy.code for remedy in step.remedies]} for step in verdict.steps
        ],
    }


def _verdict_json(verdict: Verdict) -> dict[str, object]:
    return {
        "grade": verdict.grade,
        "complete": verdict.complete,
        "headline": verdict.headline,
        "sureness": verdict.sureness,
        "facts": [
            {"kind": f.kind, "what": f.what, "sureness": f.sureness, "who": f.who, "meaning": f.meaning}
            for f in verdict.facts
        ],
    }


def _counts_json(model: ReportModel) -> dict[str, object]:
    counts = model.counts
    return {
        "topics": counts.topics,
        "ledgers": counts.ledgers,
        "ledgers_not_ok": counts.ledgers_not_ok,
        "entries": counts.entries,
        "rejected": counts.rejected,
        "bytes": counts.bytes,
        "messages": counts.messages,
        "chunk_entries": counts.chunk_entries,
        "chunked_messages": sum(by_state(model.groups).values()),
        "by_state": by_state(model.groups),
        "by_flag": by_flag(model.groups),
        "by_outcome": dict(sorted(by_outcome(model.groups).items())),
        "rebuildable": rebuildable(model.groups),
    }


def _findings_json(model: ReportModel) -> dict[str, object]:
    groups = by_code(model.findings, model.finding_totals)
    rows = _ordered_rows(model)
    return {
        "total": sum(group.findings for group in groups),
        "listed": len(rows),
        "by_code": [
            {
                "code": group.kind.code,
                "name": group.kind.name,
                "severity": group.severity,
                "findings": group.findings,
                "count": group.count,
                "incomplete": group.incomplete,
                "meaning": group.kind.meaning,
                "remedy": group.kind.remedy,
            }
            for group in groups
        ],
        "rows": [dict(row) for row in rows],
    }


def _ordered_rows(model: ReportModel) -> list[FindingRow]:
    groups = by_code(model.findings, model.finding_totals)
    return [row for group in groups for row in group.rows][:MAX_FINDINGS]


def _topics_json(model: ReportModel) -> dict[str, object]:
    return {
        "total": model.counts.topics,
        "listed": len(model.topics),
        "rows": [_topic_json(section) for section in model.topics],
    }


def _topic_json(section: TopicSection) -> dict[str, object]:
    grade, line = topic_line(section)
    return {
        "topic": section.topic,
        "grade": grade,
        "verdict": line,
        "entries": section.entries,
        "rejected": section.rejected,
        "messages": section.messages,
        "bytes": section.bytes,
        "by_state": by_state(section.groups),
        "findings": sum(total.findings for total in section.finding_totals),
    }


def json_lines(model: ReportModel) -> Iterator[str]:
    """For a program that reads our output: the verdict, then each listed finding, one JSON object a line.

    Pure ASCII without control characters, whatever the topics hold.
    """
    result = result_json(model)
    verdict = {key: result[key] for key in ("schema_version", "cluster", "exit_code", "verdict", "counts", "next")}
    yield json_line({"type": "verdict", **verdict})
    for row in _ordered_rows(model):
        yield json_line({"type": "finding", **row})


def json_line(value: Mapping[str, object]) -> str:
    """One line of JSON in printable ASCII."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
