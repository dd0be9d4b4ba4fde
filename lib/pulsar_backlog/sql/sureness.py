"""The order of sureness in SQL, made of `terms.SURENESSES`: queries take it as `$doubt` and have none of their own."""

from __future__ import annotations

from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.terms import DOUBT

MOST_DOUBT = max(DOUBT.values())
"""Of what nothing is known about."""


def doubt_of(column: str) -> str:
    """SQL: how unsure a row is, as `terms.DOUBT` numbers it; a word that is none, or null, is the most unsure."""
    weights = " ".join(f"WHEN {portable_literal(word)} THEN {weight}" for word, weight in DOUBT.items())
    return f"CASE {column} {weights} ELSE {MOST_DOUBT} END"


def sureness_of(column: str) -> str:
    """SQL: the word of such a number; null of null."""
    words = " ".join(f"WHEN {weight} THEN {portable_literal(word)}" for word, weight in DOUBT.items())
    return f"CASE {column} {words} END"
