"""Schemas in JSON, as the admin API and its tools give them.

| JSON | from |
|---|---|
| `{"getSchemaResponses": [{"version", "type", "data", "properties"}]}` | `GET .../schemas`; `snapshot` adds `topic` |
| `{"version", "type", "data", "properties"}` | `GET .../schema` |
| `{"version", "schemaInfo": {"type", "schema", "properties"}}` | `pulsar-admin schemas get` |

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/admin/impl/SchemasResourceBase.java
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pulsar_backlog.schemas.values import SchemaInfo

_TYPE_NAMES = {
    "KEYVALUE": "KEY_VALUE",
    "LOCALDATE": "LOCAL_DATE",
    "LOCALTIME": "LOCAL_TIME",
    "LOCALDATETIME": "LOCAL_DATE_TIME",
    "PROTOBUFNATIVE": "PROTOBUF_NATIVE",
}
"""Names in the brokers' own storage that clients write otherwise."""


def type_name(name: str) -> str:
    """The name of a schema type as clients know it."""
    return _TYPE_NAMES.get(name.upper(), name.upper())


def versions_in(body: Mapping[str, Any]) -> dict[int, SchemaInfo] | None:
    """Schemas by version in a JSON object; None where it is none of these documents."""
    responses = body.get("getSchemaResponses")
    if isinstance(responses, list):
        listed = [_version(one) for one in responses if isinstance(one, dict)]
        return dict(one for one in listed if one is not None)
    one = _version(body)
    return None if one is None else dict([one])


def _version(body: Mapping[str, Any]) -> tuple[int, SchemaInfo] | None:
    info = body.get("schemaInfo", body)
    if not isinstance(info, dict):
        return None
    number, kind = body.get("version", 0), info.get("type")
    definition = info.get("data", info.get("schema", ""))
    if not isinstance(number, int) or not isinstance(kind, str):
        return None
    data = definition if isinstance(definition, str) else json.dumps(definition)
    given = info.get("properties")
    properties = {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
    return number, SchemaInfo(type_name(kind), data.encode(errors="surrogatepass"), properties)
