"""The part of a table that one write replaces, as a value: the same for Spark, and for rows that the driver has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import Column

Value: TypeAlias = str | int
_Values: TypeAlias = tuple[tuple[str, frozenset[Value]], ...]


@dataclass(frozen=True)
class Slice:
    """Rows that have, in each column of `only`, one of its values, and in none of `but` one of its values.

    Null is no value: such a row is outside `only` and inside `but`. Without either it is the whole table.

    >>> part = Slice.of(cluster="eu", ledger_id=[1, 2])
    >>> part.holds({"cluster": "eu", "ledger_id": 2}), part.holds({"cluster": "eu", "ledger_id": None})
    (True, False)
    >>> Slice.of(cluster="eu").without(ledger_id=[1]).holds({"cluster": "eu", "ledger_id": None})
    True
    """

    only: _Values = ()
    but: _Values = ()

    @classmethod
    def of(cls, **values: Value | Collection[Value]) -> Slice:
        """Rows with these values, each column with one or any of several."""
        return cls(_pairs(values))

    def where(self, **values: Value | Collection[Value]) -> Slice:
        """Those of its rows that have these values too."""
        return replace(self, only=self.only + _pairs(values))

    def without(self, **values: Value | Collection[Value]) -> Slice:
        """Those of its rows that have none of these values."""
        return replace(self, but=self.but + _pairs(values))

    def column(self) -> Column:
        """The predicate for Spark, which needs a running session; null where `only` meets null."""
        from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

        condition = f.lit(True)
        for name, values in self.only:
            condition &= f.col(name).isin(sorted(values, key=str))
        for name, values in self.but:
            condition &= f.col(name).isNull() | ~f.col(name).isin(sorted(values, key=str))
        return condition

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        """Whether each row lies in it."""
        inside = pa.chunked_array([pa.repeat(True, rows.num_rows)])
        for name, values in self.only:
            inside = pc.and_(inside, _is_in(rows[name], values))
        for name, values in self.but:
            inside = pc.and_(inside, pc.invert(_is_in(rows[name], values)))
        return inside

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a row lies in it."""
        return all(row[name] in values for name, values in self.only) and not any(
            row[name] in values for name, values in self.but
        )


def _pairs(values: Mapping[str, Value | Collection[Value]]) -> _Values:
    return tuple((name, frozenset([one] if isinstance(one, str | int) else one)) for name, one in values.items())


def _is_in(column: pa.ChunkedArray, values: frozenset[Value]) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pa.array(list(values), column.type))
