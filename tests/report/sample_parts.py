"""Rows of a report in short form; what a test does not care about has a plausible value."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.findings import Finding
from pulsar_backlog.report.model import (
    FindingRow,
    FindingTotal,
    LedgerFacts,
    PublicationGroup,
    PublicationRow,
    QualityRow,
    TopicSection,
)

STARTED_MS = 1_795_262_400_000  # 2026-11-21 12:00:00 UTC
T0_MS = STARTED_MS - 3_600_000
VERSIONS = {"pulsar-backlog": "0.1.0", "Spark": "4.1.4", "Python": "3.11.7"}
MIXED = "mixed_with_another_publication"


def finding(code: str, subject: str, message: str, **more: Any) -> FindingRow:
    return Finding(code, subject, message, **more).row("lab", "assemble_chunks")  # type: ignore[return-value]


def totals(rows: list[FindingRow]) -> tuple[FindingTotal, ...]:
    sums: dict[tuple[str, str, bool], list[int]] = {}
    for row in rows:
        sum_of = sums.setdefault((row["code"], row["severity"], row["incomplete"]), [0, 0])
        sum_of[0] += 1
        sum_of[1] += row["count"]
    return tuple(FindingTotal(*key, *value) for key, value in sums.items())


def publication(uuid: str, state: str, **more: Any) -> PublicationRow:
    row: dict[str, Any] = {
        "chunk_uuid": uuid,
        "publish_time_ms": T0_MS,
        "producer_name": uuid.rsplit("-", 1)[0],
        "state": state,
        "flags": [],
        "rebuildable": False,
        "sureness": "certain",
        "reason": "the producer wrote later messages and the ledger is closed",
        "first_ledger_id": 5,
        "first_entry_id": 0,
        "last_ledger_id": 5,
        "last_entry_id": 2,
        "num_chunks": 4,
        "present_chunks": 3,
        "missing_chunk_ids": [],
        "missing_chunk_count": 0,
        "missing_bytes": [],
        "total_bytes": 8000,
    }
    return row | more  # type: ignore[return-value]


def group(
    state: str, count: int, *flags: str, rebuildable: bool | None = None, sureness: str = "certain"
) -> PublicationGroup:
    return PublicationGroup(
        state, flags, state in ("whole", "out_of_order") if rebuildable is None else rebuildable, sureness, count
    )


def section(topic: str | None, ledger_id: int, entries: int, size: int, **more: Any) -> TopicSection:
    facts: dict[str, Any] = {
        "ledgers": (LedgerFacts(ledger_id, entries, size + 400, "ok", T0_MS - 1000, T0_MS + 60_000),),
        "ledger_total": 1,
        "entries": entries,
        "messages": entries,
        "bytes": size,
        "first_ms": T0_MS,
        "last_ms": T0_MS + entries * 10,
    }
    if "findings" in more:
        facts["finding_totals"] = totals(more["findings"])
        more["findings"] = tuple(more["findings"])
    return TopicSection(topic, **(facts | more))


def quality(rule: str, passed: bool, sentence: str, checked: int, examples: list[str] | None = None) -> QualityRow:
    return {
        "cluster": "lab",
        "rule": rule,
        "summary": "ledger_summary",
        "severity": "error",
        "passed": passed,
        "checked": checked,
        "failed": len(examples or []),
        "sentence": sentence,
        "expectation": "expect_column_values_to_be_between",
        "examples": examples,
    }
