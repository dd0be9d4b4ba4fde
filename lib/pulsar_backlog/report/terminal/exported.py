"""What an export gave out, in words: how much of it is vouched for, where it lies, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from rich.console import Console

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.terminal.sentences import print_sentences
from pulsar_backlog.report.words import byte_size

_WHERE = {
    "delta": "table messages in {}",
    "decoded": "a table for each topic in {}/decoded",
    "parquet": "{}/messages.parquet",
    "files": "{0}/messages.jsonl and {0}/payloads",
}


@dataclass(frozen=True)
class ExportSummary:
    """One export.

    Attributes:
        messages: rows written.
        verified: of them those whose bytes agree with all that can be checked.
        payload_bytes: bytes of the payloads that were given out.
        form: `delta`, `parquet`, `files`, or `decoded`.
        place: folder it lies in.
        findings: sentence and number by code, of what is not verified or was left out.
    """

    messages: int
    verified: int
    payload_bytes: int
    form: str
    place: str
    findings: Mapping[str, tuple[str, int]]


def print_export(summary: ExportSummary, console: Console) -> None:
    """Sentences on a terminal, one JSON line elsewhere."""
    body = asdict(summary) | {"findings": {code: count for code, (_, count) in summary.findings.items()}}
    print_sentences(_lines(summary), body, console)


def _lines(summary: ExportSummary) -> Iterator[str]:
    where = visible(_WHERE[summary.form].format(summary.place.rstrip("/")))
    if not summary.messages:
        yield "No message was exported: no whole message matches the filters."
    else:
        size = byte_size(summary.payload_bytes)
        exported = f"{counted(summary.messages, 'message')} exported"
        yield f"{exported}, {summary.verified:,} of them verified ({size}): {where}"
    for code, (sentence, count) in sorted(summary.findings.items()):
        yield f"  {code}  {sentence}: {count:,}"
    if summary.verified < summary.messages:
        yield "Rows that are not verified say why in `reason`; do not acknowledge their entries because of this export."
