"""Columns of messages that are masked before anyone sees them: `null`, `hash`, `redact`.

A place is a column, and fields within it after dots: `partition_key`, `value.customer.email`, `value.items.name` (in
every item), `properties.email` (the value of that key). `hash` is HMAC-SHA-256 with a key from the environment: equal
values stay equal, and nobody without the key can try values. What holds the same bytes as a masked place is masked with
it. A row that was masked is not `verified` any more: it is not the message that was sent.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secret

KEY_VARIABLE = "PULSAR_BACKLOG_MASK_KEY"
"""Environment variable with the key of `hash`."""

Way: TypeAlias = Literal["null", "hash", "redact"]
_WAYS: tuple[str, ...] = get_args(Way)
_REDACTED = "***"
MASKED = "masked"
"""Reason of a row that nothing else speaks against."""
_LEAST_KEY = 16
_ALSO = {
    "value": ("payload", "payload_file", "payload_sha256"),
    "key": ("payload", "payload_file", "payload_sha256", "partition_key", "ordering_key"),
    "payload": ("payload_file", "payload_sha256"),
    "partition_key": ("key",),
}
"""Columns that hold the bytes of others."""


@dataclass(frozen=True)
class Mask:
    """One place and what becomes of it.

    Attributes:
        path: column, then the fields within it.
        way: how it is masked.
    """

    path: tuple[str, ...]
    way: Way


def masks_of(texts: Iterable[str]) -> tuple[Mask, ...]:
    """Masks as they are written, `COLUMN=WAY`, with those of columns that hold the same bytes.

    Raises:
        UsageError: one is not written so, or `hash` has no key.
    """
    masks: list[Mask] = []
    for text in texts:
        place, separator, way = text.rpartition("=")
        if not separator or not place or way not in _WAYS:
            raise UsageError(f"mask {text!r}: write COLUMN=WAY, where WAY is one of {', '.join(_WAYS)}")
        masks.append(Mask(tuple(place.split(".")), way))  # type: ignore[arg-type]  # one of them, as was seen
    own = {mask.path for mask in masks}
    also = {(name,) for mask in masks for name in _ALSO.get(mask.path[0], ())}
    masks += [Mask(path, "null") for path in sorted(also - own)]
    if any(mask.way == "hash" for mask in masks):
        mask_key()
    return tuple(masks)


def mask_key() -> bytes:
    """The key of `hash`.

    Raises:
        UsageError: the environment has none, or a short one.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    if len(key) < _LEAST_KEY:
        raise UsageError(f"a hash needs a key of {_LEAST_KEY} characters or more in the variable {KEY_VARIABLE}")
    remember_secret(key)
    return key.encode()


def check_masks(masks: Iterable[Mask], schema: pa.Schema) -> None:
    """Look whether each place is there, and can be masked so.

    Raises:
        UsageError: one is not.
    """
    for mask in masks:
        name = mask.path[0]
        if name not in schema.names:
            if mask.way == "null" and len(mask.path) == 1 and any(name in also for also in _ALSO.values()):
                continue  # it is not among the columns that are wanted
            raise UsageError(f"there is no column {name} to be masked; there are {', '.join(schema.names)}")
        field = schema.field(name)
        if mask.way == "null" and len(mask.path) == 1 and not field.nullable:
            raise UsageError(f"column {name} is never null: it cannot be masked so")
        _masked(pa.nulls(0, field.type), mask.path[1:], mask, b"")


def masked(batch: pa.RecordBatch, masks: Sequence[Mask]) -> pa.RecordBatch:
    """The rows with what is masked."""
    key = mask_key() if any(mask.way == "hash" for mask in masks) else b""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for mask in masks:
        column = columns.get(mask.path[0])
        if column is not None:
            whole = (
                column.take(pa.array(range(len(column)))) if column.offset else column
            )  # lists are made of whole ones
            columns[mask.path[0]] = _masked(whole, mask.path[1:], mask, key)
    if masks and "verified" in columns:
        columns["verified"] = pa.repeat(False, batch.num_rows)
        reasons = pc.fill_null(columns["reason"], "")
        columns["reason"] = pc.if_else(
            pc.equal(reasons, ""), MASKED, pc.binary_join_element_wise(reasons, MASKED, "; ")
        )
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=batch.schema)


def _masked(column: pa.Array, path: tuple[str, ...], mask: Mask, key: bytes) -> pa.Array:
    kind = column.type
    if pa.types.is_list(kind):
        values = _masked(column.values, path, mask, key)
        return pa.ListArray.from_arrays(column.offsets, values, type=kind, mask=_nulls(column))
    if not path:
        return _WAYS_OF[mask.way](column, key, mask)
    if pa.types.is_struct(kind) and kind.get_field_index(path[0]) >= 0:
        parts = [
            _masked(part, path[1:], mask, key) if field.name == path[0] else part
            for field, part in zip(kind, (column.field(at) for at in range(kind.num_fields)), strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=_nulls(column))
    if pa.types.is_map(kind):
        chosen = pc.equal(column.keys, pa.scalar(path[0], kind.key_type)) if pa.types.is_string(kind.key_type) else None
        if chosen is not None:
            items = pc.if_else(chosen, _masked(column.items, path[1:], mask, key), column.items)
            return pa.MapArray.from_arrays(column.offsets, column.keys, items, type=kind, mask=_nulls(column))
    raise UsageError(f"there is no {'.'.join(mask.path)} to be masked")


def _nulls(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None


def _null(column: pa.Array, _: bytes, __: Mask) -> pa.Array:
    return pa.nulls(len(column), column.type)


def _redact(column: pa.Array, _: bytes, mask: Mask) -> pa.Array:
    if not pa.types.is_string(column.type):
        raise UsageError(f"{'.'.join(mask.path)} is no text: it can be masked as null")
    return pc.if_else(column.is_null(), column, pa.scalar(_REDACTED))


def _hash(column: pa.Array, key: bytes, mask: Mask) -> pa.Array:
    is_text = pa.types.is_string(column.type)
    if not is_text and not pa.types.is_binary(column.type):
        raise UsageError(f"{'.'.join(mask.path)} is neither text nor bytes: it can be masked as null")
    coded = column.dictionary_encode()
    digests = [hmac.new(key, one.encode() if is_text else one, hashlib.sha256) for one in coded.dictionary.to_pylist()]
    made = [one.hexdigest() if is_text else one.digest() for one in digests]
    return pa.array(made, column.type).take(coded.indices)


_WAYS_OF: dict[str, Callable[[pa.Array, bytes, Mask], pa.Array]] = {"null": _null, "hash": _hash, "redact": _redact}
