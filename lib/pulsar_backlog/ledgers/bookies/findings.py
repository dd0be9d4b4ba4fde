"""What is to be said of the files of bookies, besides what each ledger's own findings say."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import islice

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.bookies.contents import Contents
from pulsar_backlog.ledgers.bookies.shortfalls import MAX_NAMED, findings_of_absent, findings_of_indexes
from pulsar_backlog.ledgers.bookies.survey import LogFound
from pulsar_backlog.ledgers.listing import printable


def findings_of_logs(contents: Contents) -> Iterator[Finding]:
    """Findings about files, and about ledgers as the files have them."""
    ledgers = contents.ledgers
    yield from findings_of_indexes(contents.indexes)
    yield from findings_of_absent(contents.short)
    of_messages = {each.examined.pair.ledger_id for each in ledgers if each.is_of_messages}
    for one in contents.logs:
        yield from _of_log(one, of_messages)
    others = [each.examined.pair.ledger_id for each in ledgers if not each.is_of_messages]
    if others:
        words = counted(len(others), "ledger holds no messages", "ledgers hold no messages")
        yield _counted(
            "S26", "no messages", f"{words}: cursors, schemas, or other state; see internal_ledgers.", others
        )
    behind = [each for each in ledgers if each.is_of_messages and each.last_entry > each.last_confirmed + 1]
    if behind:
        words = counted(len(behind), "ledger has entries", "ledgers have entries")
        ids = [
            f"ledger {each.examined.pair.ledger_id}: confirmed to {each.last_confirmed}, stored to {each.last_entry}"
            for each in behind
        ]
        yield Finding(
            "S27", "not confirmed", f"{words} behind the last confirmed one that the stored entries name.",
            count=len(behind), evidence=tuple(ids[:MAX_EVIDENCE]),
        )  # fmt: skip
    fenced = sorted(set().union(*(one.fenced for one in contents.logs), *(one.fenced for one in contents.indexes)))
    if fenced:
        words = counted(len(fenced), "ledger is fenced", "ledgers are fenced")
        yield _counted("S28", "fenced", f"{words} by a journal or an index: its recovery was begun.", fenced)


def _of_log(one: LogFound, of_messages: Container[int]) -> Iterator[Finding]:
    """Findings of one file; `of_messages` are the ledgers that have findings of their own."""
    path, refused = printable([one.log.stored.path, one.refused or ""])
    if one.refused is not None:
        message = f"{path}: nothing of this {one.log.role} was read: {refused}."
        yield Finding("S25", path, message, incomplete=True, evidence=(path,))
    sentences = []
    if one.gap_count:
        stretches = "stretch is neither record nor padding", "stretches are neither record nor padding"
        sentences.append(counted(one.gap_count, *stretches))
    records = sum(damaged.records for damaged in one.damaged.values())
    if records:
        sentences.append(counted(records, "record is proved by no digest", "records are proved by no digest"))
    if one.short:
        ledgers = counted(len(one.short), "ledger has", "ledgers have")
        sentences.append(f"{ledgers} fewer bytes than its ledgers map says")
    if sentences:
        evidence = _evidence(one, path)
        first = tuple(text for _, text in islice(evidence, MAX_EVIDENCE))
        count = one.gap_count + records + len(one.short)
        yield Finding("S25", path, f"{path}: {', '.join(sentences)}.", count=count, evidence=first)
        yield from _of_more(path, ((ledger, text) for ledger, text in evidence if ledger not in of_messages))


def _evidence(one: LogFound, path: str) -> Iterator[tuple[int | None, str]]:
    """What is wrong with a file, and with which ledger, None where nothing says: damage, then what its map lacks."""
    for first, end, context in one.gaps[:MAX_EVIDENCE]:
        yield None, f"{path}+{first} to {end}: {context[:16].hex()}"
    for ledger, damaged in one.damaged.items():
        ids = f"entries {damaged.first} to {damaged.last}"
        yield ledger, f"{path}+{damaged.offset}: ledger {ledger}, {ids}, as it claims"
    for ledger, (size, mapped) in one.short.items():
        yield None if ledger in one.damaged else ledger, f"ledger {ledger}: {size} of {mapped} bytes"


def _of_more(path: str, evidence: Iterator[tuple[int | None, str]]) -> Iterator[Finding]:
    """Ledgers that a file names and lacks, wholly or in part, beyond those that its own finding names."""
    named = ((ledger, text) for ledger, text in evidence if ledger is not None)
    for group in groups_of(islice(named, MAX_NAMED), MAX_EVIDENCE):
        words = counted(len(group), "ledger more", "ledgers more")
        yield Finding(
            "S25", f"{path}: ledger {group[0][0]}", f"{path} names {words} of which it lacks entries.",
            count=len(group), evidence=tuple(text for _, text in group),
        )  # fmt: skip
    if more := sum(1 for _ in named):
        words = counted(more, "ledger more", "ledgers more")
        message = f"{path} names {words} of which it lacks entries; these are only counted."
        yield Finding("S25", f"{path}: more ledgers", message, count=more)


def _counted(code: str, subject: str, words: str, ledgers: list[int]) -> Finding:
    evidence = tuple(f"ledger {ledger_id}" for ledger_id in ledgers[:MAX_EVIDENCE])
    return Finding(code, subject, words, count=len(ledgers), evidence=evidence)
