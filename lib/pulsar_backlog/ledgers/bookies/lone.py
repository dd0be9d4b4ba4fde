"""Lone records that no digest proves, in files that prove others: which are believed because something else names them.

A ledger of which a file has one record that nothing proves is more likely a damaged ledger id than a ledger without a
known digest. It is believed where no file proves a record of that ledger, and an index names the entry at that place,
or another file has the same entry, or several of the ledger. (The ledgers map of its own file: see `survey.py`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pulsar_backlog.ledgers.bookies.index import Index
from pulsar_backlog.ledgers.bookies.kernel import SIZE_BYTES
from pulsar_backlog.ledgers.bookies.survey import LogFound

_LEDGER, _OFFSET, _FIRST = 0, 1, 3


def believe_lone(logs: Sequence[LogFound], indexes: Iterable[Index]) -> None:
    """Move lone records that something else names from the damaged ones of their files to what the files hold."""
    ledgers = {ledger for one in logs for ledger in one.lone}
    if not ledgers:
        return
    proved = set().union(*(one.proved & ledgers for one in logs))
    places = _places(indexes, ledgers)
    for one in logs:
        folder, _, name = one.log.stored.path.rpartition("/")
        others = [other for other in logs if other is not one]
        for ledger, row in list(one.lone.items()):
            place = (folder, name, ledger, int(row[_FIRST]), int(row[_OFFSET]))
            if ledger in proved or not (place in places or _is_in(others, ledger, int(row[_FIRST]))):
                continue
            one.extents = np.concatenate((one.extents, row[np.newaxis]))
            del one.damaged[ledger]


def _is_in(others: Iterable[LogFound], ledger: int, entry: int) -> bool:
    """Whether another file has that entry of a ledger, also alone, or several of that ledger."""
    return any(
        ledger in one.unproved or (ledger in one.lone and int(one.lone[ledger][_FIRST]) == entry) for one in others
    )


def _places(indexes: Iterable[Index], ledgers: set[int]) -> set[tuple[str, str, int, int, int]]:
    """Folder, file, ledger, entry and first byte of what indexes name of some ledgers at their ends."""
    places = set()
    for index in indexes:
        for ledger, first, last, first_place, last_place in index.rows.tolist():
            if ledger in ledgers:
                for entry, place in ((first, first_place), (last, last_place)):
                    name = f"{place >> 32 & 0xFFFFFFFF:x}.log"
                    places.add((index.folder, name, ledger, entry, (place & 0xFFFFFFFF) - SIZE_BYTES))
    return places
