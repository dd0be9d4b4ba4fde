"""What was found, fact by fact: how many, how sure, and what it means for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.counting import counted
from pulsar_backlog.findings.storage import LEFT_UNREAD
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.codes import CodeGroup
from pulsar_backlog.report.model import PublicationGroup, QualityRow
from pulsar_backlog.report.outcomes import BROKEN, MIXED, Outcome, by_flag, by_outcome, group_outcome, known_sureness
from pulsar_backlog.report.words import SURENESS, severity_rank, spaced

FactKind = Literal["blocked", "broken", "undecoded", "unread", "arriving"]
"""`blocked`: a subscription is stalled. `undecoded` is an error too, of entries that were read and not understood."""

TOLD_BY_ENTRIES = frozenset({"E01", "E02"})
TOLD_BY_PUBLICATIONS = frozenset({"C06", "C08", "C09", "C10", "C13", "C14", "C15", "C33"})
"""Codes of findings that the count of broken messages already tells."""

_VERBS: dict[Outcome, tuple[str, str]] = {
    "lost": ("is lost", "are lost"),
    "rescue": ("can be rebuilt although clients lose it", "can be rebuilt although clients lose them"),
    "blocking": ("can stop a consumer", "can stop a consumer"),
    "maybe_lost": ("may be lost", "may be lost"),
    "damaged": ("is damaged beyond rebuilding", "are damaged beyond rebuilding"),
    "malformed": ("has invalid chunk fields", "have invalid chunk fields"),
}

_MEANINGS: dict[Outcome, tuple[str, str]] = {
    "lost": ("Whoever sent it",
        "A part of the message is not in any ledger that was read. No consumer gets it, and nothing here can rebuild "
        "it: send it again."),
    "rescue": ("Whoever waits for it",
        "Every byte of the message is stored, but some or all clients drop it without an error. Export it before "
        "anyone acknowledges or trims it."),
    "blocking": ("Consumers",
        "On such a message some clients crash or reconnect for ever, and everything behind it waits."),
    "maybe_lost": ("Whoever sent it",
        "The message is incomplete here, and nothing tells whether the rest is stored elsewhere. Look in missing "
        "ledgers or another cluster before you call it lost."),
    "damaged": ("Whoever sent it",
        "For some chunk no undamaged copy is stored. Restore the object from another copy, or send the message again."),
    "malformed": ("Consumers",
        "Clients disagree on chunks with invalid fields: some deliver pieces, some deliver nothing more."),
    "in_flight": ("Whoever sends now",
        "The message is incomplete at the end of the log; the rest may still arrive. Do not acknowledge any of "
        "its entries yet."),
}  # fmt: skip

_MIXED_MEANING = (
    "Some clients join chunks of two different messages and deliver the mixture without an error. Do not trust "
    "what consumers received under these uuids."
)
_REJECTED_MEANING = (
    "The tables hold only its place and its first bytes, not its content. Restore the object from another copy."
)
_CORRUPT_MEANING = "The stored bytes are not what the producer sent. Clients drop such an entry or get broken data."
_UNREAD_MEANING = (
    "No table holds what could not be read, and missing chunks may lie there. This report is not complete."
)

_CHOSEN = ("Whoever relies on this report",
    "The audit was told to read less (--budget-bytes, --sample or --limit). No verdict covers those ledgers: missing "
    "chunks, copies and whole messages may lie there.")  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """One thing that was found.

    Attributes:
        what: with its number: `3 messages are lost`.
        sureness: `certain for 2, likely for 1`, or None where it is read from the bytes.
        who: whom it concerns.
        meaning: what it means for them.
    """

    kind: FactKind
    what: str
    sureness: str | None
    who: str
    meaning: str


def facts(
    groups: Sequence[PublicationGroup],
    codes: Sequence[CodeGroup],
    *,
    rejected: int,
    ledgers_not_ok: int,
    quality: Sequence[QualityRow] = (),
    covered: frozenset[str] = frozenset(),
) -> tuple[Fact, ...]:
    """Everything that somebody has to know, worst first; empty when nothing is wrong or unread.

    Codes that are `told` elsewhere are left out.
    """
    publications = _publication_facts(groups)
    return (
        *publications,
        *_entry_facts(codes, rejected),
        *_other_facts(codes, covered | (TOLD_BY_PUBLICATIONS if publications else frozenset())),
        *_quality_facts(quality),
        *_unread_facts(codes, ledgers_not_ok),
        *_arriving_facts(groups),
    )


def _publication_facts(groups: Sequence[PublicationGroup]) -> list[Fact]:
    counts = by_outcome(groups)
    parts: list[Fact] = []
    for name in BROKEN:
        if counts[name]:
            subject = f"{counts[name]:,} more" if parts else counted(counts[name], "message")
            what = f"{subject} {_VERBS[name][counts[name] > 1]}"
            parts.append(Fact("broken", what, _sureness(groups, name), *_MEANINGS[name]))
    mixed = by_flag(groups).get(MIXED, 0)
    if mixed:
        what = f"{counted(mixed, 'message')} may be delivered mixed with another"
        parts.append(Fact("broken", what, None, "Consumers", _MIXED_MEANING))
    return parts


def _sureness(groups: Sequence[PublicationGroup], name: Outcome) -> str:
    counts: Counter[str] = Counter()
    for group in groups:
        if group_outcome(group) == name:
            counts[known_sureness(group.sureness)] += group.publications
    listed = [s for s in SURENESS if counts[s]]
    if len(listed) == 1:
        return SURENESS[listed[0]]
    return ", ".join(f"{SURENESS[s]} for {counts[s]:,}" for s in listed)


def _entry_facts(codes: Sequence[CodeGroup], rejected: int) -> list[Fact]:
    undecodable = max([rejected, *(g.count for g in codes if g.kind.code == "E02")])
    corrupt = sum(g.count for g in codes if g.kind.code == "E01")
    parts: list[Fact] = []
    if undecodable:
        what = f"{counted(undecodable, 'entry')} could not be decoded"
        parts.append(Fact("undecoded", what, None, "Whoever sent it", _REJECTED_MEANING))
    if corrupt:
        verb = "fails its checksum" if corrupt == 1 else "fail their checksum"
        parts.append(Fact("broken", f"{counted(corrupt, 'entry')} {verb}", None, "Consumers", _CORRUPT_MEANING))
    return parts


def _other_facts(codes: Sequence[CodeGroup], told_codes: frozenset[str]) -> list[Fact]:
    """Errors that publications and entries do not already tell, in the catalogue's words."""
    parts: list[Fact] = []
    for group in codes:
        code = group.kind.code
        is_shown = group.incomplete or code in TOLD_BY_ENTRIES or code in told_codes
        if severity_rank(group.severity) == 0 and not is_shown:
            what = f"{counted(group.findings, 'error')}: {spaced(group.kind.name)} ({code})"
            sureness = ", ".join(SURENESS[s] for s in group.sureness) or None
            parts.append(Fact("broken", what, sureness, "What it means", group.kind.meaning))
    return parts


def _quality_facts(quality: Sequence[QualityRow]) -> list[Fact]:
    failed = [row for row in quality if not row["passed"] and row["severity"] == "error"]
    if not failed:
        return []
    what = f"{counted(len(failed), 'data-quality rule')} failed"
    sentences = " ".join(visible(row["sentence"]) for row in failed[:3])
    return [Fact("broken", what, None, "Whoever relies on the tables", f"These rules failed: {sentences}")]


def _unread_facts(codes: Sequence[CodeGroup], ledgers_not_ok: int) -> list[Fact]:
    """What was not read; damaged ledgers only where no finding says it better."""
    count = sum(g.count for g in codes if g.kind.code == LEFT_UNREAD)
    chosen = [Fact("unread", f"{counted(count, 'ledger')} left unread on purpose", None, *_CHOSEN)] if count else []
    others = TOLD_BY_ENTRIES | {LEFT_UNREAD}
    unread = sum(g.findings for g in codes if g.incomplete and g.kind.code not in others)
    has_error = any(g.kind.code.startswith("S") and severity_rank(g.severity) == 0 for g in codes)
    if unread:
        what = f"{counted(unread, 'object')} could not be read in full"
    elif ledgers_not_ok and not has_error:
        what = f"{counted(ledgers_not_ok, 'ledger')} could not be read in full"
    else:
        return chosen
    return [unread_fact(what), *chosen]


def unread_fact(what: str) -> Fact:
    """The fact that something was not read."""
    return Fact("unread", what, None, "Whoever relies on this report", _UNREAD_MEANING)


def _arriving_facts(groups: Sequence[PublicationGroup]) -> list[Fact]:
    arriving = by_outcome(groups)["in_flight"]
    if not arriving:
        return []
    what = f"{counted(arriving, 'message')} may still be arriving"
    return [Fact("arriving", what, None, *_MEANINGS["in_flight"])]
