"""Spark's SQL as DuckDB's, by sqlglot and the rules of `dialect_rules`.

Queries of conf/ are made DuckDB's once, into conf/duckdb/; sqlglot is loaded where someone else's query needs it. What
a test of both engines vouches for is translated (`dialect_functions.txt` has the functions), and all else is refused:
another answer than Spark's is worse than none. Sessions sort nulls as Spark does, so that no query needs to say it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parsers.spark import SparkParser

from pulsar_backlog.sql.dialect_rules import DuckGenerator, TranslationError

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # it warns of what is no query, which is refused here


def _to(kind: str) -> Callable[[list[Any]], exp.Expr]:
    return lambda args: exp.cast(args[0], kind)


def _unix_timestamp(args: list[Any]) -> exp.Expr:
    if len(args) == 1:
        return exp.UnixSeconds(this=args[0])
    return exp.Anonymous(this="unix_timestamp", expressions=args)


class _SparkParser(SparkParser):
    """Spark's, whose casts fail where they cannot be done, as they do by default since Spark 4."""

    STRICT_CAST = True
    FUNCTIONS = {  # noqa: RUF012 - sqlglot's way
        **SparkParser.FUNCTIONS,
        **{name: _to(name) for name in ("TINYINT", "SMALLINT", "BIGINT")},
        "EVERY": SparkParser.FUNCTIONS["BOOL_AND"],
        "SOME": SparkParser.FUNCTIONS["BOOL_OR"],
        "STD": SparkParser.FUNCTIONS["STDDEV"],
        "UNIX_TIMESTAMP": _unix_timestamp,
    }


class _SparkTokenizer(Spark.Tokenizer):
    STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012 - sqlglot's way; a quote that is written twice is one


class _Spark(Spark):
    Parser = _SparkParser
    Tokenizer = _SparkTokenizer
    TIME_MAPPING = {  # noqa: RUF012 - sqlglot's way
        **Spark.TIME_MAPPING, "SSS": "%f_three", "SSSSSS": "%f", "'T'": "T", "'Z'": "Z",
    }  # fmt: skip


class _Duck(DuckDB):
    NULL_ORDERING = "nulls_are_small"  # as sessions are set
    Generator = DuckGenerator


@cache
def translated_functions() -> frozenset[str]:
    """Functions, as sqlglot names them, of which a test compares the answers of both engines."""
    lines = Path(__file__).with_name("dialect_functions.txt").read_text().splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def functions_of(tree: exp.Expr) -> set[str]:
    """The functions that a query calls, as sqlglot names them."""
    return {node.name.lower() if isinstance(node, exp.Anonymous) else node.key for node in tree.find_all(exp.Func)}


def parsed(text: str) -> exp.Query:
    """The syntax tree of one query of Spark's.

    Raises:
        TranslationError: it is no query, or more than one.
    """
    statements = sqlglot.parse(text, read=_Spark)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise TranslationError("it is not one query")
    return statements[0]


def duck_sql(text: str, *, pretty: bool = False) -> str:
    """DuckDB's SQL for one query of Spark's, without its comments.

    Raises:
        TranslationError: sqlglot does not read it, or no test says that DuckDB would mean the same.
    """
    try:
        tree = parsed(text)
        _check(tree)
        _name_columns(tree)
        return tree.sql(_Duck, pretty=pretty, comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError) as error:
        raise TranslationError(str(error).partition("\n")[0]) from error


def duck_words(text: str) -> list[tuple[str, str]]:
    """What DuckDB reads in a text: kind and word, names and keywords in one case, comments left out."""
    words = [(token.token_type.name, token.text) for token in _Duck().tokenize(text)]
    return [(kind, word if kind in ("STRING", "IDENTIFIER") else word.lower()) for kind, word in words]


def _check(tree: exp.Query) -> None:
    unknown = functions_of(tree) - translated_functions()
    if unknown:
        raise TranslationError(
            f"no function of DuckDB is known to mean the same as {', '.join(sorted(unknown))} of Spark"
        )
    if any(lateral.args.get("outer") for lateral in tree.find_all(exp.Lateral)):
        raise TranslationError("LATERAL VIEW OUTER")


def _name_columns(tree: exp.Query) -> None:
    """Give columns the names that Spark has for them, and leave out its hints."""
    for select in tree.find_all(exp.Select):
        select.set("hint", None)
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() == "range":
            _name(table, "range", ["id"])
    for values in tree.find_all(exp.Values):
        first = values.expressions[0]
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        _name(values, "v", [f"col{at}" for at in range(1, width + 1)])


def _name(relation: exp.Expr, name: str, columns: list[str]) -> None:
    alias = relation.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
    if not alias.args.get("columns"):
        alias.set("columns", [exp.to_identifier(column) for column in columns])
        relation.set("alias", alias)
