"""KEY_VALUE: a key and a value, each with a schema of its own.

```
schema data   [ length i32 ][ key's schema ][ length i32 ][ value's schema ]
properties    key.schema.name, .type, .properties (JSON), value.schema.*, kv.encoding.type
INLINE        [ length i32 ][ key ][ length i32 ][ value ]        length -1: null
SEPARATED     the key is the message's key, base64; the payload is the value
```
The admin API gives the data as JSON instead: `{"key": schema, "value": schema}`, an empty text for primitive types.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/schema/KeyValueSchemaInfo.java
and https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/schema/KeyValue.java
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from pulsar_backlog.schemas.results import Undecodable
from pulsar_backlog.schemas.values import SchemaInfo

SEPARATED = "SEPARATED"
_LENGTH = struct.Struct(">i")


def is_separated(schema: SchemaInfo) -> bool:
    """Whether the key is the message's key; INLINE where the schema does not say."""
    return schema.properties.get("kv.encoding.type") == SEPARATED


def key_and_value(schema: SchemaInfo) -> tuple[SchemaInfo, SchemaInfo]:
    """The schemas of key and value.

    Raises:
        Undecodable: they are not in it.
    """
    key, value = _definitions(schema.data)
    return _part(schema, "key", key), _part(schema, "value", value)


def _definitions(data: bytes) -> tuple[bytes, bytes]:
    if data[:1] == b"{":
        try:
            body = json.loads(data)
            return _as_data(body["key"]), _as_data(body["value"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Undecodable("the schema of key and value is not JSON of both") from None
    key, value = split(data, "the schema of key and value")
    return key or b"", value or b""


def _as_data(definition: Any) -> bytes:
    return definition.encode() if isinstance(definition, str) else json.dumps(definition).encode()


def _part(schema: SchemaInfo, name: str, data: bytes) -> SchemaInfo:
    given = schema.properties.get(f"{name}.schema.properties") or "{}"
    try:
        properties = json.loads(given)
    except (ValueError, RecursionError):
        properties = {}
    texts: Mapping[str, str] = (
        {str(key): str(value) for key, value in properties.items()} if isinstance(properties, dict) else {}
    )
    return SchemaInfo(schema.properties.get(f"{name}.schema.type", "BYTES"), data, texts)


def split(data: bytes, what: str = "it") -> tuple[bytes | None, bytes | None]:
    """Key and value of an INLINE payload.

    Raises:
        Undecodable: the lengths do not add up.
    """
    key, at = _sized(data, 0, what)
    value, at = _sized(data, at, what)
    if at != len(data):
        raise Undecodable(f"{len(data) - at} bytes follow the value of {what}")
    return key, value


def _sized(data: bytes, at: int, what: str) -> tuple[bytes | None, int]:
    start = at + _LENGTH.size
    if start > len(data):
        raise Undecodable(f"{what} ends where a length should be")
    (length,) = _LENGTH.unpack_from(data, at)
    if length == -1:
        return None, start
    if length < 0 or start + length > len(data):
        raise Undecodable(f"{what} has a length that leads out of it")
    return data[start : start + length], start + length
