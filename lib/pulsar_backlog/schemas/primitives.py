"""Primitive, date and time types, as the clients encode them: fixed width, big endian, all rows at once.

| type | bytes | value |
|---|---|---|
| INT8, INT16, INT32, INT64 | 1, 2, 4, 8 | signed |
| FLOAT, DOUBLE | 4, 8 | IEEE 754 |
| BOOLEAN | 1 | 0 is false, all else true |
| DATE, TIME, TIMESTAMP | 8 | milliseconds since 1970, UTC |
| INSTANT | 12 | [ seconds since 1970 i64 ][ nanoseconds i32 ] |
| LOCAL_DATE | 8 | days since 1970 |
| LOCAL_TIME | 8 | nanoseconds of the day |
| LOCAL_DATE_TIME | 16 | [ days i64 ][ nanoseconds of the day i64 ] |
| STRING | all | text, UTF-8 unless property `__charset` names another |
| BYTES, NONE | all | as they are |

Source: https://github.com/apache/pulsar/tree/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/schema
(`IntSchema`, `InstantSchema`, `LocalDateTimeSchema` and their siblings)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.schemas.results import Codec, RowCodec, Values
from pulsar_backlog.schemas.values import SchemaInfo
from pulsar_backlog.wire.arrays import Int64s

UTC_TIME = pa.timestamp("us", tz="UTC")
LOCAL_TIME = pa.timestamp("us")

_CHARSET = "__charset"
_DAY_US, _DAY_NS = 86_400_000_000, 86_400_000_000_000
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Of the years 1 to 9999, which every engine has."""


@dataclass(frozen=True)
class _Fixed:
    """A fixed-width type: its fields in wire order, and the column of them; None in a row is out of range."""

    name: str
    wire: np.dtype[Any]
    type: pa.DataType
    column: Callable[[Any], pa.Array]

    def values(self, payloads: pa.Array) -> Values:
        """All of them at once."""
        width = self.wire.itemsize
        lengths = pc.binary_length(payloads)
        right = pc.fill_null(pc.equal(lengths, width), False)
        raw = b"".join(payloads.filter(right).to_pylist())
        made = self.column(np.frombuffer(raw, dtype=self.wire))
        at = np.full(len(payloads), -1, dtype=np.int64)
        at[np.flatnonzero(right.to_numpy(zero_copy_only=False))] = np.arange(len(made))
        values = made.take(pa.array(at, mask=at < 0))
        if right.true_count == len(payloads) and not values.null_count:
            return Values(values, [None] * len(payloads))
        errors = [
            self._error(length, value)
            for length, value in zip(lengths.to_pylist(), values.is_valid().to_pylist(), strict=True)
        ]
        return Values(values, errors)

    def _error(self, length: int | None, is_valid: bool) -> str | None:
        if length is None or is_valid:
            return None
        width = self.wire.itemsize
        if length != width:
            return f"it has {length} bytes; {self.name} has {width}"
        return "a value is out of the range of its column"


def _plain(kind: pa.DataType) -> Callable[[Any], pa.Array]:
    return lambda numbers: pa.array(numbers.astype(numbers.dtype.newbyteorder("="))).cast(kind)


def _boolean(numbers: Any) -> pa.Array:
    return pa.array(numbers != 0)


def _millis(numbers: Any) -> pa.Array:
    return _timed(numbers // 86_400_000, numbers % 86_400_000 * 1000, UTC_TIME)


def _instant(rows: Any) -> pa.Array:
    seconds, nanos = rows["seconds"], rows["nanos"].astype(np.int64)
    fine = (nanos >= 0) & (nanos < 1_000_000_000)
    return _timed(seconds // 86_400, seconds % 86_400 * 1_000_000 + nanos // 1000, UTC_TIME, fine)


def _days(numbers: Any) -> pa.Array:
    bad = (numbers < _FIRST_DAY) | (numbers > _LAST_DAY)
    return pa.array(np.where(bad, 0, numbers).astype(np.int32), pa.int32(), mask=bad).cast(pa.date32())


def _local_time(numbers: Any) -> pa.Array:
    bad = (numbers < 0) | (numbers >= _DAY_NS)
    return pa.array(np.where(bad, 0, numbers), pa.int64(), mask=bad).cast(pa.time64("ns")).cast(pa.string())


def _local_date_time(rows: Any) -> pa.Array:
    nanos = rows["nanos"]
    return _timed(rows["days"], nanos // 1000, LOCAL_TIME, (nanos >= 0) & (nanos < _DAY_NS))


def _timed(days: Any, micros: Int64s, kind: pa.DataType, fine: Any = True) -> pa.Array:
    """Points in time; null where out of the years 1 to 9999, which Python and Spark have."""
    bad = (days < _FIRST_DAY) | (days > _LAST_DAY) | ~np.broadcast_to(fine, days.shape)
    return pa.array(np.where(bad, 0, days).astype(np.int64) * _DAY_US + micros, pa.int64(), mask=bad).cast(kind)


def _record(*fields: tuple[str, str]) -> np.dtype[Any]:
    return np.dtype(list(fields))


_FIXED: Mapping[str, _Fixed] = {
    one.name: one
    for one in (
        _Fixed("INT8", np.dtype(">i1"), pa.int8(), _plain(pa.int8())),
        _Fixed("INT16", np.dtype(">i2"), pa.int16(), _plain(pa.int16())),
        _Fixed("INT32", np.dtype(">i4"), pa.int32(), _plain(pa.int32())),
        _Fixed("INT64", np.dtype(">i8"), pa.int64(), _plain(pa.int64())),
        _Fixed("FLOAT", np.dtype(">f4"), pa.float32(), _plain(pa.float32())),
        _Fixed("DOUBLE", np.dtype(">f8"), pa.float64(), _plain(pa.float64())),
        _Fixed("BOOLEAN", np.dtype(">i1"), pa.bool_(), _boolean),
        _Fixed("DATE", np.dtype(">i8"), UTC_TIME, _millis),
        _Fixed("TIME", np.dtype(">i8"), UTC_TIME, _millis),
        _Fixed("TIMESTAMP", np.dtype(">i8"), UTC_TIME, _millis),
        _Fixed("INSTANT", _record(("seconds", ">i8"), ("nanos", ">i4")), UTC_TIME, _instant),
        _Fixed("LOCAL_DATE", np.dtype(">i8"), pa.date32(), _days),
        _Fixed("LOCAL_TIME", np.dtype(">i8"), pa.string(), _local_time),
        _Fixed("LOCAL_DATE_TIME", _record(("days", ">i8"), ("nanos", ">i8")), LOCAL_TIME, _local_date_time),
    )
}


@dataclass(frozen=True)
class _Bytes:
    type: pa.DataType = pa.binary()  # noqa: RUF009 - a constant

    def values(self, payloads: pa.Array) -> Values:
        return Values(payloads.cast(self.type), [None] * len(payloads))


@dataclass(frozen=True)
class _Text:
    type: pa.DataType = pa.string()  # noqa: RUF009 - a constant

    def values(self, payloads: pa.Array) -> Values:
        try:
            return Values(payloads.cast(self.type), [None] * len(payloads))
        except pa.ArrowException:
            return RowCodec(self.type, lambda payload: (payload.decode(), None)).values(payloads)


def primitive_codec(schema: SchemaInfo) -> Codec | None:
    """The codec of a primitive type; None of others.

    A charset that is not known is read as UTF-8.
    """
    if schema.type in _FIXED:
        return _FIXED[schema.type]
    if schema.type in ("BYTES", "NONE"):
        return _Bytes()
    if schema.type != "STRING":
        return None
    charset = schema.properties.get(_CHARSET, "UTF-8")
    if charset.upper() in ("UTF-8", "UTF8", "US-ASCII"):
        return _Text()
    return RowCodec(pa.string(), lambda payload: (_decoded(payload, charset), None))


def _decoded(payload: bytes, charset: str) -> str:
    try:
        return payload.decode(charset)
    except LookupError:
        return payload.decode()
