"""AVRO in bulk: many payloads of one schema into columns by pyruhvro, where that gives exactly what fastavro gives.

| Avro | read as | then |
|---|---|---|
| boolean, long, float, double | the same | |
| string | the same | refused where it is not UTF-8, at which pyruhvro does not look |
| int, date | long | refused where it is out of their range |
| timestamps | long | refused before the year 1 and after 9999 |
| enum | long | its symbol; refused where there is none |
| record, array, union of null and one of these | the same | |

Any other type, or a record within itself: there is no bulk reader. Whatever is refused, or is an error of pyruhvro, is
left to fastavro, which says why.

Payloads are given as one Avro array, so that none of them becomes a Python object:

    how many there are | payload | payload | ... | 0, no more items | a number that nobody can foresee

Where the number is read, and as many items before it as there are payloads, all items together took no more bytes than
the payloads have. An item takes at least what `_Part.sizes` says of its value. So where these are the lengths of the
payloads, one by one, each item was read from its own payload, from its first byte to its last. Clients write an array
in more than one way, of different lengths: where a schema has one, each item is a record of the value and of the
number, which is put behind each payload. It stands there only where a payload ends, once for each.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.schemas.avro_sizes import (
    Sizes,
    long_bytes,
    nullable_sizes,
    number_sizes,
    record_sizes,
    text_sizes,
)
from pulsar_backlog.schemas.results import RowCodec, Values
from pulsar_backlog.schemas.shapes import AvroSchema
from pulsar_backlog.wire.byte_views import as_binary, joined_runs, run_lengths

LEAST_ROWS = 512
"""Payloads among which one is unusual are halved until there are so few, which are then read one by one."""
MAX_NODES = 2000
"""Types of a schema, where a named one counts each time it is used."""
_DATES = (-719_162, 2_932_896)
"""First and last day of Python's dates, in days since 1970."""
_TIMES_US = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_US = {"timestamp-millis": 1000, "timestamp-micros": 1, "local-timestamp-millis": 1000, "local-timestamp-micros": 1}
_FIXED_BYTES = {"boolean": 1, "float": 4, "double": 8}

Column = Callable[[pa.Array], pa.Array]


class _Refused(Exception):  # noqa: N818 - it is no error: fastavro reads it
    """Something that is left to fastavro."""


@dataclass(frozen=True)
class _Part:
    """A type.

    Attributes:
        schema: as pyruhvro is to read it.
        column: makes the column of what pyruhvro gives.
        sizes: fewest bytes that each of the values takes in Avro; None where clients write more than that.
    """

    schema: AvroSchema
    column: Column
    sizes: Sizes | None


class BulkCodec:
    """Values of many payloads at once; those that are unusual one by one."""

    def __init__(self, part: _Part, rows: RowCodec) -> None:
        self._rows = rows
        self._column, self._sizes = part.column, part.sizes
        self._end = secrets.randbits(62) | 1 << 62
        self._end_bytes = long_bytes(self._end)
        end = {"name": "end", "type": "long"}
        item = part.schema
        if part.sizes is None:
            item = {"type": "record", "name": "Payload", "fields": [{"name": "value", "type": item}, end]}
        fields = [{"name": "items", "type": {"type": "array", "items": item}}, end]
        self._schema = json.dumps({"type": "record", "name": "Payloads", "fields": fields})

    @property
    def type(self) -> pa.DataType:
        """Of its values."""
        return self._rows.type

    def values(self, payloads: pa.Array) -> Values:
        """The values of binary payloads, or of views of them, in their order; null of null."""
        if not payloads.null_count:
            return self._values(payloads)
        payloads = as_binary(payloads)
        made = self._values(payloads.drop_null())
        there = payloads.is_valid().to_numpy(zero_copy_only=False)
        places = np.cumsum(there) - 1
        errors = [made.errors[place] if valid else None for place, valid in zip(places.tolist(), there, strict=True)]
        return Values(made.values.take(pa.array(places, mask=~there)), errors)

    def _values(self, payloads: pa.Array) -> Values:
        try:
            return Values(self._read(payloads), [None] * len(payloads))
        except (_Refused, pa.ArrowInvalid, ValueError, RuntimeError):
            if len(payloads) <= LEAST_ROWS:
                return self._rows.values(as_binary(payloads))
        half = len(payloads) // 2
        first, second = self._values(payloads[:half]), self._values(payloads[half:])
        return Values(pa.concat_arrays([first.values, second.values]), [*first.errors, *second.errors])

    def _read(self, payloads: pa.Array) -> pa.Array:
        if not len(payloads):
            return pa.nulls(0, self.type)
        if self._sizes is None:
            items = self._items(pc.binary_join_element_wise(as_binary(payloads), self._end_bytes, b""))
            if pc.min_max(items.field("end")).as_py() != {"min": self._end, "max": self._end}:
                raise _Refused
            return self._column(items.field("value"))
        items = self._items(payloads)
        if (self._sizes(items) != run_lengths(payloads)).any():
            raise _Refused
        return self._column(items)

    def _items(self, payloads: pa.Array) -> pa.Array:
        """As many values as there are payloads, of all their bytes and no more."""
        import pyruhvro  # noqa: PLC0415 - only where typed messages are read

        given = joined_runs(payloads, long_bytes(len(payloads)), b"\0" + self._end_bytes)
        try:
            read = pyruhvro.deserialize_array([given], self._schema)
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # of Rust: no `Exception`, and of no module
                raise _Refused from None
            raise
        items = read.column("items").flatten()
        if len(items) != len(payloads) or read.column("end")[0].as_py() != self._end:
            raise _Refused
        return items


def bulk_codec(schema: AvroSchema, rows: RowCodec) -> BulkCodec | None:
    """What reads payloads of a schema in bulk, and as `rows` would; None where that cannot be.

    Args:
        schema: names are full ones where they are used, and nothing is within itself.
        rows: gives the type of the column, and reads what is unusual.
    """
    try:
        return BulkCodec(_Parts().of(schema, rows.type), rows)
    except _Refused:
        return None


class _Parts:
    """Makes parts of a schema."""

    def __init__(self) -> None:
        self._named: dict[str, Mapping[str, Any]] = {}
        self._nodes = 0

    def of(self, schema: AvroSchema, kind: pa.DataType) -> _Part:
        """The part that makes a column of type `kind`.

        Raises:
            _Refused: it is not read in bulk.
        """
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _Refused
        if isinstance(schema, list):
            return self._nullable(schema, kind)
        if isinstance(schema, str) and schema in self._named:
            return self.of(self._named[schema], kind)
        given: Mapping[str, Any] = {"type": schema} if isinstance(schema, str) else schema
        name = given["type"]
        if name in ("record", "error", "enum", "fixed"):
            self._named[given["name"]] = given
        if name in ("record", "error"):
            return self._record(given, kind)
        if name == "array" and pa.types.is_list(kind):
            return self._array(given, kind)
        if name == "enum":
            return _Part("long", _symbols(given["symbols"]), number_sizes)
        if not isinstance(name, str):
            return self.of(name, kind)
        return _leaf(name, given.get("logicalType"), kind)

    def _nullable(self, branches: list[AvroSchema], kind: pa.DataType) -> _Part:
        others = [one for one in branches if one != "null"]
        if len(branches) != 2 or len(others) != 1:
            raise _Refused
        part = self.of(others[0], kind)
        schema = ["null" if one == "null" else part.schema for one in branches]
        return _Part(schema, part.column, nullable_sizes(part.sizes))

    def _record(self, schema: Mapping[str, Any], kind: pa.DataType) -> _Part:
        if not pa.types.is_struct(kind):
            raise _Refused
        name, fields = f"R{self._nodes}", [kind.field(at) for at in range(kind.num_fields)]
        parts = [self.of(one["type"], field.type) for one, field in zip(schema["fields"], fields, strict=True)]

        def column(read: pa.Array) -> pa.Array:
            made = [part.column(read.field(at)) for at, part in enumerate(parts)]
            return pa.StructArray.from_arrays(made, fields=fields, mask=read.is_null() if read.null_count else None)

        named = [{"name": f"f{at}", "type": part.schema} for at, part in enumerate(parts)]
        sizes = record_sizes([part.sizes for part in parts])
        return _Part({"type": "record", "name": name, "fields": named}, column, sizes)

    def _array(self, schema: Mapping[str, Any], kind: pa.DataType) -> _Part:
        part = self.of(schema["items"], kind.value_type)

        def column(read: pa.Array) -> pa.Array:
            nulls = read.is_null() if read.null_count else None
            return pa.ListArray.from_arrays(read.offsets, part.column(read.values), type=kind, mask=nulls)

        return _Part({"type": "array", "items": part.schema}, column, None)


def _leaf(name: str, logical: str | None, kind: pa.DataType) -> _Part:
    if logical in _US and name == "long":
        return _Part("long", _times(kind, _US[logical]), number_sizes)
    if logical == "date" and name == "int":
        return _Part("long", lambda read: _within(read, _DATES).cast(pa.int32()).view(kind), number_sizes)
    if logical is not None:
        raise _Refused
    if name == "int":
        return _Part("long", lambda read: read.cast(kind), number_sizes)  # fails where it is out of range
    if name == "string":
        return _Part("string", _texts, text_sizes)
    if name == "long":
        return _Part(name, lambda read: read, number_sizes)
    if name not in _FIXED_BYTES:
        raise _Refused
    return _Part(name, lambda read: read, lambda read: np.full(len(read), _FIXED_BYTES[name]))


def _texts(read: pa.Array) -> pa.Array:
    read.validate(full=True)  # fails where one is not UTF-8
    return read


def _times(kind: pa.DataType, us: int) -> Column:
    first, last = _TIMES_US[0] // us, _TIMES_US[1] // us
    return lambda read: pc.multiply(_within(read, (first, last)), us).view(kind)


def _symbols(symbols: list[str]) -> Column:
    texts = pa.array(symbols, pa.string())
    return lambda read: texts.take(_within(read, (0, len(symbols) - 1)))


def _within(read: pa.Array, bounds: tuple[int, int]) -> pa.Array:
    extremes = pc.min_max(read).as_py()
    if extremes["min"] is not None and not bounds[0] <= extremes["min"] <= extremes["max"] <= bounds[1]:
        raise _Refused
    return read
