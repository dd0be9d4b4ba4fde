"""Entries behind the recorded end of a ledger: which of them a producer was told are stored.

Recovery closes a ledger at the last entry that it finds; an add that a writer still gets confirmed lies behind it,
and no client reads it. What proves that an entry was confirmed:

| grade | evidence |
|---|---|
| `certain` | a later entry of the ledger, whose digest agrees, names it, or one behind it, as the last confirmed one |
| `likely` | it and all before it behind the end lie on as many bookies as the ack quorum, which confirms an add |
| `likely` | the next ledger of the topic goes on with the index that follows it: the broker had counted it |
| `cannot_tell` | none of these |

Copies are counted by folders of entry logs: a journal repeats what its bookie's entry logs have.
Source: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/client/PendingAddOp.java
and https://github.com/apache/bookkeeper/issues/4812, https://github.com/apache/pulsar/issues/26074
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pulsar_backlog.ledgers.bookies.walk import StoredRecord
from pulsar_backlog.terms import Sureness


@dataclass(frozen=True, slots=True)
class CutOffEntry:
    """An entry behind the end.

    Attributes:
        record: the copy of it that is believed.
        bookies: folders that have a proved copy.
        grade: how sure it is that it was confirmed.
        reason: why, as a sentence.
    """

    record: StoredRecord
    bookies: int
    grade: Sureness
    reason: str


def cut_off_entries(
    records: Iterable[StoredRecord], end: int, ack_quorum: int | None, counted_up_to: int | None
) -> Iterator[CutOffEntry]:
    """The entries behind the end, in order; those that no digest proves are left out.

    Args:
        records: copies of entries of one ledger.
        end: entries that the ledger has by its metadata.
        ack_quorum: copies by which an add is confirmed; None where it is not known.
        counted_up_to: the last entry that the next ledger's index counts; None where that is not known.
    """
    copies: dict[int, list[StoredRecord]] = {}
    for one in records:
        if one.entry_id >= end and one.is_proved:
            copies.setdefault(one.entry_id, []).append(one)
    last_confirmed = max((one.last_confirmed for some in copies.values() for one in some), default=-1)
    witness = min((e for e, some in copies.items() for one in some if one.last_confirmed == last_confirmed), default=-1)
    unbroken = end
    for entry_id in sorted(copies):
        some = copies[entry_id]
        bookies = _bookies(some)
        is_quorum = ack_quorum is not None and bookies >= ack_quorum
        if is_quorum and entry_id == unbroken:
            unbroken += 1
        chosen = min(some, key=lambda one: (one.path.endswith(".txn"), one.path, one.offset))
        if entry_id <= last_confirmed:
            yield CutOffEntry(
                chosen, bookies, "certain", f"Entry {witness} names entry {last_confirmed} as the last confirmed one."
            )
        elif entry_id < unbroken:
            words = f"It and all before it lie on {bookies} bookies, and {ack_quorum} confirm an add."
            yield CutOffEntry(chosen, bookies, "likely", words)
        elif counted_up_to is not None and entry_id <= counted_up_to:
            yield CutOffEntry(chosen, bookies, "likely", "The next ledger's index goes on behind it.")
        else:
            yield CutOffEntry(chosen, bookies, "cannot_tell", "Nothing that is here says that its add was confirmed.")


def _bookies(copies: list[StoredRecord]) -> int:
    logs = {one.path.rpartition("/")[0] for one in copies if not one.path.endswith(".txn")}
    journals = {one.path.rpartition("/")[0] for one in copies if one.path.endswith(".txn")}
    return max(len(logs), len(journals))
