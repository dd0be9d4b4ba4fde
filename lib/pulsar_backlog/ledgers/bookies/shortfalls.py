"""What indexes of bookies name and their entry logs and journals do not have: entries that were lost, by ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.bookies.index import Index
from pulsar_backlog.ledgers.copies import Problem
from pulsar_backlog.ledgers.listing import printable

MAX_NAMED = 1000
"""Ledgers of which nothing is here that are named one by one; the rest is only counted."""
MAX_NOTES = 3


@dataclass(frozen=True)
class Shortfall:
    """What the files lack of a ledger: entries before the first that they have, or behind the last.

    Attributes:
        folder: of the index that names them.
        ledger_id: whose they are.
        ranges: first and last entry of each stretch.
        location: of the last one, by the index.
        is_whole: whether the files have no entry of the ledger at all.
        may_be_deleted: whether the bookie may have deleted the ledger, which its index did not say.
    """

    folder: str
    ledger_id: int
    ranges: tuple[tuple[int, int], ...]
    location: int
    is_whole: bool
    may_be_deleted: bool = False

    @property
    def place(self) -> str:
        """The file and place of the last one."""
        return f"{self.folder}/{self.location >> 32 & 0xFFFFFFFF:x}.log+{(self.location & 0xFFFFFFFF) - 4}"

    @property
    def words(self) -> str:
        """The entries."""
        return " and ".join(_entries(first, last) for first, last in self.ranges)


def shortfalls(indexes: Sequence[Index], stored: Mapping[int, tuple[int, int]]) -> Iterator[Shortfall]:
    """Ledgers of which an index names more than the files have at their ends, each once.

    Args:
        indexes: of all folders.
        stored: first and last entry of each ledger by its records. What lacks between them shows by the ids.
    """
    widest: dict[int, Shortfall] = {}
    for index in indexes:
        for ledger, first, last, first_place, last_place in index.rows.tolist():
            low, high = stored.get(ledger, (last + 1, last))
            ranges = [(first, low - 1)] if first < low else []
            ranges += [(high + 1, last)] if last > high and ledger in stored else []
            if ranges:
                location = last_place if ledger not in stored or last > high else first_place
                one = Shortfall(
                    index.folder, ledger, tuple(ranges), location, ledger not in stored, not index.knows_deleted
                )
                widest[ledger] = max(widest.get(ledger, one), one, key=_missing)
    yield from (widest[ledger] for ledger in sorted(widest))


def problem_of(one: Shortfall) -> Problem:
    """What is wrong with a ledger of which something is here."""
    message = f"The index of the bookie in {one.folder} names {one.words} of this ledger, which no file has"
    deleted = "; the bookie may have deleted the ledger" if one.may_be_deleted else ""
    return Problem("S25", f"{message}: the last at {one.place}{deleted}.", one.folder)


def findings_of_absent(short: Sequence[Shortfall]) -> Iterator[Finding]:
    """Ledgers of which an index names entries, and the files have none."""
    absent = [one for one in short if one.is_whole]
    for number, group in enumerate(groups_of(absent[:MAX_NAMED], MAX_EVIDENCE)):
        words = counted(len(group), "ledger", "ledgers")
        entries = counted(sum(map(_missing, group)), "entry", "entries")
        deleted = " Some may have been deleted: that part of the index was not read." if group[0].may_be_deleted else ""
        folder, *evidence = printable(
            [group[0].folder, *(f"ledger {one.ledger_id}: {one.words}, to {one.place}" for one in group)]
        )
        subject = f"{folder}: ledger {group[0].ledger_id}" if number else folder
        yield Finding(
            "S25", subject,
            f"Indexes of bookies name {words} with up to {entries} of which no file here has one.{deleted}",
            count=len(group), evidence=tuple(evidence),
        )  # fmt: skip
    if len(absent) > MAX_NAMED:
        more = len(absent) - MAX_NAMED
        words = f"Indexes of bookies name {counted(more, 'ledger', 'ledgers')} more of which no file here has an entry."
        yield Finding("S25", "index", words, count=more)


def findings_of_indexes(indexes: Sequence[Index]) -> Iterator[Finding]:
    """Indexes that were not read, or not wholly."""
    for index in indexes:
        if index.notes:
            folder, *notes = printable([index.folder, *index.notes])
            more = f"; and {len(notes) - MAX_NOTES} more" if len(notes) > MAX_NOTES else ""
            message = f"The index of the bookie in {folder}: {'; '.join(notes[:MAX_NOTES])}{more}."
            yield Finding("S56", folder, message, count=len(notes), evidence=tuple(notes[:MAX_EVIDENCE]))


def _missing(one: Shortfall) -> int:
    return sum(last - first + 1 for first, last in one.ranges)


def _entries(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last}"
