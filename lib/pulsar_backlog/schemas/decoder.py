"""Messages by their schemas: columns `value`, `decode_error`, and `key` of KEY_VALUE; each by its own version."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.schemas.avro_bulk import BulkCodec
from pulsar_backlog.schemas.codecs import codec_of, column_codec
from pulsar_backlog.schemas.key_value import is_separated, key_and_value, split
from pulsar_backlog.schemas.results import Codec, NoCodec, Undecodable, Values
from pulsar_backlog.schemas.values import SchemaInfo, TopicSchemas, version_number
from pulsar_backlog.wire.byte_views import as_binary

KEY_VALUE = "KEY_VALUE"
_OF_KEYS = ("partition_key", "partition_key_b64_encoded", "null_partition_key")
NEEDED = ("payload", "null_value", "schema_version", "schema_id", *_OF_KEYS)
"""Columns of `messages` that values and keys are made of."""


def needed_for(schemas: TopicSchemas) -> tuple[str, ...]:
    """Those of `NEEDED` for schemas: only some have keys."""
    has_keys = schemas.columns_by is not None and schemas.columns_by.type == KEY_VALUE
    return tuple(name for name in NEEDED if has_keys or name not in _OF_KEYS)


_NO_VERSION = "it names no schema version, so nobody knows how it was encoded"
_OTHER_REGISTRY = "its schema is in a registry outside Pulsar"
_BYTES = SchemaInfo("BYTES")


class MessageDecoder:
    """Makes typed columns of rows of `messages`, all by one reader schema."""

    def __init__(self, schemas: TopicSchemas) -> None:
        """Decode by schemas; older ones are read as the one that columns are made by."""
        self._schemas = schemas
        reader = schemas.columns_by or _BYTES
        self._reader = reader
        self._parts: tuple[SchemaInfo, SchemaInfo] | None = None
        self._fault: str | None = None if schemas.columns_by else "no schema of its topic is known"
        if reader.type == KEY_VALUE:
            try:
                self._parts = key_and_value(reader)
            except Undecodable as error:
                self._reader, self._fault = _BYTES, str(error)
        self._codecs: dict[bytes | str | None, tuple[Codec | None, Codec]] = {}

    @cached_property
    def fields(self) -> list[pa.Field]:
        """The columns it makes."""
        if self._parts is None:
            return [pa.field("value", column_codec(self._reader).type), _ERROR]
        key, value = (column_codec(part).type for part in self._parts)
        return [pa.field("key", key), pa.field("value", value), _ERROR]

    def columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The columns of rows that have those of `needed_for`; a row without payload has no value and no error.

        Payloads may be views.
        """
        groups, versions = _versions(batch)
        made: list[list[pa.Array]] = []
        rows = []
        for number, version in enumerate(versions):
            chosen = np.flatnonzero(groups == number)
            if len(chosen):
                rows.append(chosen)
                made.append(self._group(_taken(batch, chosen) if len(versions) > 1 else batch, version))
        if not made:
            return [pa.nulls(0, field.type) for field in self.fields]
        if len(made) == 1:
            return made[0]
        order = pa.array(np.argsort(np.concatenate(rows)))
        return [pa.concat_arrays(list(parts)).take(order) for parts in zip(*made, strict=True)]

    def _group(self, batch: pa.RecordBatch, version: bytes | str | None) -> list[pa.Array]:
        payloads = _without_null_values(batch)
        writer = self._writer(version)
        if isinstance(writer, str):
            errors = pa.array([writer if one.is_valid else None for one in payloads], pa.string())
            return [pa.nulls(len(payloads), field.type) for field in self.fields[:-1]] + [errors]
        if version not in self._codecs:
            self._codecs[version] = self._codec_pair(writer)
        key_codec, codec = self._codecs[version]
        if key_codec is None:
            values = codec.values(payloads if isinstance(codec, BulkCodec) else as_binary(payloads))
            return [values.values, pa.array(values.errors, pa.string())]
        keys, payloads, faults = _split(batch, as_binary(payloads), separated=is_separated(writer))
        key_values, values = key_codec.values(keys), codec.values(payloads)
        errors = pa.array(_joined(faults, key_values, values), pa.string())
        return [key_values.values, values.values, errors]

    def _writer(self, version: bytes | str | None) -> SchemaInfo | str:
        """The schema that a version names; or why there is none."""
        if self._fault is not None:
            return self._fault
        if self._schemas.every is not None:
            return self._schemas.every
        if not isinstance(version, bytes):
            return version or _NO_VERSION
        if not version:
            return _NO_VERSION
        number = version_number(version)
        if number is None:
            return f"its schema version is {len(version)} bytes that no broker writes"
        writer = self._schemas.versions.get(number)
        if writer is None:
            numbers = sorted(self._schemas.versions)
            return f"schema version {number} of its topic is not known; known are {_shown(numbers)}"
        if writer.type == KEY_VALUE and self._parts is None:
            return f"it was written as {KEY_VALUE}; columns are those of a schema of type {self._reader.type}"
        return writer

    def _codec_pair(self, writer: SchemaInfo) -> tuple[Codec | None, Codec]:
        """What reads keys, where there are any, and what reads values."""
        if self._parts is None:
            return None, codec_of(writer, self._reader)
        try:
            if writer.type != KEY_VALUE:
                raise Undecodable(f"it was written as {writer.type}; columns are those of {KEY_VALUE}")
            key, value = key_and_value(writer)
        except Undecodable as error:
            none = [NoCodec(column_codec(part).type, str(error)) for part in self._parts]
            return none[0], none[1]
        return codec_of(key, self._parts[0]), codec_of(value, self._parts[1])


_ERROR = pa.field("decode_error", pa.string())


def _versions(batch: pa.RecordBatch) -> tuple[np.ndarray, Sequence[bytes | str | None]]:
    """The group of each row, and the version of each group; a text is why there is none."""
    outside = batch.column("schema_id")
    coded = batch.column("schema_version").dictionary_encode(null_encoding="encode")
    versions: list[bytes | str | None] = coded.dictionary.to_pylist()
    groups = coded.indices.to_numpy(zero_copy_only=False)
    if outside.null_count < len(outside):
        groups = np.where(outside.is_valid().to_numpy(zero_copy_only=False), len(versions), groups)
        versions.append(_OTHER_REGISTRY)
    return groups, versions


def _taken(batch: pa.RecordBatch, chosen: np.ndarray) -> pa.RecordBatch:
    """Some rows, with their payloads as binaries: Arrow takes no views."""
    at = batch.schema.get_field_index("payload")
    return batch.set_column(at, "payload", as_binary(batch.column(at))).take(pa.array(chosen))


def _without_null_values(batch: pa.RecordBatch) -> pa.Array:
    payloads = batch.column("payload")
    if batch.column("null_value").null_count == batch.num_rows:
        return payloads
    nulls = pc.fill_null(batch.column("null_value"), False)
    return pc.if_else(nulls, pa.scalar(None, pa.binary()), as_binary(payloads)) if nulls.true_count else payloads


def _split(
    batch: pa.RecordBatch, payloads: pa.Array, *, separated: bool
) -> tuple[pa.Array, pa.Array, list[str | None]]:
    """Keys, values, and why there is neither."""
    faults: list[str | None] = [None] * len(payloads)
    keys: list[bytes | None] = [None] * len(payloads)
    if separated:
        names = ("partition_key", "partition_key_b64_encoded", "null_partition_key")
        given = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        for at, (text, is_base64, is_null) in enumerate(given):
            try:
                keys[at] = None if is_null or text is None else _key_bytes(text, is_base64)
            except (ValueError, binascii.Error):
                faults[at] = "its key is not base64"
        return pa.array(keys, pa.binary()), payloads, faults
    values: list[bytes | None] = [None] * len(payloads)
    for at, payload in enumerate(payloads.to_pylist()):
        try:
            if payload is not None:
                keys[at], values[at] = split(payload)
        except Undecodable as error:
            faults[at] = str(error)
    return pa.array(keys, pa.binary()), pa.array(values, pa.binary()), faults


def _key_bytes(text: str, is_base64: bool | None) -> bytes:
    return base64.b64decode(text, validate=True) if is_base64 else text.encode()


def _joined(faults: list[str | None], keys: Values, values: Values) -> list[str | None]:
    return [
        fault or (f"key: {key}" if key and key != value else value)
        for fault, key, value in zip(faults, keys.errors, values.errors, strict=True)
    ]


def _shown(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
