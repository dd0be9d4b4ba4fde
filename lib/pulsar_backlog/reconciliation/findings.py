"""What `inventory` says that a reader must know: copies that the broker lacks, objects that nobody needs or knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from pulsar_backlog.counting import counted
from pulsar_backlog.errors import SourceError
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.ledgers.listing import printable
from pulsar_backlog.ledgers.storage_kinds import traits_of

_SAVED = "listed objects against the saved admin JSON"
_BY_TOPIC = {"missing": "S30", "unlisted": "S32"}
"""Findings about verdicts, one for a topic."""


@dataclass
class Tally:
    """Rows of `inventory` that one finding is about: how many, their bytes, and the first of them."""

    count: int = 0
    bytes: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count more."""
        self.count += other.count
        self.bytes += other.bytes
        self.first = sorted([*self.first, *other.first])[:MAX_EVIDENCE]


Tallies = dict[tuple[str, str], Tally]
"""By finding and topic; without a topic where it is one finding for all."""


def tallied(rows: Iterable[Mapping[str, Any]]) -> Tallies:
    """What findings are to say of rows of `inventory`, which are in the order of ledgers."""
    tallies: Tallies = {}
    for _, group in groupby(rows, key=itemgetter("ledger_id")):
        of_ledger = list(group)
        is_held = any(traits_of(row["kind"]).is_offloaded for row in of_ledger)
        for row in of_ledger:
            for key in _findings_of(row, is_held):
                one = Tally(1, row["bytes"], [(row["ledger_id"], row["copy"])])
                tallies.setdefault(key, Tally()).add(one)
    return tallies


def merged(several: Iterable[Tallies]) -> Tallies:
    """Tallies of different rows, together."""
    together: Tallies = {}
    for tallies in several:
        for key, tally in tallies.items():
            together.setdefault(key, Tally()).add(tally)
    return together


def _findings_of(row: Mapping[str, Any], is_held: bool) -> Iterator[tuple[str, str]]:
    if row["verdict"] in _BY_TOPIC and is_held:
        yield _BY_TOPIC[row["verdict"]], row["topic"] or ""
    if row["leaks"]:
        yield "S31", ""
    if row["verdict"] == "unknown_topic":
        yield "S33", ""


def findings_of_inventory(tallies: Tallies, listed_whole: bool = True) -> Iterator[Finding]:
    """Findings about what is stored, a few for a topic or a place at most.

    Args:
        tallies: of rows of `inventory`.
        listed_whole: whether all of the source could be listed; else what seems absent may lie in the rest.
    """
    for (code, topic), tally in sorted(tallies.items()):
        if code == "S30":
            yield _of_topic(code, topic, tally, "The broker reads offload attempts that are not here of", listed_whole)
        elif code == "S31":
            yield _sum(code, "needless", tally, "You store and pay for objects that no broker needs")
        elif code == "S32":
            yield _of_topic(code, topic, tally, "The topic's saved list of ledgers skips", True)
        else:
            yield _sum(code, "topics", tally, "The source holds ledgers of topics that the saved metadata do not know")


def finding_of_uploads(error: SourceError) -> Finding:
    """Unfinished uploads that could not be listed."""
    words = printable([str(error)])[0]
    message = f"Unfinished uploads could not be listed, so the cost of their parts is unknown: {words}"
    return Finding("S34", "uploads", message, sureness="cannot_tell", reason="the store did not list them")


def _of_topic(code: str, topic: str, tally: Tally, words: str, sure: bool) -> Finding:
    """One for a topic, of ledgers of which something is stored."""
    return Finding(
        code,
        topic,
        f"{words} {counted(tally.count, 'ledger')} whose objects are in the source.",
        topic=topic or None,
        ledger_id=tally.first[0][0],
        count=tally.count,
        sureness="certain" if sure else "cannot_tell",
        reason=_SAVED if sure else "parts of the source could not be listed",
        evidence=tuple(f"ledger {ledger_id}" for ledger_id, _ in tally.first),
    )


def _sum(code: str, subject: str, tally: Tally, words: str) -> Finding:
    return Finding(
        code,
        subject,
        f"{words}: {counted(tally.count, 'copy')}, {tally.bytes:,} bytes.",
        count=tally.count,
        sureness="likely",
        reason=_SAVED,
        evidence=printable(f"ledger {ledger_id} {copy}" for ledger_id, copy in tally.first),
    )
