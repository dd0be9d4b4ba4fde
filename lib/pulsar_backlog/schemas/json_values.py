"""JSON: text as Jackson (Java) and the other clients write it, by the Avro schema that describes the class.

A field that is absent or null is null, one that the schema does not have is passed over, as clients do. Without an Avro
schema (schemas of clients before 2.1 are JSON Schema) the value is the text.

| Avro | in JSON |
|---|---|
| int, long | a number; whole |
| float, double | a number, or `"NaN"`, `"Infinity"`, `"-Infinity"` |
| bytes, fixed | base64 |
| decimal | a number, or its text |
| date | days, ISO 8601, or `[year, month, day]`, as Jackson writes it |
| timestamp-*, local-timestamp-* | its units; seconds with a fraction; ISO 8601; `[year, ..., nanoseconds]` |
| time-* | its units; ISO 8601; or `[hour, minute, second, nanoseconds]` |

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/schema/JSONSchema.java
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from pulsar_backlog.json_text import in_ascii
from pulsar_backlog.schemas.primitives import LOCAL_TIME
from pulsar_backlog.schemas.results import RowCodec, Undecodable
from pulsar_backlog.schemas.shapes import AvroSchema, Convert, Leaf, Shaping, clock_text

_BITS = {"int": 31, "long": 63}
_EPOCH, _EPOCH_DAY = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
_MOST_DIGITS = 1000
"""Of a number: `1e999999999` is a few bytes, and its digits fill a disk."""


def json_text_codec() -> RowCodec:
    """JSON text as it is; what is no JSON is an error."""

    def decode(payload: bytes) -> tuple[str, None]:
        text = payload.decode()
        _parsed(text)
        return text, None

    return RowCodec(pa.string(), decode)


def json_codec(reader: AvroSchema) -> RowCodec:
    """JSON by an Avro schema.

    Raises:
        Undecodable: it is no Avro schema.
    """
    try:
        shape = Shaping(_leaf, checked=True).of(reader)
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise Undecodable("the schema is no Avro schema") from None
    convert = shape.convert

    def decode(payload: bytes) -> tuple[Any, None]:
        value = _parsed(payload.decode())
        return (value if value is None or convert is None else convert(value)), None

    return RowCodec(shape.type, decode)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_Number)
    except RecursionError:
        raise
    except ValueError as error:
        place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Undecodable(f"it is not JSON{place}") from None


class _Number(float):
    """A number with a fraction or exponent that still knows its digits."""

    def __new__(cls, text: str) -> _Number:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


def _leaf(leaf: Leaf) -> Convert | None:
    if leaf.logical is not None:
        return _LOGICAL[leaf.logical](leaf)
    return _PLAIN[leaf.name]


def _wrong(what: str) -> Undecodable:
    return Undecodable(f"it has something else where the schema has {what}")


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong("a boolean")
    return value


def _whole(bits: int) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise _wrong("a whole number")
        number = int(value)
        if not -(1 << bits) <= number < 1 << bits:
            raise _wrong(f"a number of {bits + 1} bits")
        return number

    return convert


def _real(value: Any) -> float:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong("a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong("text")
    return value


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError:
        raise _wrong("bytes as base64") from None


_PLAIN: Mapping[str, Convert] = {
    "null": lambda value: None if value is None else in_ascii(str(value)),
    "boolean": _boolean,
    "int": _whole(_BITS["int"]),
    "long": _whole(_BITS["long"]),
    "float": _real,
    "double": _real,
    "bytes": _bytes,
    "string": _text,
}


def _decimal(_: Leaf) -> Convert:
    def convert(value: Any) -> Decimal:
        text = value.text if isinstance(value, _Number) else str(value)
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise _wrong("a decimal") from None
        if isinstance(value, bool) or not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
            raise _wrong("a decimal")
        return number  # Arrow refuses more digits than its column has

    return convert


def _date(_: Leaf) -> Convert:
    def convert(value: Any) -> date:
        if isinstance(value, str):
            return date.fromisoformat(value)
        if isinstance(value, list):
            return date(*value)
        return _EPOCH_DAY + timedelta(days=_whole(_BITS["int"])(value))

    return _guarded(convert, "a date")


def _time(micros: int) -> Callable[[Leaf], Convert]:
    def of(_: Leaf) -> Convert:
        def convert(value: Any) -> str:
            if isinstance(value, str):
                return clock_text(time.fromisoformat(value))
            if isinstance(value, list):
                return clock_text(time(*_with_micros(value, 4)))  # type: ignore[arg-type]  # four at most
            passed = timedelta(microseconds=_whole(_BITS["long"])(value) * micros)
            if not timedelta() <= passed < timedelta(days=1):
                raise _wrong("a time of day")
            return clock_text((_EPOCH + passed).time())

        return _guarded(convert, "a time of day")

    return of


def _instant(micros: int) -> Callable[[Leaf], Convert]:
    def of(leaf: Leaf) -> Convert:
        is_local = leaf.type == LOCAL_TIME

        def convert(value: Any) -> datetime:
            if isinstance(value, str):
                at = datetime.fromisoformat(value)
                if is_local:
                    return at.replace(tzinfo=None)
                return at if at.tzinfo else at.replace(tzinfo=UTC)
            if isinstance(value, list):
                at = datetime(*_with_micros(value, 7), tzinfo=UTC)  # type: ignore[arg-type, misc]  # seven at most
            elif isinstance(value, _Number):  # Jackson writes seconds with a fraction
                at = _EPOCH + timedelta(microseconds=int(Decimal(value.text) * 1_000_000))
            else:
                at = _EPOCH + timedelta(microseconds=_whole(_BITS["long"])(value) * micros)
            return at.replace(tzinfo=None) if is_local else at

        return _guarded(convert, "a time")

    return of


def _with_micros(parts: list[Any], most: int) -> list[int]:
    """Parts of a time as Jackson writes them, zeros at the end left out; the last of `most` are nanoseconds."""
    numbers = [_whole(_BITS["int"])(one) for one in parts]
    if len(numbers) > most:
        raise ValueError
    return [*numbers[: most - 1], numbers[most - 1] // 1000] if len(numbers) == most else numbers


def _guarded(convert: Convert, what: str) -> Convert:
    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, ArithmeticError):
            raise _wrong(what) from None

    return checked


_LOGICAL: Mapping[str, Callable[[Leaf], Convert]] = {
    "decimal": _decimal,
    "date": _date,
    "time-millis": _time(1000),
    "time-micros": _time(1),
    "timestamp-millis": _instant(1000),
    "timestamp-micros": _instant(1),
    "local-timestamp-millis": _instant(1000),
    "local-timestamp-micros": _instant(1),
}
