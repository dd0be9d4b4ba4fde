"""Queries of conf/, which are Spark's, and the twin of each for DuckDB in conf/duckdb/, made by `make docs`.

A twin names the text that it was made of. Where that has changed, or is someone's own view, the query is translated
when it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from pulsar_backlog.config import home

TWINS = "duckdb"
"""Folder of conf/."""


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
    """DuckDB's text of a query, where it was made of this text."""
    path = _path(f"{TWINS}/{room}", name)
    made = path.read_text() if path.is_file() else ""
    return made if made.startswith(_head(room, name, text)) else None


def twins(conf: Path) -> Iterator[tuple[Path, str]]:
    """All twins as they must be: their paths below conf/, and what stands in each.

    Raises:
        TranslationError: a query has none; its file is named.
    """
    from pulsar_backlog.sql.dialect_rules import TranslationError  # noqa: PLC0415 - loads sqlglot

    for path in sorted(conf.glob("*/*.sql")):
        room, text = path.parent.name, path.read_text()
        try:
            yield Path(TWINS, room, path.name), f"{_head(room, path.stem, text)}\n{translated(text)}\n"
        except TranslationError as error:
            raise TranslationError(f"{path}: {error}; write it otherwise, or a rule in sql/dialect_rules.py") from error


def translated(text: str) -> str:
    """DuckDB's text of a query of Spark's, in which `$name` may stand for a value.

    Raises:
        TranslationError: it is none, or there is none that means the same.
    """
    from pulsar_backlog.sql.dialect import duck_sql  # noqa: PLC0415 - loads sqlglot, which twins do without

    return re.sub(
        r"\bvalue_(\w+?)_of_query\b", r"$\1", duck_sql(re.sub(r"\$(\w+)", r"value_\1_of_query", text), pretty=True)
    )


def _head(room: str, name: str, text: str) -> str:
    return f"-- Made of conf/{room}/{name}.sql ({sha256(text.encode()).hexdigest()[:16]}) by `make docs`; do not edit."


def _path(room: str, name: str) -> Path:
    return home() / "conf" / room / f"{name}.sql"
