"""JSON, Protobuf, key and value, primitive types: what does not fit is an error of its row."""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from pulsar_backlog.schemas.documents import versions_in
from pulsar_backlog.schemas.values import SchemaInfo, TopicSchemas
from tests.schemas.payload_rows import decoded, of_schema, version


def json_schema(kind: Any) -> SchemaInfo:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]}
    return SchemaInfo("JSON", json.dumps(schema).encode())


def logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


AT = datetime(2026, 11, 24, 10, 59, 30, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "5", 5),
        ("int", "5.0", 5),
        ("int", "true", ...),
        ("int", '"5"', ...),
        ("int", "2147483648", ...),  # 33 bits
        ("long", "9223372036854775807", 9223372036854775807),
        ("long", "1e999", ...),
        ("double", '"NaN"', ...),
        ("double", "3", 3.0),
        ("string", "5", ...),
        ("string", '"\\ud800"', ...),  # half a character
        ("bytes", '"AQI="', b"\x01\x02"),
        ("bytes", '"?"', ...),
        ("boolean", "1", ...),
        (["null", "string"], "null", None),
        ({"type": "array", "items": "int"}, "[1,null]", [1, None]),
        ({"type": "array", "items": "int"}, "1", ...),
        ({"type": "map", "values": "int"}, '{"a":1}', [("a", 1)]),
        (["string", "int"], '{"any":[1.5]}', '{"any":[1.5]}'),
        (logical("bytes", "decimal", precision=9, scale=2), "1.25", Decimal("1.25")),
        (logical("bytes", "decimal", precision=9, scale=2), "1e999999999", ...),
        (logical("int", "date"), '"2026-11-24"', date(2026, 11, 24)),
        (logical("int", "date"), "[2026,13,1]", ...),
        (logical("long", "timestamp-millis"), "0", datetime(1970, 1, 1, tzinfo=UTC)),
        (logical("long", "timestamp-millis"), '"2026-11-24T10:59:30.123456Z"', AT),
        (logical("long", "timestamp-millis"), "1795517970.123456789", AT),
        (logical("long", "timestamp-millis"), "[2026,11,24,10,59,30,123456789]", AT),
        (logical("long", "timestamp-millis"), "1e300", ...),
        (logical("int", "time-millis"), "86400000", ...),
        (logical("int", "time-millis"), "[10,59]", "10:59:00.000000"),
    ],
)
def test_json(kind: Any, text: str, value: Any) -> None:
    (made,) = of_schema(json_schema(kind), [f'{{"f":{text},"unknown":{{}}}}'.encode()])
    if kind == "double" and text == '"NaN"':
        assert made["value"]["f"] != made["value"]["f"]  # which Jackson writes as text
        return
    assert (made["value"] is None) == (value is ...)
    assert (made["decode_error"] is not None) == (value is ...)
    assert value is ... or made["value"]["f"] == value


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[1]", b"5", b"[" * 100_000])
def test_what_is_no_json_of_the_schema(payload: bytes) -> None:
    (made,) = of_schema(json_schema("int"), [payload])
    assert made["value"] is None
    assert made["decode_error"]


def test_json_without_an_avro_schema_is_text() -> None:
    old = SchemaInfo("JSON", b'{"type":"object","id":"urn:jsonschema:X","properties":{}}')
    assert of_schema(old, [b'{"a": 1}']) == [{"value": '{"a": 1}', "decode_error": None}]


def native(*fields: tuple[str, int, Any], data: bytes | None = None) -> SchemaInfo:
    file = FileDescriptorProto(name="x.proto", package="p", syntax="proto3")
    message = file.message_type.add(name="M")
    for name, number, kind in fields:
        field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if isinstance(kind, str):
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, kind
        else:
            field.type = kind
    files = FileDescriptorSet(file=[file]).SerializeToString() if data is None else data
    body = {"fileDescriptorSet": base64.b64encode(files).decode(), "rootMessageTypeName": "p.M"}
    return SchemaInfo("PROTOBUF_NATIVE", json.dumps(body).encode())


def test_protobuf_native() -> None:
    kinds = FieldDescriptorProto
    schema = native(("big", 1, kinds.TYPE_UINT64), ("name", 2, kinds.TYPE_STRING), ("next", 3, ".p.M"))
    payload = b"\x08" + b"\xff" * 9 + b"\x01" + b"\x12\x01x" + b"\x1a\x02\x08\x05"
    made = of_schema(schema, [payload, b"", b"\x12\x05x", b"\x12\x01\xff"])
    assert made[0]["value"] == {"big": Decimal(2**64 - 1), "name": "x", "next": '{"big": "5"}'}
    assert made[1]["value"] == {"big": Decimal(0), "name": "", "next": None}
    assert [one["decode_error"] for one in made[2:]] == ["it is no Protobuf message of its schema"] * 2


@pytest.mark.parametrize(
    "schema",
    [
        native(data=b""),
        native(data=b"\xff"),
        native(("a", 1, ".p.Missing")),
        SchemaInfo("PROTOBUF_NATIVE", b"x"),
        SchemaInfo("PROTOBUF", b"{}"),
    ],
)
def test_descriptors_that_do_not_fit_together(schema: SchemaInfo) -> None:
    (made,) = of_schema(schema, [b"\x08\x01"])
    assert made["value"] is None
    assert made["decode_error"].startswith(("its Protobuf descriptors do not fit together", "the schema does not list"))


def key_value(encoding: str, key: str = "INT32", value: str = "STRING") -> SchemaInfo:
    properties = {"key.schema.type": key, "value.schema.type": value, "kv.encoding.type": encoding}
    return SchemaInfo("KEY_VALUE", struct.pack(">ii", 0, 0), properties)


def sized(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def test_inline_keys_and_values() -> None:
    five = struct.pack(">i", 5)
    good, nulls = sized(five) + sized(b"x"), sized(None) + sized(None)
    bad_key, bad_value = sized(b"no") + sized(b"x"), sized(five) + sized(b"\xff")
    broken = [good[:2], good + b"!", sized(five) + struct.pack(">i", -2), sized(five) + struct.pack(">i", 2**31 - 1)]
    made = of_schema(key_value("INLINE"), [good, nulls, bad_key, bad_value, *broken])
    assert made[0] == {"key": 5, "value": "x", "decode_error": None}
    assert made[1] == {"key": None, "value": None, "decode_error": None}
    assert made[2] == {"key": None, "value": "x", "decode_error": "key: it has 2 bytes; INT32 has 4"}
    assert made[3] == {"key": 5, "value": None, "decode_error": "a text in it is not UTF-8"}
    assert all(one["key"] is None and one["value"] is None and one["decode_error"] for one in made[4:])


def test_separated_keys() -> None:
    schemas = TopicSchemas({0: key_value("SEPARATED")})
    key = {"schema_version": version(0), "partition_key_b64_encoded": True}
    made = decoded(
        schemas,
        {**key, "payload": b"x", "partition_key": base64.b64encode(struct.pack(">i", 5)).decode()},
        {**key, "payload": b"x", "partition_key": "*"},
        {**key, "payload": b"x", "null_partition_key": True, "partition_key": ""},
        {"schema_version": version(0), "payload": b"x", "partition_key": "text"},  # not base64: the text itself
    )
    assert [(one["key"], one["value"]) for one in made] == [(5, "x"), (None, "x"), (None, "x"), (1952807028, "x")]
    assert [one["decode_error"] for one in made] == [None, "its key is not base64", None, None]


def test_schemas_of_keys_and_values_change_too() -> None:
    schemas = TopicSchemas({0: SchemaInfo("STRING"), 1: key_value("INLINE", value="INT64"), 2: key_value("INLINE")})
    row = {"payload": sized(struct.pack(">i", 5)) + sized(struct.pack(">q", 6))}
    made = decoded(schemas, *({**row, "schema_version": version(number)} for number in (0, 1)))
    assert made[0]["decode_error"] == "it was written as STRING; columns are those of KEY_VALUE"
    assert made[1] == {
        "key": 5,
        "value": None,
        "decode_error": "it was written as INT64; columns are those of a schema of type STRING",
    }
    back = decoded(TopicSchemas(schemas.versions, reader=0), {**row, "schema_version": version(1)})
    assert back[0]["decode_error"] == "it was written as KEY_VALUE; columns are those of a schema of type STRING"


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("INT64", b"1234567"),
        ("INT64", b""),
        ("BOOLEAN", b"12"),
        ("TIMESTAMP", struct.pack(">q", 2**62)),
        ("INSTANT", struct.pack(">qi", 0, -1)),
        ("INSTANT", struct.pack(">qi", 2**62, 0)),
        ("LOCAL_DATE", struct.pack(">q", 2**40)),
        ("LOCAL_TIME", struct.pack(">q", 86_400_000_000_000)),
        ("LOCAL_DATE_TIME", struct.pack(">qq", 0, -1)),
        ("STRING", b"\xff"),
        ("NO_SUCH_TYPE", b"x"),
    ],
)
def test_primitives_that_do_not_fit(kind: str, payload: bytes) -> None:
    made = of_schema(SchemaInfo(kind), [payload, None, payload])
    assert [one["value"] for one in made] == [None] * 3
    assert made[0]["decode_error"]
    assert (made[1]["decode_error"], made[2]["decode_error"]) == (None, made[0]["decode_error"])


def test_text_of_another_charset() -> None:
    latin = SchemaInfo("STRING", properties={"__charset": "ISO-8859-1"})
    assert of_schema(latin, [b"\xfc"]) == [{"value": "ü", "decode_error": None}]
    assert of_schema(SchemaInfo("STRING", properties={"__charset": "no-such"}), [b"a"])[0]["value"] == "a"


def test_documents() -> None:
    info = {"type": "AVRO", "properties": {"a": "b"}}
    listed = {"getSchemaResponses": [{"version": 3, "data": '"int"', **info}, {"version": "x", **info}, 5]}
    printed = {"version": 3, "schemaInfo": {"schema": "int", **info}}
    expected = {3: SchemaInfo("AVRO", b'"int"', {"a": "b"})}
    assert versions_in(listed) == versions_in({"version": 3, "data": '"int"', **info}) == expected
    assert versions_in({"version": 3, "schemaInfo": {"schema": {"type": "int"}, **info}}) == {
        3: SchemaInfo("AVRO", b'{"type": "int"}', {"a": "b"})
    }
    assert versions_in({"version": 1, "type": "LOCALDATE"}) == {1: SchemaInfo("LOCAL_DATE")}
    assert versions_in({"other": 1}) is None
    assert versions_in({"schemaInfo": 5}) is None
    assert printed
