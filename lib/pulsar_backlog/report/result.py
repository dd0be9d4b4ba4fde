"""The result for programs: result.json and JSON lines. Their shape: docs/result.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.codes import by_code, in_order
from pulsar_backlog.report.consumers_json import acks_json, model_json, topic_acks_json, topic_clients_json
from pulsar_backlog.report.model import MAX_FINDINGS, FindingRow, ReportModel, TopicSection
from pulsar_backlog.report.outcomes import by_flag, by_outcome, by_state, rebuildable
from pulsar_backlog.report.since import since_json
from pulsar_backlog.report.verdict import Step, Verdict, judge, topic_line
from pulsar_backlog.terms import RESULT_VERSION


def result_json(model: ReportModel) -> dict[str, object]:
    """The content of result.json: exact values, nothing made visible or shortened."""
    verdict = judge(model)
    return {
        "schema_version": RESULT_VERSION,
        "state": "finished",
        "cluster": model.cluster,
        "source": model.source,
        "started_ms": model.started_ms,
        "seconds": model.seconds,
        "options": dict(model.options),
        "versions": dict(model.versions),
        "exit_code": model.exit_code,
        "verdict": _verdict_json(verdict),
        "counts": _counts_json(model),
        "subscriptions": acks_json(model.acks),
        "clients": [model_json(one) for one in model.clients],
        "since_last_audit": since_json(model.since),
        "findings": _findings_json(model),
        "quality": [dict(row) for row in model.quality],
        "topics": _topics_json(model),
        "tables": {table.name: table.rows for table in model.tables},
        "next": [_step_json(step) for step in verdict.steps],
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


def _step_json(step: Step) -> dict[str, object]:
    return {
        "command": step.command,
        "changes": step.changes,
        "codes": [remedy.code for remedy in step.remedies],
        "topic": step.topic,
        "subscription": step.subscription,
        "advice": step.advice and step.advice.label,
        "how": step.advice and step.advice.how,
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
    return in_order(model.findings, model.finding_totals)[:MAX_FINDINGS]


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
        "subscriptions": topic_acks_json(section.acks),
        "clients": topic_clients_json(section.clients),
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
    return to_json(value, compact=True)
