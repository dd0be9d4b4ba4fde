"""What is wrong with a query, in one sentence with the nearest names, whichever engine says it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import chain

from pulsar_backlog.sql.view_columns import view_columns
from pulsar_backlog.sql.views import views, words_of
from pulsar_backlog.tables import TABLES

ONLY_QUERIES = "sql answers one query (SELECT ...; also SHOW TABLES, DESCRIBE a table) and changes nothing"
NEAREST = 3
_SAME_LETTERS, _SAME_WORDS = 0.7, 0.5
"""Shares of letters, and of words, from which on a name is near another."""
_PREFIX = 3
"""Letters of a word that may stand for the whole, as in `subs`."""


def unknown_table(name: str) -> str:
    """The sentence for a table that is not there."""
    names = [*TABLES, *views()]
    return f"there is no table or view {name}{_nearest(name, names)}"


def unknown_column(name: str, query: str, others: Iterable[str] = ()) -> str:
    """The sentence for a column that is not there.

    Args:
        name: as the query has it, without its table.
        query: the columns of the tables and views that it names are those that can be meant.
        others: what the engine itself suggests.
    """
    columns = _columns(query)
    having = [table for table in sorted(columns) if name.lower() in columns[table]]
    if having:
        return f"nothing that is read there has a column {name}; it is one of {', '.join(having)}"
    return f"there is no column {name}{_nearest(name, [*others, *chain(*columns.values())])}"


def ambiguous_column(name: str, choices: Iterable[str]) -> str:
    """The sentence for a column of more than one table that the query reads, which has its table before it in each."""
    return f"the column {name} is ambiguous there: write {' or '.join(sorted(choices))}"


def unknown_qualifier(name: str) -> str:
    """The sentence for a table's name before a column where no table has that name."""
    return f"the query reads no table by the name {name} there; a table with an alias has only that one"


def unknown_function(name: str, names: Iterable[str]) -> str:
    """The sentence for a function that is not there."""
    return f"there is no function {name}{_nearest(name, names)}"


def _columns(query: str) -> dict[str, list[str]]:
    """The columns of each table and view that a query names itself."""
    named = words_of(query)
    columns = {name: table.column_names() for name, table in TABLES.items() if name in named}
    if any(view in named for view in views()):
        columns |= {name: [column for column, _ in pairs] for name, pairs in view_columns().items() if name in named}
    return columns


def _nearest(name: str, names: Iterable[str]) -> str:
    wanted = name.lower()
    near = {other: _nearness(wanted, other.lower()) for other in names if other.lower() != wanted}
    nearest = sorted((other for other in near if near[other]), key=lambda other: (-near[other], other))[:NEAREST]
    return f"; nearest: {', '.join(nearest)}" if nearest else "; docs/tables.md lists them all"


def _nearness(name: str, other: str) -> float:
    """From 0, which is not near, to 1: by letters for what is mistyped, by words for what is called otherwise."""
    letters = SequenceMatcher(None, name, other).ratio()
    mine, theirs = name.split("_"), other.split("_")
    words = sum(any(_stand_for_each_other(a, b) for b in theirs) for a in mine) / max(len(mine), len(theirs))
    return max(letters if letters >= _SAME_LETTERS else 0, words if words >= _SAME_WORDS else 0)


def _stand_for_each_other(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _PREFIX and long.startswith(short))


def last_part(name: str) -> str:
    """The column of a name that may have its table before it, quoted or not."""
    return re.split(r"[`\".]", name.strip('`"'))[-1]
