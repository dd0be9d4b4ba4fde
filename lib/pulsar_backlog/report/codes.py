"""Findings gathered by code, so that what a code means is said once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pulsar_backlog.findings import CATALOGUE, FindingKind
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.model import FindingRow, FindingTotal
from pulsar_backlog.report.words import SURENESS, severity_rank

URGENT = (
    "S01", "S02", "C14", "C13", "C15", "C33", "C06", "C08", "C09", "C34", "E02", "E01", "C10", "C35",
)  # fmt: skip
"""Codes to read first among equals: nothing read, consumers blocked or misled, messages lost."""


@dataclass(frozen=True)
class CodeGroup:
    """All findings of one code.

    Attributes:
        severity: the worst among them.
        findings: how many there are, listed or not.
        count: how many entries, messages or objects they concern.
        incomplete: whether one of them says that something was unreadable.
        rows: those that are listed.
    """

    kind: FindingKind
    severity: str
    findings: int
    count: int
    incomplete: bool
    rows: tuple[FindingRow, ...]

    @property
    def unlisted(self) -> int:
        """Findings that are counted but not listed."""
        return self.findings - len(self.rows)

    @property
    def sureness(self) -> tuple[str, ...]:
        """How sure the listed findings are, surest first."""
        grades = {row["sureness"] for row in self.rows}
        return tuple(s for s in SURENESS if s in grades)


def by_code(rows: Sequence[FindingRow], totals: Sequence[FindingTotal]) -> tuple[CodeGroup, ...]:
    """Groups, most urgent first. A code without totals is counted from its rows."""
    codes = {t.code for t in totals} | {r["code"] for r in rows}
    groups = [_group(code, rows, totals) for code in codes]
    return tuple(sorted(groups, key=_urgency))


def in_order(rows: Sequence[FindingRow], totals: Sequence[FindingTotal]) -> list[FindingRow]:
    """Findings as their groups have them, the most urgent code first."""
    return [row for group in by_code(rows, totals) for row in group.rows]


def _group(code: str, all_rows: Iterable[FindingRow], all_totals: Iterable[FindingTotal]) -> CodeGroup:
    rows = sorted((r for r in all_rows if r["code"] == code), key=_row_order)
    totals = [t for t in all_totals if t.code == code]
    severities = [t.severity for t in totals] + [r["severity"] for r in rows]
    return CodeGroup(
        kind=CATALOGUE.get(code) or _unknown_kind(code, rows),
        severity=min(severities, key=severity_rank),
        findings=max(sum(t.findings for t in totals), len(rows)),
        count=max(sum(t.count for t in totals), sum(r["count"] for r in rows)),
        incomplete=any(t.incomplete for t in totals) or any(r["incomplete"] for r in rows),
        rows=tuple(rows),
    )


def _unknown_kind(code: str, rows: Sequence[FindingRow]) -> FindingKind:
    """Words for a code of another version of this program, whose tables are being read."""
    return FindingKind(
        visible(code, 40), visible(rows[0]["name"], 60) if rows else "unknown", "error",
        "This version of the program does not know this code.",
        "Another version wrote the tables.",
        "Write the report with the version that made the tables.",
        "pulsar-backlog --version", "",
    )  # fmt: skip


def _urgency(group: CodeGroup) -> tuple[int, int, int, str]:
    code = group.kind.code
    urgency = URGENT.index(code) if code in URGENT else len(URGENT)
    return severity_rank(group.severity), urgency, -group.findings, code


def _row_order(row: FindingRow) -> tuple[int, int, str, int, int, str]:
    """Largest first; then by place, so that equal models give equal reports."""
    ledger_id, entry_id = row["ledger_id"], row["entry_id"]
    return (
        severity_rank(row["severity"]),
        -row["count"],
        row["topic"] or "",
        -1 if ledger_id is None else ledger_id,
        -1 if entry_id is None else entry_id,
        row["subject"],
    )
