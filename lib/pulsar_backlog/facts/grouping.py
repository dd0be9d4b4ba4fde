"""Rows in groups, as numpy does it: sums, extremes, firsts and lasts, without an object per row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.facts.stretch import Bools, Nullable
from pulsar_backlog.tables.arrow import plain
from pulsar_backlog.wire.arrays import Int64s

_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class Groups:
    """Which group each row belongs to.

    Attributes:
        codes: number of each row's group.
        count: of groups.
    """

    codes: Int64s
    count: int

    def __len__(self) -> int:
        return self.count

    def sums(self, values: Int64s, wanted: Bools) -> Int64s:
        """The sum of each group's wanted rows."""
        sums = np.zeros(len(self), dtype=np.int64)
        np.add.at(sums, *self._only(wanted, values))
        return sums

    def counts(self, wanted: Bools) -> Int64s:
        """How many rows of each group are wanted."""
        (codes,) = self._only(wanted)
        return np.bincount(codes, minlength=len(self)).astype(np.int64)

    def least(self, column: Nullable) -> Nullable:
        """The smallest number of each group."""
        least = np.full(len(self), _MOST)
        np.minimum.at(least, *self._only(column.present, column.values))
        return self._where_any(least, column.present)

    def most(self, column: Nullable) -> Nullable:
        """The largest number of each group."""
        most = np.full(len(self), _LEAST)
        np.maximum.at(most, *self._only(column.present, column.values))
        return self._where_any(most, column.present)

    def first(self) -> Int64s:
        """The first row of each group."""
        firsts = np.zeros(len(self), dtype=np.int64)
        firsts[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return firsts

    def last(self, wanted: Bools) -> Nullable:
        """The last wanted row of each group."""
        lasts = np.zeros(len(self), dtype=np.int64)
        codes, rows = self._only(wanted, np.arange(len(self.codes)))
        lasts[codes] = rows
        return self._where_any(lasts, wanted)

    def last_of_most(self, wanted: Bools, *columns: Int64s) -> Nullable:
        """Among each group's wanted rows the last one of those with the largest numbers, columns compared in order."""
        remaining = wanted
        for values in columns if wanted.any() else ():
            most = self.most(Nullable(values, remaining))
            remaining = remaining & (values == most.values[self.codes])
        return self.last(remaining)

    def _only(self, wanted: Bools, *columns: Int64s) -> tuple[Int64s, ...]:
        """Codes and columns of the wanted rows; to take all or none of them costs nothing."""
        if wanted.all():
            return self.codes, *columns
        if not wanted.any():
            return self.codes[:0], *(column[:0] for column in columns)
        return self.codes[wanted], *(column[wanted] for column in columns)

    def _where_any(self, values: Int64s, wanted: Bools) -> Nullable:
        """The numbers, where a group has a wanted row."""
        present = self.counts(wanted) > 0
        return Nullable(np.where(present, values, 0), present)


def _is_encoded(column: pa.Array) -> bool:
    """Whether the numbers of a dictionary say what a group is: without nulls, and each text of it occurs."""
    if not pa.types.is_dictionary(column.type) or column.null_count:
        return False
    return bool(np.bincount(column.indices.to_numpy(), minlength=len(column.dictionary)).all())


def grouped_by(*columns: pa.Array) -> Groups:
    """Rows grouped by what columns of text hold, null being one text of its own."""
    codes, count = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        encoded = column if _is_encoded(column) else pc.dictionary_encode(plain(column), null_encoding="encode")
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        count = len(encoded.dictionary)
        if len(columns) > 1:
            uniques, codes = np.unique(codes, return_inverse=True)
            count = len(uniques)
    return Groups(codes.astype(np.int64, copy=False), count)
