"""Avro: what a schema can be, and what bytes can do to it."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from pulsar_backlog.schemas.avro import avro_codec
from pulsar_backlog.schemas.decoder import MessageDecoder
from pulsar_backlog.schemas.values import SchemaInfo, TopicSchemas
from tests.schemas.payload_rows import decoded, of_schema, rows, version


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": one, "type": kind} for one, kind in fields]}


def info(schema: Any) -> SchemaInfo:
    return SchemaInfo("AVRO", json.dumps(schema).encode())


def encoded(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


AT = datetime(2026, 11, 24, 10, 59, 30, 123000, tzinfo=UTC)
UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
ITEM = record(("name", "string"), name="Item")
SHAPES = [
    ("int", 5, pa.int32(), 5),
    (["null", "long"], None, pa.int64(), None),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", pa.string(), "B"),
    ({"type": "fixed", "name": "F", "size": 2}, b"ab", pa.binary(), b"ab"),
    ({"type": "array", "items": "int"}, [1, 2], pa.list_(pa.int32()), [1, 2]),
    ({"type": "map", "values": "int"}, {"a": 1}, pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    (logical("int", "date"), date(2026, 11, 24), pa.date32(), date(2026, 11, 24)),
    (logical("int", "time-millis"), 39_570_123, pa.string(), "10:59:30.123000"),
    (logical("long", "time-micros"), 39_570_123_456, pa.string(), "10:59:30.123456"),
    (logical("long", "timestamp-millis"), AT, pa.timestamp("us", tz="UTC"), AT),
    (logical("long", "timestamp-micros"), AT, pa.timestamp("us", tz="UTC"), AT),
    (logical("long", "local-timestamp-micros"), AT.replace(tzinfo=None), pa.timestamp("us"), AT.replace(tzinfo=None)),
    (logical("bytes", "decimal", precision=9, scale=2), Decimal("-1.25"), pa.decimal128(9, 2), Decimal("-1.25")),
    (logical("string", "uuid"), UUID, pa.string(), UUID),
    (logical("long", "no-such"), 7, pa.int64(), 7),
    (["null", "int", "long"], 7, pa.int64(), 7),
    (["string", "int"], 7, pa.string(), "7"),
    (["string", ITEM], {"name": "x"}, pa.string(), '{"name":"x"}'),
    (record(name="Empty"), {}, pa.string(), "{}"),
]  # fmt: skip
"""A field's schema, what is written, its column, and the value there."""


@pytest.mark.parametrize(("schema", "given", "kind", "value"), SHAPES)
def test_shapes(schema: Any, given: Any, kind: pa.DataType, value: Any) -> None:
    whole = record(
        ("f", schema),
        ("g", {"type": "array", "items": record(("h", schema if isinstance(schema, str) else "int"), name="In")}),
    )
    payload = encoded(whole, {"f": given, "g": [{"h": 5}]})
    codec = avro_codec(whole, whole)
    assert codec.type.field("f").type == kind
    made = codec.values(pa.array([payload, None]))
    assert made.errors == [None, None]
    assert made.values.to_pylist() == [{"f": value, "g": [{"h": 5}]}, None]


def test_each_prefix_and_each_flip_is_a_value_or_an_error() -> None:
    schema = record(("a", "string"), ("b", {"type": "array", "items": "string"}), ("c", ["null", "double"]))
    payload = encoded(schema, {"a": "text", "b": ["x", "yy"], "c": 1.5})
    cut = [payload[:length] for length in range(len(payload))]
    flipped = [
        bytes(b ^ (1 << bit if at == here else 0) for here, b in enumerate(payload))
        for at in range(len(payload))
        for bit in range(8)
    ]
    made = of_schema(info(schema), [*cut, *flipped])
    assert all(one["value"] is None and one["decode_error"] for one in made[: len(cut)])
    assert all(one["value"] is not None or one["decode_error"] for one in made)
    assert "it ends too early for its schema" in {one["decode_error"] for one in made}


def test_what_follows_the_value_is_told_beside_it() -> None:
    (made,) = of_schema(info("int"), [b"\x04\x00\x00"])
    assert made == {"value": 2, "decode_error": "2 bytes follow what the schema describes"}


def test_a_schema_within_itself_ends_no_process() -> None:
    schema = record(("value", "int"), ("next", ["null", "R"]))
    shallow, deep = b"\x02\x02\x04\x00", b"\x02\x02" * 500_000 + b"\x02\x00"
    made = of_schema(info(schema), [shallow, deep])
    assert made[0]["value"] == {"value": 1, "next": '{"value":2,"next":null}'}
    assert made[1] == {"value": None, "decode_error": "it is nested too deeply"}


def test_items_without_bytes_are_refused() -> None:
    schema = {"type": "array", "items": "null"}
    (made,) = of_schema(info(schema), [b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00"])
    assert made["value"] is None
    assert "any number of them" in made["decode_error"]


def test_a_time_that_no_table_has_is_an_error_of_its_row() -> None:
    schema = logical("long", "timestamp-millis")
    made = of_schema(info(schema), [encoded("long", 2**62), encoded("long", 0)])
    assert [one["value"] for one in made] == [None, datetime(1970, 1, 1, tzinfo=UTC)]
    assert made[0]["decode_error"]


def test_names_that_java_gave_classes_within_others() -> None:
    schema = {"type": "record", "name": "Inner", "namespace": "org.x.Outer$", "fields": [{"name": "a", "type": "int"}]}
    assert of_schema(info(schema), [b"\x06"]) == [{"value": {"a": 3}, "decode_error": None}]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"type":"record","name":"R"}', b'"no-such"', b"5", b"[" * 100_000]
)
def test_a_schema_that_is_none_makes_each_row_an_error(data: bytes) -> None:
    made = of_schema(SchemaInfo("AVRO", data), [b"\x02", None])
    assert made[0]["value"] is None
    assert made[0]["decode_error"]
    assert made[1] == {"value": None, "decode_error": None} or data == b"[]"


def test_evolution_is_avros_and_what_is_new_is_null() -> None:
    old, new = record(("a", "int"), ("gone", "string")), record(("a", "long"), ("b", "string"), ("c", ["null", "int"]))
    new["fields"].append({"name": "d", "type": "int", "default": 9})
    schemas = TopicSchemas({0: info(old), 1: info(new)})
    first = {"payload": encoded(old, {"a": 1, "gone": "x"}), "schema_version": version(0)}
    second = {"payload": encoded(new, {"a": 2, "b": "y", "c": 3, "d": 4}), "schema_version": version(1)}
    made = decoded(schemas, second, first, second)
    assert [one["value"] for one in made] == [
        {"a": 2, "b": "y", "c": 3, "d": 4},
        {"a": 1, "b": None, "c": None, "d": 9},
        {"a": 2, "b": "y", "c": 3, "d": 4},
    ]
    # By the older one, what it does not have is passed over.
    assert decoded(TopicSchemas(schemas.versions, reader=0), first)[0]["value"] == {"a": 1, "gone": "x"}


def test_rows_without_a_known_version_keep_their_reason() -> None:
    schemas = TopicSchemas({1: info("int"), 2: SchemaInfo("STRING"), 3: info("int")})
    made = decoded(
        schemas,
        {"payload": b"\x02", "schema_version": version(1)},
        {"payload": b"\x02", "schema_version": version(7)},
        {"payload": b"\x02"},
        {"payload": b"\x02", "schema_version": b""},
        {"payload": b"\x02", "schema_version": b"short"},
        {"payload": b"\x02", "schema_version": version(2)},
        {"payload": b"\x02", "schema_version": version(1), "schema_id": b"x"},
        {"payload": b"\x02", "schema_version": version(1) + bytes(56)},  # of brokers before 2.4
        {"payload": b"", "null_value": True, "schema_version": version(1)},
    )
    assert [one["value"] for one in made] == [1, None, None, None, None, None, None, 1, None]
    errors = [one["decode_error"] for one in made]
    assert errors[0] is errors[7] is errors[8] is None
    assert errors[1] == "schema version 7 of its topic is not known; known are 1, 2, 3"
    assert errors[2] == errors[3] == "it names no schema version, so nobody knows how it was encoded"
    assert errors[4] == "its schema version is 5 bytes that no broker writes"
    assert errors[5] == "it was written as STRING; columns are those of a schema of type AVRO"
    assert errors[6] == "its schema is in a registry outside Pulsar"


def test_no_rows() -> None:
    decoder = MessageDecoder(TopicSchemas({0: info("int")}))
    assert [len(one) for one in decoder.columns(rows())] == [0, 0]
