"""Queries of conf/, which are Spark's, and the twin of each for DuckDB in conf/duckdb/, made by `make docs`.

A twin names the text that it was made of. A query that DuckDB reads word for word as Spark does has none: `alike.txt`
names it. Where its text has changed, or is someone's own view, the query is translated when it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from pulsar_backlog.config import home

TWINS = "duckdb"
"""Folder of conf/."""
ALIKE = "alike.txt"
"""File in it: queries that both engines read alike, each with the digest of its text."""


def spark_query(room: str, name: str) -> str:
    """The query `conf/<room>/<name>.sql`, as Spark reads it."""
    return _path(room, name).read_text()


def duck_query(room: str, name: str) -> str:
    """The same as DuckDB reads it.

    Raises:
        TranslationError: there is no fresh twin, and none can be made.
    """
    text = spark_query(room, name)
    return twin(room, name, text) or translated(text)


def twin(room: str, name: str, text: str) -> str | None:
    """DuckDB's text of a query, where it was made of this text or is this text."""
    path = _path(f"{TWINS}/{room}", name)
    if path.is_file():
        made = path.read_text()
        return made if made.startswith(_head(room, name, text)) else None
    alike = home() / "conf" / TWINS / ALIKE
    return text if alike.is_file() and _alike_line(room, name, text) in alike.read_text().splitlines() else None


def twins(conf: Path) -> Iterator[tuple[Path, str]]:
    """All twins and `alike.txt` as they must be: their paths below conf/, and what stands in each.

    Raises:
        TranslationError: a query has none; its file is named.
    """
    from pulsar_backlog.sql.dialect_rules import TranslationError  # noqa: PLC0415 - loads sqlglot

    alike = ["# Queries of conf/ that DuckDB reads as Spark does; made by `make docs`, do not edit."]
    for path in sorted(conf.glob("*/*.sql")):
        room, text = path.parent.name, path.read_text()
        try:
            made = translated(text)
        except TranslationError as error:
            raise TranslationError(f"{path}: {error}; write it otherwise, or a rule in sql/dialect_rules.py") from error
        if _words(made) == _words(text):
            alike.append(_alike_line(room, path.stem, text))
        else:
            yield Path(TWINS, room, path.name), f"{_head(room, path.stem, text)}\n{made}\n"
    yield Path(TWINS, ALIKE), "\n".join([*alike, ""])


def translated(text: str) -> str:
    """DuckDB's text of a query of Spark's, in which `$name` may stand for a value.

    Raises:
        TranslationError: it is none, or there is none that means the same.
    """
    from pulsar_backlog.sql.dialect import duck_sql  # noqa: PLC0415 - loads sqlglot, which twins do without

    return re.sub(r"\bvalue_(\w+?)_of_query\b", r"$\1", duck_sql(_with_names(text), pretty=True))


def _words(text: str) -> list[tuple[str, str]]:
    """What DuckDB reads in a text: its words by kind, names and keywords in one case."""
    from pulsar_backlog.sql.dialect import duck_words  # noqa: PLC0415 - likewise

    return duck_words(_with_names(text))


def _with_names(text: str) -> str:
    """A query with a name instead of each `$name`."""
    return re.sub(r"\$(\w+)", r"value_\1_of_query", text)


def _alike_line(room: str, name: str, text: str) -> str:
    return f"{room}/{name} {_digest(text)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _head(room: str, name: str, text: str) -> str:
    return f"-- Made of conf/{room}/{name}.sql ({_digest(text)}) by `make docs`; do not edit."


def _path(room: str, name: str) -> Path:
    return home() / "conf" / room / f"{name}.sql"
