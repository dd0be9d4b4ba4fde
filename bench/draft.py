"""Bytes under construction with running numbers in them, and the protobuf wire encoding: all the generator needs.

A *running number* is linear in the number of the row (the repetition of the cycle) it stands in, so that one numpy
expression writes it into all rows at once. Protobuf: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

Bytes2d = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]


class Encode(Protocol):
    """Turns numbers into one row of `width` bytes each."""

    def __call__(self, values: Int64s, width: int) -> Bytes2d:
        """Encode."""


def varints(values: Int64s, width: int) -> Bytes2d:
    """Protobuf varints of exactly `width` bytes, each in its shortest form."""
    if int(values.min()) < (0 if width == 1 else 1 << 7 * (width - 1)) or int(values.max()) >= 1 << 7 * width:
        raise ValueError(f"{values.min()}..{values.max()} are not all varints of {width} bytes")
    groups = ((values[:, None] >> (7 * np.arange(width))) & 0x7F).astype(np.uint8)
    groups[:, :-1] |= 0x80
    return groups


def decimals(values: Int64s, width: int) -> Bytes2d:
    """ASCII digits with leading zeros."""
    return (values[:, None] // 10 ** np.arange(width - 1, -1, -1) % 10 + ord("0")).astype(np.uint8)


def big_endian(values: Int64s, width: int) -> Bytes2d:
    """Integers of 8 bytes."""
    return values.astype(">i8").view(np.uint8).reshape(-1, width)


@dataclass(frozen=True)
class Patch:
    """One running number: at `column`, in row r, `(first + r * step) % modulus`.

    `per_ledger` numbers count rows from the ledger's beginning, all others from the backlog's.
    """

    column: int
    width: int
    encode: Encode
    first: int
    step: int
    modulus: int = 1 << 62
    per_ledger: bool = False

    def apply(self, rows: Bytes2d, first_row: int) -> None:
        """Write it into all `rows`, of which the first is number `first_row`."""
        numbers = np.arange(first_row, first_row + len(rows), dtype=np.int64)
        values = (self.first + numbers * self.step) % self.modulus
        rows[:, self.column : self.column + self.width] = self.encode(values, self.width)


@dataclass
class Draft:
    """Bytes under construction, with the patches that lie in them."""

    data: bytearray = field(default_factory=bytearray)
    patches: list[Patch] = field(default_factory=list)

    def add(self, part: bytes | Draft) -> None:
        """Append bytes, or a draft with its patches."""
        if isinstance(part, Draft):
            self.patches += [replace(p, column=p.column + len(self.data)) for p in part.patches]
            part = bytes(part.data)
        self.data += part

    def hole(self, width: int, encode: Encode, first: int, step: int, modulus: int = 1 << 62) -> None:
        """Append a running number."""
        self.patches.append(Patch(len(self.data), width, encode, first, step, modulus))
        self.data += bytes(width)

    def number(self, tag: int, width: int, first: int, step: int) -> None:
        """Append a varint field that runs."""
        self.add(varint(tag << 3))
        self.hole(width, varints, first, step)

    def text(self, tag: int, prefix: bytes, digits: int, first: int, step: int, modulus: int = 1 << 62) -> None:
        """Append a text field that ends with a running decimal number."""
        self.add(varint(tag << 3 | 2) + varint(len(prefix) + digits) + prefix)
        self.hole(digits, decimals, first, step, modulus)

    def nest(self, tag: int, part: Draft) -> None:
        """Append a message field."""
        self.add(varint(tag << 3 | 2) + varint(len(part.data)))
        self.add(part)


def varint(value: int) -> bytes:
    """A protobuf varint in its shortest form."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(tag: int, value: int) -> bytes:
    """A protobuf field of wire type 0."""
    return varint(tag << 3) + varint(value)


def bytes_field(tag: int, value: bytes) -> bytes:
    """A protobuf field of wire type 2."""
    return varint(tag << 3 | 2) + varint(len(value)) + value
