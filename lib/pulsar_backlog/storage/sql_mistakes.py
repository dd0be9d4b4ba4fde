"""What is wrong with a query, in one sentence with the nearest names, whichever engine says it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from pulsar_backlog.storage.views import named_in, views
from pulsar_backlog.tables import TABLES

ONLY_QUERIES = "sql answers one query (SELECT ...) and changes nothing"
NEAREST = 3
_CUTOFF = 0.5


def unknown_table(name: str) -> str:
    """The sentence for a table that is not there."""
    known = [*TABLES, *views()]
    return f"there is no table or view {name}{_nearest(name, known)}"


def unknown_column(name: str, query: str, others: Iterable[str] = ()) -> str:
    """The sentence for a column that is not there.

    Args:
        name: as the query has it, without its table.
        query: the columns of the tables that it names are those that can be meant.
        others: what the engine itself suggests, such as columns of a view.
    """
    tables, _ = named_in(query)
    known = [*others, *(column for table in sorted(tables) for column in TABLES[table].column_names())]
    return f"there is no column {name}{_nearest(name, known)}"


def unknown_function(name: str, known: Iterable[str]) -> str:
    """The sentence for a function that is not there."""
    return f"there is no function {name}{_nearest(name, known)}"


def _nearest(name: str, known: Iterable[str]) -> str:
    found = get_close_matches(name.lower(), list(dict.fromkeys(known)), NEAREST, _CUTOFF)
    return f"; nearest: {', '.join(found)}" if found else "; docs/tables.md lists them all"


def last_part(name: str) -> str:
    """The column of a name that may have its table before it, quoted or not."""
    return re.split(r"[`\".]", name.strip('`"'))[-1]
