"""Payloads as rows of `messages`, as far as values are made of them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pulsar_backlog.schemas.decoder import NEEDED, MessageDecoder
from pulsar_backlog.schemas.values import SchemaInfo, TopicSchemas
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

_SCHEMA = pa.schema([arrow_schema(TABLES["messages"]).field(name) for name in NEEDED])


def version(number: int) -> bytes:
    return struct.pack(">q", number)


def rows(*given: Mapping[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{name: one.get(name) for name in NEEDED} for one in given], schema=_SCHEMA)


def decoded(schemas: TopicSchemas, *given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns that a decoder makes of rows."""
    decoder = MessageDecoder(schemas)
    columns = decoder.columns(rows(*given))
    assert [one.type for one in columns] == [field.type for field in decoder.fields]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(decoder.fields)).to_pylist()


def of_schema(schema: SchemaInfo, payloads: Sequence[bytes | None]) -> list[dict[str, Any]]:
    """Payloads that were written with the only schema of their topic."""
    written = ({"payload": one, "schema_version": version(0)} for one in payloads)
    return decoded(TopicSchemas({0: schema}), *written)
