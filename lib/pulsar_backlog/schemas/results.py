"""What becomes of payloads: values in one column, and beside them why one has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

Decode = Callable[[bytes], tuple[Any, str | None]]
"""A payload's value, and what speaks against it."""


class Undecodable(Exception):  # noqa: N818 - it names what the payload is
    """A payload that its schema does not fit; its words quote nothing of the payload."""


@dataclass(frozen=True)
class Values:
    """Values of payloads, and what speaks against each: the reason of a null one, or a doubt about one that is here."""

    values: pa.Array
    errors: Sequence[str | None]


class Codec(Protocol):
    """Makes values of payloads."""

    @property
    def type(self) -> pa.DataType:
        """Of its values."""

    def values(self, payloads: pa.Array) -> Values:
        """The values of binary payloads, in their order; null of null."""


@dataclass(frozen=True)
class NoCodec:
    """Of payloads that nothing reads: a null for each, and why."""

    type: pa.DataType
    reason: str

    def values(self, payloads: pa.Array) -> Values:
        """Nulls."""
        return Values(pa.nulls(len(payloads), self.type), [self.reason if one.is_valid else None for one in payloads])


@dataclass(frozen=True)
class RowCodec:
    """Values made one by one."""

    type: pa.DataType
    decode: Decode

    def values(self, payloads: pa.Array) -> Values:
        """The values; a payload whose value does not fit the column is one with an error."""
        made: list[Any] = []
        errors: list[str | None] = []
        for payload in payloads.to_pylist():
            value, error = (None, None) if payload is None else self._one(payload)
            made.append(value)
            errors.append(error)
        try:
            return Values(pa.array(made, self.type), errors)
        except _DOES_NOT_FIT:
            return self._one_by_one(made, errors)

    def _one(self, payload: bytes) -> tuple[Any, str | None]:
        try:
            return self.decode(payload)
        except Exception as error:
            return None, reason_of(error)

    def _one_by_one(self, made: list[Any], errors: list[str | None]) -> Values:
        columns = []
        for at, value in enumerate(made):
            try:
                columns.append(pa.array([value], self.type))
            except _DOES_NOT_FIT:
                columns.append(pa.nulls(1, self.type))
                errors[at] = "a value is out of the range of its column"
        return Values(pa.concat_arrays(columns), errors)


_DOES_NOT_FIT = (pa.ArrowException, ValueError, TypeError, OverflowError, UnicodeError)


def reason_of(error: Exception) -> str:
    """Why a payload is not what its schema says, in words that quote nothing of it."""
    if isinstance(error, Undecodable):
        return str(error)
    for kind, words in _REASONS:
        if isinstance(error, kind):
            return words
    return f"its bytes do not fit the schema ({type(error).__name__})"


_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (EOFError, "it ends too early for its schema"),
    (RecursionError, "it is nested too deeply"),
    (UnicodeDecodeError, "a text in it is not UTF-8"),
    (OverflowError, "a value is out of the range of its column"),
)
