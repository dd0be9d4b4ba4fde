"""What is wrong in the structure around entries, and where."""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_backlog.errors import DecodeError


@dataclass(frozen=True)
class Fault:
    """Something wrong with the structure around entries: a row of `rejects` with scope `structure`.

    Attributes:
        code: stable reject code.
        entry_offset: first byte of the structure in the object.
        offset: where it went wrong in the object.
        length: bytes of the structure.
        field: path of the field.
        expected: what the format asks for.
        found: what was there.
        first_bytes: up to 32 bytes from `offset` on.
        entry_id: id that the entry at `offset` would have by its place, or None when it is not about one entry.
        path: object that it is in, relative to the source; None where a unit has but one.
    """

    code: str
    entry_offset: int
    offset: int
    length: int
    field: str
    expected: str
    found: str
    first_bytes: bytes
    entry_id: int | None = None
    path: str | None = None


def fault_of(error: DecodeError, place: int, length: int) -> Fault:
    """An error in the structure of `length` bytes at `place` of its object."""
    at = place + error.offset
    return Fault(error.code, place, at, length, error.field, error.expected, error.found, error.context)
