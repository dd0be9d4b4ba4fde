"""AVRO: one datum in Avro's binary encoding, read by fastavro with the writer's schema and given as the reader's.

Payload: https://github.com/apache/pulsar/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/schema/writer/AvroWriter.java
Evolution: https://avro.apache.org/docs/1.11.1/specification/#schema-resolution
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

import fastavro
from fastavro import _read_py

from pulsar_backlog.schemas.avro_bulk import bulk_codec
from pulsar_backlog.schemas.results import Codec, RowCodec, Undecodable
from pulsar_backlog.schemas.shapes import (
    AvroSchema,
    Convert,
    Leaf,
    Shape,
    Shaping,
    clock_text,
    full_name,
    leaf_of,
)

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]")
_COMPLEX = ("record", "error", "enum", "fixed")
_DEPTH = 100


def avro_schema(data: bytes) -> AvroSchema:
    """A schema as JSON.

    Raises:
        Undecodable: it is none.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Undecodable("the schema is not JSON") from None


def shape_of(schema: AvroSchema) -> Shape:
    """The column of a schema, and what makes its values of fastavro's.

    Raises:
        Undecodable: it is no Avro schema.
    """
    try:
        return Shaping(_leaf, checked=False).of(schema)
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise Undecodable("the schema is no Avro schema") from None


def _leaf(leaf: Leaf) -> Convert | None:
    return clock_text if leaf.logical in ("time-millis", "time-micros") else None


def avro_codec(written: AvroSchema, reader: AvroSchema) -> Codec:
    """Reads what was written with one schema as another; in bulk where that can be.

    Raises:
        Undecodable: one of them is no Avro schema, or not to be read safely.
    """
    rows, writes = _row_codec(written, reader)
    if written != reader or writes.is_recursive:
        return rows
    return bulk_codec(writes.schema, rows) or rows


def avro_row_codec(written: AvroSchema, reader: AvroSchema) -> RowCodec:
    """The same, one by one.

    Raises:
        Undecodable: as above.
    """
    return _row_codec(written, reader)[0]


def _row_codec(written: AvroSchema, reader: AvroSchema) -> tuple[RowCodec, _Prepared]:
    shape = shape_of(reader)
    writes = _Prepared(written)
    theirs, ours = writes.parsed(), None
    if written != reader:
        reads = _Prepared(reader, lenient=True)
        reads.answer_to(writes.name)
        ours = reads.parsed()
    if writes.has_empty_items:
        raise Undecodable("the schema has arrays of what takes no bytes: a few bytes could hold any number of them")
    # The compiled reader goes as deep as the bytes say, until the process dies; the other one stops.
    read = _read_py.schemaless_reader if writes.is_recursive else fastavro.schemaless_reader
    convert = shape.convert

    def decode(payload: bytes) -> tuple[Any, str | None]:
        stream = io.BytesIO(payload)
        value: Any = read(stream, theirs, ours)
        rest = len(payload) - stream.tell()
        value = value if value is None or convert is None else convert(value)
        return value, f"{rest} bytes follow what the schema describes" if rest else None

    return RowCodec(shape.type, decode), writes


class _Prepared:
    """A schema as fastavro takes it: logical types that are not read as such taken off, names as Avro has them.

    Java before Avro 1.9 names classes within others with a `$`.
    """

    def __init__(self, schema: AvroSchema, *, lenient: bool = False) -> None:
        """With `lenient`, a field without default has null where the writer did not have it: columns are nullable."""
        self._lenient = lenient
        self.is_recursive = False
        self.has_empty_items = False
        self._open: list[str] = []
        self._known: dict[str, bool] = {}
        self._schema, _ = self._of(schema, "")

    @property
    def schema(self) -> AvroSchema:
        """The schema as JSON."""
        return self._schema

    @property
    def name(self) -> str | None:
        """Full name of the record that the schema is; None where it is something else."""
        name = self._schema.get("name") if isinstance(self._schema, dict) else None
        return None if name is None else str(name)

    def answer_to(self, name: str | None) -> None:
        """Be the same record where the writer's has another name: classes are renamed, topics are not."""
        if name is not None and self.name is not None and name != self.name:
            self._schema["aliases"] = [*self._schema.get("aliases", ()), name]

    def parsed(self) -> Any:
        """What fastavro makes of it."""
        try:
            return fastavro.parse_schema(self._schema, named_schemas={})
        except Exception as error:  # whatever a schema can be wrong about
            raise Undecodable(f"the schema is no Avro schema ({type(error).__name__})") from None

    def _of(self, schema: AvroSchema, namespace: str) -> tuple[AvroSchema, bool]:
        """The schema, and whether a value of it may take no bytes."""
        if len(self._open) > _DEPTH:
            raise Undecodable("the schema is nested too deeply")
        if isinstance(schema, list):
            return [self._of(branch, namespace)[0] for branch in schema], False
        if isinstance(schema, str):
            return self._named(schema, namespace)
        kind = schema.get("type") if isinstance(schema, dict) else None
        if kind in _COMPLEX:
            return self._defined(schema, namespace)
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            item, is_empty = self._of(schema.get(part), namespace)
            self.has_empty_items = self.has_empty_items or (kind == "array" and is_empty)
            return {"type": kind, part: item}, False
        if isinstance(kind, str):
            name, is_empty = self._named(kind, namespace)
            return _with_logical(schema, {"type": name}, kind), is_empty
        if kind is None:
            raise Undecodable("the schema is no Avro schema")
        return self._of(kind, namespace)

    def _named(self, name: str, namespace: str) -> tuple[AvroSchema, bool]:
        full = full_name(_clean(name), _clean(namespace))
        for one in (full, _clean(name)):
            self.is_recursive = self.is_recursive or one in self._open
            if one in self._known:
                return one, self._known[one]
        return (full if full in self._open else _clean(name)), name == "null"

    def _defined(self, schema: Mapping[str, Any], namespace: str) -> tuple[AvroSchema, bool]:
        space = _clean(str(schema.get("namespace") or namespace))
        name = full_name(_clean(str(schema.get("name"))), space)
        clean: dict[str, Any] = {"type": schema["type"], "name": name}
        clean |= {key: schema[key] for key in ("symbols", "size", "default") if key in schema}
        aliases = schema.get("aliases")
        if isinstance(aliases, list):
            clean["aliases"] = [_clean(str(one)) for one in aliases]
        if schema["type"] not in ("record", "error"):
            self._known[name] = schema.get("size") == 0
            return _with_logical(schema, clean, "bytes"), self._known[name]
        self._open.append(name)
        inner = name.rpartition(".")[0]
        fields = [(one, self._of(one.get("type"), inner)) for one in schema.get("fields", ())]
        self._open.pop()
        clean["fields"] = [self._field(one, kind) for one, (kind, _) in fields]
        self._known[name] = all(is_empty for _, (_, is_empty) in fields)
        return clean, self._known[name]

    def _field(self, field: Mapping[str, Any], kind: AvroSchema) -> AvroSchema:
        clean = {"name": field["name"], "type": kind} | {
            key: field[key] for key in ("default", "aliases") if key in field
        }
        if self._lenient and "default" not in clean:
            branches = kind if isinstance(kind, list) else [kind]
            clean |= {"type": ["null", *(one for one in branches if one != "null")], "default": None}
        return clean


def _with_logical(schema: Mapping[str, Any], clean: dict[str, Any], kind: str) -> AvroSchema:
    if schema["type"] == "enum":
        return clean
    leaf = leaf_of(schema, kind)
    if leaf.logical is None:
        return clean
    return clean | {key: schema[key] for key in ("logicalType", "precision", "scale") if key in schema}


def _clean(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)
