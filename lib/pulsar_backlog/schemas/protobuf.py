"""Protobuf messages as columns, by a descriptor.

| field | column |
|---|---|
| int32, sint32, sfixed32; int64, sint64, sfixed64 | int, long |
| uint32, fixed32; uint64, fixed64 | long; decimal(20,0) |
| float, double, bool, string, bytes | the same |
| enum | its name; the number as text where it has none |
| message; a message within itself, or without fields | struct; string, JSON text |
| repeated; map | list; map |

A field that knows whether it was set (`optional`, `oneof`, messages, proto2) is null where it was not; the others have
their default value then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from pulsar_backlog.schemas.results import RowCodec, Undecodable

_Value: TypeAlias = Callable[[Any], Any]

_WIRE = FieldDescriptor
_TYPES = {
    _WIRE.CPPTYPE_INT32: pa.int32(),
    _WIRE.CPPTYPE_INT64: pa.int64(),
    _WIRE.CPPTYPE_UINT32: pa.int64(),
    _WIRE.CPPTYPE_UINT64: pa.decimal128(20, 0),
    _WIRE.CPPTYPE_FLOAT: pa.float32(),
    _WIRE.CPPTYPE_DOUBLE: pa.float64(),
    _WIRE.CPPTYPE_BOOL: pa.bool_(),
}
_DEPTH = 50


def protobuf_codec(root: Descriptor) -> RowCodec:
    """Reads messages of a type.

    Raises:
        Undecodable: it is nested too deeply.
    """
    made: Any = GetMessageClass(root)
    kind, value_of = _message(root, ())

    def decode(payload: bytes) -> tuple[Any, None]:
        try:
            message = made.FromString(payload)
        except DecodeError:
            raise Undecodable("it is no Protobuf message of its schema") from None
        return value_of(message), None

    return RowCodec(kind, decode)


def _message(descriptor: Descriptor, around: tuple[str, ...]) -> tuple[pa.DataType, _Value]:
    if len(around) > _DEPTH:
        raise Undecodable("the schema is nested too deeply")
    if descriptor.full_name in around or not descriptor.fields:
        return pa.string(), _text_of
    parts = [(field.name, *_field(field, (*around, descriptor.full_name))) for field in descriptor.fields]

    def value_of(message: Message) -> dict[str, Any]:
        return {name: part(message) for name, _, part in parts}

    return pa.struct([pa.field(name, kind) for name, kind, _ in parts]), value_of


def _text_of(message: Message) -> str:
    return json_format.MessageToJson(message, preserving_proto_field_name=True, indent=None)


def _field(field: FieldDescriptor, around: tuple[str, ...]) -> tuple[pa.DataType, _Value]:
    name = field.name
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        key_kind, key_of = _single(entry.fields_by_name["key"], around)
        item_kind, item_of = _single(entry.fields_by_name["value"], around)
        return pa.map_(key_kind, item_kind), lambda message: [
            (key_of(key), item_of(item)) for key, item in sorted(getattr(message, name).items())
        ]
    kind, value_of = _single(field, around)
    if field.is_repeated:
        return pa.list_(kind), lambda message: [value_of(one) for one in getattr(message, name)]
    if field.has_presence:
        return kind, lambda message: value_of(getattr(message, name)) if message.HasField(name) else None
    return kind, lambda message: value_of(getattr(message, name))


def _single(field: FieldDescriptor, around: tuple[str, ...]) -> tuple[pa.DataType, _Value]:
    """Of one value of a field."""
    if field.message_type is not None:
        return _message(field.message_type, around)
    if field.enum_type is not None:
        names = {value.number: value.name for value in reversed(field.enum_type.values)}
        return pa.string(), lambda number: names.get(number, str(number))
    if field.cpp_type == _WIRE.CPPTYPE_STRING:
        return (pa.binary() if field.type == _WIRE.TYPE_BYTES else pa.string()), _same
    return _TYPES[field.cpp_type], _same


def _same(value: Any) -> Any:
    return value
