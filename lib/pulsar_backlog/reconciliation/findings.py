"""What `inventory` says that a reader must know: copies that the broker lacks, objects that nobody needs or knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from pulsar_backlog.counting import counted
from pulsar_backlog.errors import SourceError
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.listing import printable
from pulsar_backlog.reconciliation.values import Row

_SAVED = "listed objects against the saved admin JSON"


def findings_of_inventory(rows: Iterable[Row], listed_whole: bool = True) -> Iterator[Finding]:
    """Findings about what is stored, a few for a topic or a place at most.

    Args:
        rows: of `inventory`.
        listed_whole: whether all of the source could be listed; else what seems absent may lie in the rest.
    """
    rows = list(rows)
    stored = {row.ledger_id for row in rows if row.kind in ("jcloud", "filesystem")}
    yield from _by_topic(
        rows, stored, "S30", "missing", "The broker reads offload attempts that are not here of", listed_whole
    )
    yield from _by_topic(rows, stored, "S32", "unlisted", "The topic's saved list of ledgers skips")
    needless = [row for row in rows if row.leaks]
    if needless:
        yield _sum("S31", "needless", needless, "You store and pay for objects that no broker needs")
    unknown = [row for row in rows if row.judged.verdict == "unknown_topic"]
    if unknown:
        yield _sum("S33", "topics", unknown, "The source holds ledgers of topics that the saved metadata do not know")


def finding_of_uploads(error: SourceError) -> Finding:
    """Unfinished uploads that could not be listed."""
    said = printable([str(error)])[0]
    message = f"Unfinished uploads could not be listed, so the cost of their parts is unknown: {said}"
    return Finding("S34", "uploads", message, sureness="cannot_tell", reason="the store did not list them")


def _by_topic(
    rows: Iterable[Row], stored: Collection[int], code: str, verdict: str, words: str, sure: bool = True
) -> Iterator[Finding]:
    """One for each topic, of ledgers of which something is stored."""
    by_topic: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        if row.judged.verdict == verdict and row.ledger_id in stored:
            by_topic[row.topic].append(row)
    for topic, found in sorted(by_topic.items(), key=lambda item: item[0] or ""):
        yield Finding(
            code,
            topic or "",
            f"{words} {counted(len(found), 'ledger')} whose objects are in the source.",
            topic=topic,
            ledger_id=found[0].ledger_id,
            count=len(found),
            sureness="certain" if sure else "cannot_tell",
            reason=_SAVED if sure else "parts of the source could not be listed",
            evidence=tuple(f"ledger {row.ledger_id}" for row in found),
        )


def _sum(code: str, subject: str, rows: list[Row], words: str) -> Finding:
    size = sum(row.stored.bytes for row in rows if row.stored)
    return Finding(
        code,
        subject,
        f"{words}: {counted(len(rows), 'copy')}, {size:,} bytes.",
        count=len(rows),
        sureness="likely",
        reason=_SAVED,
        evidence=printable(f"ledger {row.ledger_id} {row.copy}" for row in rows[:20]),
    )
