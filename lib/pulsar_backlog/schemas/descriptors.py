"""Descriptors in schemas of Protobuf.

PROTOBUF_NATIVE has the whole set: `{"fileDescriptorSet": base64, "rootMessageTypeName", "rootFileDescriptorName"}`.
PROTOBUF has an Avro schema, which knows no field numbers, and the property `__PARSING_INFO__`, which has those of the
outermost message alone: `[{"number", "name", "type", "label"}]`. Messages within it stay bytes, as on the wire.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/schema/ProtobufNativeSchemaUtils.java
and https://github.com/apache/pulsar/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/schema/ProtobufSchema.java
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from pulsar_backlog.schemas.results import Undecodable
from pulsar_backlog.schemas.values import SchemaInfo

PARSING_INFO = "__PARSING_INFO__"
_NESTED = {"MESSAGE": "BYTES", "ENUM": "INT32"}
"""Types whose definition is not there, and what the wire says of them."""


def native_descriptor(schema: SchemaInfo) -> Descriptor:
    """The outermost message of PROTOBUF_NATIVE.

    Raises:
        Undecodable: the schema does not define it.
    """
    try:
        body = json.loads(schema.data)
        files = FileDescriptorSet.FromString(base64.b64decode(body["fileDescriptorSet"], validate=True))
        pool = DescriptorPool()
        _add(pool, {file.name: file for file in files.file})
        root: Descriptor = pool.FindMessageTypeByName(body["rootMessageTypeName"])
    except Exception as error:  # whatever a schema can be wrong about
        raise Undecodable(f"its Protobuf descriptors do not fit together ({type(error).__name__})") from None
    return root


def _add(pool: DescriptorPool, files: dict[str, FileDescriptorProto]) -> None:
    """Add files, those first that others import."""
    for name in list(files):
        _add_one(pool, files, name)


def _add_one(pool: DescriptorPool, files: dict[str, FileDescriptorProto], name: str) -> None:
    file = files.pop(name, None)
    if file is None:
        return  # it is there, or not in the set, or imports itself: the pool says so
    for other in file.dependency:
        _add_one(pool, files, other)
    pool.Add(file)


def listed_descriptor(schema: SchemaInfo) -> Descriptor:
    """The outermost message of PROTOBUF, by the list of its fields.

    Raises:
        Undecodable: the schema has no such list.
    """
    try:
        fields = json.loads(schema.properties[PARSING_INFO])
        file = FileDescriptorProto(name="listed.proto", syntax="proto2")
        message = file.message_type.add(name="Listed")
        for one in fields:
            _list(message.field.add(), one)
        pool = DescriptorPool()
        pool.Add(file)
        root: Descriptor = pool.FindMessageTypeByName("Listed")
    except Exception as error:  # whatever a schema can be wrong about
        raise Undecodable(f"the schema does not list its Protobuf fields ({type(error).__name__})") from None
    return root


def _list(field: FieldDescriptorProto, one: Mapping[str, Any]) -> None:
    kind = str(one["type"])
    field.name = str(one["name"])
    field.number = int(one["number"])
    field.type = FieldDescriptorProto.Type.Value(f"TYPE_{_NESTED.get(kind, kind)}")
    # What is required is not: a message without it is a message all the same.
    repeated = one.get("label") == "LABEL_REPEATED"
    field.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
