"""Where each field of a protobuf message lies, so that hex can be shown beside fields.

    field  = tag varint, then by the tag's low 3 bits (wire type); the rest of the tag is the field number
    0      varint                       at most 10 bytes, 7 bits each, lowest first
    1      8 bytes, little-endian
    2      length varint, that many bytes (text, bytes, message, packed numbers)
    3, 4   begin and end of a group of fields (not used by Pulsar, but a newer field might be one)
    5      4 bytes, little-endian

A tag fits 32 bits in at most 5 bytes, a length 31 bits in at most 5, as in protobuf's own parser (upb): what that
refuses is an error here, and nothing else is (a missing required field is for the caller to notice).
Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pulsar_backlog.errors import DecodeError

MAX_DEPTH = 100
"""Messages within messages; protobuf's own parsers stop there too."""

VARINT, FIXED64, LENGTH, GROUP, GROUP_END, FIXED32 = range(6)

Number: TypeAlias = int | float | bool
FieldValue: TypeAlias = Number | bytes | tuple[Number, ...] | None


@dataclass(frozen=True, slots=True)
class FieldSpan:
    """One field as it lies in the bytes.

    Attributes:
        start: first byte of its tag, counted from the start of the buffer that was given.
        end: the byte after its last.
        number: field number.
        name: name in the descriptor; None where that does not know the number with this wire type.
        wire_type: 0 to 5, see the table above.
        value: number, bytes (text too), numbers (packed), or None where `children` hold the content.
        children: fields of a message or group.
    """

    start: int
    end: int
    number: int
    name: str | None
    wire_type: int
    value: FieldValue
    children: tuple[FieldSpan, ...] = ()


def walk_fields(
    data: bytes | memoryview,
    descriptor: Descriptor,
    *,
    start: int = 0,
    end: int | None = None,
    code: str = "metadata_undecodable",
) -> tuple[FieldSpan, ...]:
    """The fields of the message of type `descriptor` in `data[start:end]`, in wire order.

    Raises:
        DecodeError: with `code`, and the offset in `data`; no bytes are quoted.
    """
    stop = len(data) if end is None else end
    spans, _ = _Walk(memoryview(data), code).message(start, stop, descriptor, None, 0)
    return spans


class _Walk:
    """One buffer being walked; every method takes a position and returns what is there and where it ends."""

    def __init__(self, data: memoryview, code: str) -> None:
        self._data = data
        self._code = code

    def message(
        self, at: int, end: int, descriptor: Descriptor | None, group: int | None, depth: int
    ) -> tuple[tuple[FieldSpan, ...], int]:
        """Fields up to `end`, or up to the end of `group`; without a descriptor all of them are unknown."""
        if depth > MAX_DEPTH:
            raise self._error(at, f"at most {MAX_DEPTH} messages within messages", "more")
        spans: list[FieldSpan] = []
        while at < end:
            number, wire_type, after_tag = self._tag(at, end)
            # Inside a group that it does not know upb does not look at numbers.
            if number == 0 and group is None:
                raise self._error(at, "a field number from 1 on", "0")
            if wire_type == GROUP_END:
                if number != group:
                    raise self._error(at, "the end of a group that was begun", f"the end of group {number}")
                return tuple(spans), after_tag
            field = descriptor.fields_by_number.get(number) if descriptor is not None else None
            span = self._field(at, after_tag, end, number, wire_type, field, depth)
            spans.append(span)
            at = span.end
        if group is not None:
            raise self._error(at, f"the end of group {group}", "the end of the bytes")
        return tuple(spans), at

    def _field(
        self,
        at: int,
        after_tag: int,
        end: int,
        number: int,
        wire_type: int,
        descriptor: FieldDescriptor | None,
        depth: int,
    ) -> FieldSpan:
        field = descriptor if descriptor is not None and _accepts(descriptor, wire_type) else None
        name = None if field is None else field.name
        if wire_type == GROUP:
            children, stop = self.message(after_tag, end, None, number, depth + 1)
            return FieldSpan(at, stop, number, name, wire_type, None, children)
        if wire_type != LENGTH:
            raw, stop = self._scalar(after_tag, end, wire_type)
            return FieldSpan(at, stop, number, name, wire_type, _number(raw, field))
        length, begin = self._varint(after_tag, end, 5)
        if length > min(end - begin, (1 << 31) - 1):
            raise self._error(after_tag, f"at most {end - begin} bytes", str(length))
        stop = begin + length
        if field is not None and field.message_type is not None:
            children, _ = self.message(begin, stop, field.message_type, None, depth + 1)
            return FieldSpan(at, stop, number, name, wire_type, None, children)
        if field is not None and _wire_type(field) != LENGTH:
            return FieldSpan(at, stop, number, name, wire_type, self._packed(begin, stop, field))
        return FieldSpan(at, stop, number, name, wire_type, bytes(self._data[begin:stop]))

    def _packed(self, at: int, end: int, field: FieldDescriptor) -> tuple[Number, ...]:
        numbers: list[Number] = []
        while at < end:
            raw, at = self._scalar(at, end, _wire_type(field))
            numbers.append(_number(raw, field))
        return tuple(numbers)

    def _tag(self, at: int, end: int) -> tuple[int, int, int]:
        tag, after = self._varint(at, end, 5)
        number, wire_type = tag >> 3, tag & 7
        if tag >= 1 << 32 or wire_type > FIXED32:
            raise self._error(at, "a tag of 32 bits with a wire type up to 5", f"{tag}")
        return number, wire_type, after

    def _scalar(self, at: int, end: int, wire_type: int) -> tuple[int, int]:
        """The bits of a number as an unsigned integer."""
        if wire_type == VARINT:
            return self._varint(at, end, 10)
        after = at + (8 if wire_type == FIXED64 else 4)
        if after > end:
            raise self._error(at, f"{after - at} bytes", str(end - at))
        return int.from_bytes(self._data[at:after], "little"), after

    def _varint(self, at: int, end: int, most_bytes: int) -> tuple[int, int]:
        value = 0
        for i, byte in enumerate(self._data[at : min(end, at + most_bytes)]):
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return value & ((1 << 64) - 1), at + i + 1
        raise self._error(at, f"a varint of at most {most_bytes} bytes", "one that does not end")

    def _error(self, offset: int, expected: str, found: str) -> DecodeError:
        return DecodeError(self._code, offset=offset, field="protobuf", expected=expected, found=found)


def _wire_type(field: FieldDescriptor) -> int:
    """Wire type of the field's declared type."""
    return _WIRE_TYPES.get(field.type, VARINT)


def _accepts(field: FieldDescriptor, wire_type: int) -> bool:
    """Whether a parser takes the field with this wire type; repeated numbers may come packed or not."""
    declared = _wire_type(field)
    return wire_type == declared or (wire_type == LENGTH and field.is_repeated and declared != GROUP)


def _number(bits: int, field: FieldDescriptor | None) -> Number:
    """The bits of a number as the field's type reads them; of an unknown field unsigned."""
    return bits if field is None else _READERS.get(field.type, int)(bits)


def _signed(bits: int, width: int) -> int:
    low = bits & ((1 << width) - 1)
    return low - (1 << width) if low >> (width - 1) else low


def _zigzag(bits: int) -> int:
    return (bits >> 1) ^ -(bits & 1)


def _float32(bits: int) -> float:
    return float(struct.unpack("<f", bits.to_bytes(4, "little"))[0])


def _float64(bits: int) -> float:
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


_F = FieldDescriptor
_WIRE_TYPES = {
    **dict.fromkeys((_F.TYPE_FIXED64, _F.TYPE_SFIXED64, _F.TYPE_DOUBLE), FIXED64),
    **dict.fromkeys((_F.TYPE_FIXED32, _F.TYPE_SFIXED32, _F.TYPE_FLOAT), FIXED32),
    **dict.fromkeys((_F.TYPE_STRING, _F.TYPE_BYTES, _F.TYPE_MESSAGE), LENGTH),
    _F.TYPE_GROUP: GROUP,
}
_READERS: dict[int, Callable[[int], Number]] = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SFIXED32, _F.TYPE_ENUM), lambda bits: _signed(bits, 32)),
    **dict.fromkeys((_F.TYPE_INT64, _F.TYPE_SFIXED64), lambda bits: _signed(bits, 64)),
    _F.TYPE_UINT32: lambda bits: bits & 0xFFFFFFFF,
    _F.TYPE_SINT32: lambda bits: _zigzag(bits & 0xFFFFFFFF),
    _F.TYPE_SINT64: _zigzag,
    _F.TYPE_BOOL: bool,
    _F.TYPE_FLOAT: _float32,
    _F.TYPE_DOUBLE: _float64,
}
