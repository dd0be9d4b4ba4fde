"""Which codec reads what was written with one schema as another."""

from __future__ import annotations

import pyarrow as pa

from pulsar_backlog.schemas.avro import avro_codec, avro_schema
from pulsar_backlog.schemas.descriptors import listed_descriptor, native_descriptor
from pulsar_backlog.schemas.json_values import json_codec, json_text_codec
from pulsar_backlog.schemas.primitives import primitive_codec
from pulsar_backlog.schemas.protobuf import protobuf_codec
from pulsar_backlog.schemas.results import Codec, NoCodec, Undecodable
from pulsar_backlog.schemas.values import SchemaInfo


def codec_of(writer: SchemaInfo, reader: SchemaInfo) -> Codec:
    """What reads what was written with one schema as another; its type is that of `column_codec(reader)`."""
    if writer.type != reader.type:
        words = f"it was written as {writer.type}; columns are those of a schema of type {reader.type}"
        return NoCodec(column_codec(reader).type, words)
    try:
        return _codec(writer, reader)
    except Undecodable as error:
        return NoCodec(column_codec(reader).type, str(error))


def column_codec(reader: SchemaInfo) -> Codec:
    """What reads payloads of a schema as its own values; bytes where the schema cannot be used, with the reason."""
    try:
        return _codec(reader, reader)
    except Undecodable as error:
        return NoCodec(pa.binary(), str(error))


def _codec(writer: SchemaInfo, reader: SchemaInfo) -> Codec:
    plain = primitive_codec(writer)
    if plain is not None:
        return plain
    if reader.type == "AVRO":
        return avro_codec(avro_schema(writer.data), avro_schema(reader.data))
    if reader.type == "JSON":
        return _json(reader)
    # Fields are known by their numbers: what the writer called them does not matter.
    if reader.type == "PROTOBUF_NATIVE":
        return protobuf_codec(native_descriptor(reader))
    if reader.type == "PROTOBUF":
        return protobuf_codec(listed_descriptor(reader))
    raise Undecodable(f"schemas of type {reader.type} are not known")


def _json(reader: SchemaInfo) -> Codec:
    if not reader.data:
        return json_text_codec()
    try:
        return json_codec(avro_schema(reader.data))
    except Undecodable:
        return json_text_codec()
