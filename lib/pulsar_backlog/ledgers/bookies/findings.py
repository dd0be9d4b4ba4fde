"""What is to be said of the files of bookies, besides what each ledger's own findings say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.ledgers.bookies.contents import Contents
from pulsar_backlog.ledgers.bookies.shortfalls import findings_of_absent, findings_of_indexes
from pulsar_backlog.ledgers.bookies.survey import LogFound
from pulsar_backlog.ledgers.listing import printable


def findings_of_logs(contents: Contents) -> Iterator[Finding]:
    """Findings about files, and about ledgers as the files have them."""
    ledgers = contents.ledgers
    yield from findings_of_indexes(contents.indexes)
    yield from findings_of_absent(contents.short)
    for one in contents.logs:
        yield from _of_log(one)
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


def _of_log(one: LogFound) -> Iterator[Finding]:
    path, refused = printable([one.log.stored.path, one.refused or ""])
    if one.refused is not None:
        message = f"{path}: nothing of this {one.log.role} was read: {refused}."
        yield Finding("S25", path, message, incomplete=True, evidence=(path,))
    sentences, evidence = [], []
    if one.gap_count:
        stretches = "stretch is neither record nor padding", "stretches are neither record nor padding"
        sentences.append(counted(one.gap_count, *stretches))
        gaps = one.gaps[:MAX_EVIDENCE]
        evidence += [f"{path}+{first} to {end}: {context[:16].hex()}" for first, end, context in gaps]
    records = sum(damaged.records for damaged in one.damaged.values())
    if records:
        sentences.append(counted(records, "record is proved by no digest", "records are proved by no digest"))
        evidence += [
            f"{path}+{damaged.offset}: ledger {ledger}, entries {damaged.first} to {damaged.last}, as it claims"
            for ledger, damaged in islice(one.damaged.items(), MAX_EVIDENCE)
        ]
    if one.short:
        ledgers = counted(len(one.short), "ledger has", "ledgers have")
        sentences.append(f"{ledgers} fewer bytes than its ledgers map says")
        evidence += [
            f"ledger {ledger}: {stored} of {mapped} bytes"
            for ledger, (stored, mapped) in islice(one.short.items(), MAX_EVIDENCE)
        ]
    if sentences:
        count = one.gap_count + records + len(one.short)
        yield Finding("S25", path, f"{path}: {', '.join(sentences)}.", count=count, evidence=tuple(evidence))


def _counted(code: str, subject: str, words: str, ledgers: list[int]) -> Finding:
    evidence = tuple(f"ledger {ledger_id}" for ledger_id in ledgers[:MAX_EVIDENCE])
    return Finding(code, subject, words, count=len(ledgers), evidence=evidence)
