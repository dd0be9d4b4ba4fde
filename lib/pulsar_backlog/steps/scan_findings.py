"""Findings of the scan: of what was left or has changed, of the books per ledger, of the entries per topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding, count_sentences
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.ledgers.budget import TopicBytes
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.finding_rows import case_of, noticed_findings

TABLES_ASKED = ("scans", "rejects", "ledger_facts")

_COUNTED = count_sentences("E01", "E03", "E04", "E05", "E06", "E07")


def findings_of_changed(rows: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """A finding for each scanned object that is not what it was."""
    for row in rows:
        yield Finding(
            "S17",
            f"ledger:{row['ledger_id']}",
            _change_of(row["ledger_id"], row["scanned_bytes"], row["data_bytes"]),
            topic=row["topic"],
            ledger_id=row["ledger_id"],
            reason="size or version tag differs from the last scan's",
            evidence=(row["data_uri"],),
        )


def _change_of(ledger_id: int, before: int, after: int) -> str:
    if before == after:
        return (
            f"The data object of ledger {ledger_id} was written again after it was scanned: its version tag, or its "
            f"modification time, is another one. It has {after:,} bytes as before."
        )
    return f"The data object of ledger {ledger_id} was {before:,} bytes when it was scanned, and is {after:,} now."


def findings_of_left(
    skipped: Iterable[PlannedCopy], topics: Mapping[str | None, TopicBytes], budget: str
) -> Iterator[Finding]:
    """A finding for each topic with ledgers that were left unread by the `budget` that was typed."""
    by_topic: dict[str | None, list[PlannedCopy]] = {}
    for copy in skipped:
        by_topic.setdefault(copy.topic, []).append(copy)
    for topic, copies in sorted(by_topic.items(), key=lambda one: one[0] or ""):
        unread, stored = sum(copy.data_bytes or 0 for copy in copies), topics[topic].stored
        first, last = copies[0].ledger_id, copies[-1].ledger_id
        yield Finding(
            LEFT_UNREAD,
            topic or "ledgers without a topic",
            f"{counted(len(copies), 'ledger')} of ids {first} to {last} ({unread:,} of {stored:,} bytes) are not read "
            f"yet, because of {budget}.",
            topic=topic,
            count=len(copies),
            reason="chosen by option",
            evidence=tuple(f"ledger:{copy.ledger_id}" for copy in copies[:MAX_EVIDENCE]),
            incomplete=True,
        )


def findings_of_scans(context: JobContext, engine: QueryEngine) -> Rows:
    """Rows of `findings`: what books and facts of all scans say, whenever they were made.

    Args:
        context: of the job.
        engine: knows `TABLES_ASKED`.
    """
    most: dict[str, int | str] = {"max_evidence": MAX_EVIDENCE}
    engine.materialize("books", engine.sql("scan", "books", most))
    of_entries = engine.sql("scan", "entry_findings", {"counted": case_of("code", _COUNTED), **most})
    of_ledgers = engine.sql("scan", "ledger_findings", most)
    return noticed_findings(context, engine, of_ledgers, of_entries)
