"""Schemas of a topic as values that travel to any task."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

_VERSION_BYTES = (8, 64)
"""Brokers before 2.4 wrote the same eight bytes and 56 zeros."""


@dataclass(frozen=True)
class SchemaInfo:
    """One schema, as clients and brokers know it.

    Attributes:
        type: name of Pulsar's `SchemaType`, such as `AVRO` or `KEY_VALUE`.
        data: definition: an Avro schema as JSON for AVRO, JSON and PROTOBUF; empty for primitive types.
        properties: as its producer set them.
    """

    type: str
    data: bytes = b""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TopicSchemas:
    """The schemas of a topic that are known.

    Attributes:
        versions: by version number.
        reader: version that columns are made by; None is the newest.
        every: the one that every message is read by, whatever version it names; None where each has its own.
    """

    versions: Mapping[int, SchemaInfo]
    every: SchemaInfo | None = None
    reader: int | None = None

    @property
    def columns_by(self) -> SchemaInfo | None:
        """The one that columns are made by; None where none is known."""
        if self.every is not None:
            return self.every
        number = max(self.versions, default=None) if self.reader is None else self.reader
        return None if number is None else self.versions.get(number)


def version_number(version: bytes) -> int | None:
    """The number in `schema_version` of a message's metadata; None where it is none that brokers write.

    Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/schema/LongSchemaVersion.java
    """
    if len(version) not in _VERSION_BYTES:
        return None
    return int(struct.unpack_from(">q", version)[0])
