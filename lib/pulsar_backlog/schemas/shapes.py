"""Avro schemas as Arrow types, and what makes a column's value of what a reader gives.

| Avro | Arrow |
|---|---|
| boolean, int, long, float, double, bytes, string | the same |
| record, array, map, fixed, enum | struct, list, map, binary, string |
| union of null and one type | that type |
| union of numbers | the widest of them |
| any other union; a type within itself; a record without fields | string, JSON text |
| date; timestamp-millis, -micros; local-timestamp-millis, -micros | date32; timestamp[us, UTC]; timestamp[us] |
| time-millis, -micros | string, as `10:59:30.000000`: Spark 4.0 and Delta have no time of day |
| decimal of up to 38 digits | decimal128 |
| uuid | string |

Every field is nullable. A logical type that is not here is its underlying type.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import time
from typing import Any, TypeAlias

import pyarrow as pa

from pulsar_backlog.json_text import to_json
from pulsar_backlog.schemas.primitives import LOCAL_TIME, UTC_TIME
from pulsar_backlog.schemas.results import Undecodable

AvroSchema: TypeAlias = Any
Convert: TypeAlias = Callable[[Any], Any]

MAX_DIGITS = 38
"""Of a decimal of Spark."""
PRIMITIVES: Mapping[str, pa.DataType] = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.string(),
    ("long", "time-micros"): pa.string(),
    ("long", "timestamp-millis"): UTC_TIME,
    ("long", "timestamp-micros"): UTC_TIME,
    ("long", "local-timestamp-millis"): LOCAL_TIME,
    ("long", "local-timestamp-micros"): LOCAL_TIME,
}
_NUMBERS = ("int", "long", "float", "double")
_DEPTH = 100
"""Of a schema: deeper than any table can be."""


@dataclass(frozen=True)
class Shape:
    """A column's type, and what makes its values of a reader's; None where the reader's are its values."""

    type: pa.DataType
    convert: Convert | None = None


@dataclass(frozen=True)
class Leaf:
    """A type without parts.

    Attributes:
        name: Avro's, such as `long`.
        logical: its logical type that is read as such; None without one.
        type: of the column.
    """

    name: str
    logical: str | None
    type: pa.DataType


class Shaping:
    """Makes shapes of an Avro schema."""

    def __init__(self, leaf: Callable[[Leaf], Convert | None], *, checked: bool) -> None:
        """`leaf` says what makes values of leaves; `checked` whether the parts of values are to be looked at."""
        self._leaf = leaf
        self._checked = checked
        self._named: dict[str, AvroSchema] = {}
        self._open: list[str] = []

    def of(self, schema: AvroSchema, namespace: str = "") -> Shape:
        """The shape of a schema.

        Raises:
            Undecodable: it is none, or nested too deeply.
        """
        if len(self._open) > _DEPTH:
            raise Undecodable("the schema is nested too deeply")
        if isinstance(schema, list):
            return self._union(schema, namespace)
        if isinstance(schema, str):
            if schema in PRIMITIVES:
                return self._leaf_of(Leaf(schema, None, PRIMITIVES[schema]))
            name = schema if schema in self._named else full_name(schema, namespace)
            if name in self._open:
                return TEXT
            if name not in self._named:
                raise Undecodable("the schema names a type that it does not define")
            return self.of(*self._named[name])
        if not isinstance(schema, dict) or "type" not in schema:
            raise Undecodable("the schema is no Avro schema")
        return self._complex(schema, namespace)

    def _complex(self, schema: AvroSchema, namespace: str) -> Shape:
        kind = schema["type"]
        if kind == "array":
            return self._array(self.of(schema.get("items"), namespace))
        if kind == "map":
            return self._map(self.of(schema.get("values"), namespace))
        if kind in ("record", "error", "enum", "fixed"):
            name = full_name(str(schema.get("name")), str(schema.get("namespace") or namespace))
            self._named[name] = (schema, namespace)
            if kind in ("record", "error"):
                return self._record(schema, name)
            return self._leaf_of(leaf_of(schema, "string" if kind == "enum" else "bytes"))
        if isinstance(kind, str) and kind in PRIMITIVES:
            return self._leaf_of(leaf_of(schema, kind))
        return self.of(kind, namespace)

    def _leaf_of(self, leaf: Leaf) -> Shape:
        return Shape(leaf.type, self._leaf(leaf))

    def _record(self, schema: AvroSchema, name: str) -> Shape:
        self._open.append(name)
        space = name.rpartition(".")[0]
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise Undecodable("the schema has a record without fields")
        shapes = {str(field["name"]): self.of(field.get("type"), space) for field in fields}
        self._open.pop()
        if not shapes:
            return TEXT
        kind = pa.struct([pa.field(one, shape.type) for one, shape in shapes.items()])
        if not self._checked and all(shape.convert is None for shape in shapes.values()):
            return Shape(kind)
        parts = tuple((one, shape.convert) for one, shape in shapes.items())

        def convert(value: Any) -> Any:
            if not isinstance(value, dict):
                raise Undecodable(f"it has something else where the schema has a record of {len(parts)} fields")
            made = {}
            for one, part in parts:
                own = value.get(one)
                made[one] = own if own is None or part is None else part(own)
            return made

        return Shape(kind, convert)

    def _array(self, item: Shape) -> Shape:
        part = item.convert
        if part is None and not self._checked:
            return Shape(pa.list_(item.type))

        def convert(value: Any) -> Any:
            if not isinstance(value, list):
                raise Undecodable("it has something else where the schema has an array")
            return [one if one is None or part is None else part(one) for one in value]

        return Shape(pa.list_(item.type), convert)

    def _map(self, item: Shape) -> Shape:
        part = item.convert

        def convert(value: Any) -> Any:
            if not isinstance(value, dict):
                raise Undecodable("it has something else where the schema has a map")
            return [(name, one if one is None or part is None else part(one)) for name, one in value.items()]

        return Shape(pa.map_(pa.string(), item.type), convert)

    def _union(self, branches: AvroSchema, namespace: str) -> Shape:
        names = [one for one in branches if one != "null"]
        shapes = [self.of(one, namespace) for one in names]  # all of them: one may define what another place names
        if len(shapes) == 1:
            return shapes[0]
        if not shapes:
            return TEXT
        numbers = [one for one in names if isinstance(one, str) and one in _NUMBERS]
        if len(numbers) == len(names):
            return Shape(_widest(numbers))
        return TEXT


def as_json(value: Any) -> str:
    """A value as JSON text: bytes as base64, times in ISO 8601."""
    return to_json(value, compact=True, default=_plain)


TEXT = Shape(pa.string(), as_json)


def full_name(name: str, namespace: str) -> str:
    """A name of Avro's with its namespace."""
    return name if "." in name or not namespace else f"{namespace}.{name}"


def leaf_of(schema: Mapping[str, Any], kind: str) -> Leaf:
    """A leaf with its logical type."""
    logical = schema.get("logicalType")
    if logical == "decimal" and kind == "bytes":
        digits, scale = schema.get("precision"), schema.get("scale", 0)
        if isinstance(digits, int) and isinstance(scale, int) and 0 < digits <= MAX_DIGITS and 0 <= scale <= digits:
            return Leaf(kind, "decimal", pa.decimal128(digits, scale))
        return Leaf(kind, None, PRIMITIVES[kind])
    type_ = LOGICAL.get((kind, logical)) if isinstance(logical, str) else None
    return Leaf(kind, logical if type_ is not None else None, type_ or PRIMITIVES[kind])


def _widest(numbers: list[str]) -> pa.DataType:
    if "double" in numbers or ("float" in numbers and len(numbers) > 1):
        return pa.float64()
    return pa.int64() if "long" in numbers else PRIMITIVES[numbers[0]]


def clock_text(value: time) -> str:
    """A time of day, the same length each time, so that texts sort as times."""
    return value.isoformat(timespec="microseconds")


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
