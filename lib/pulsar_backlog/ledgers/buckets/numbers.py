"""Sizes and ranges as stores write them, in listings and headers: one reader for all, because some write nonsense."""

from __future__ import annotations

import re

from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.web import Answer

MAX_SIZE = 2**63 - 1
_DIGITS = re.compile(r"[0-9]{1,19}")
_RANGE = re.compile(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19})")


def size_of(value: object) -> int:
    """A size in bytes, written in digits or as a whole number of JSON.

    Raises:
        ValueError: it is none, or more than 2^63-1.
    """
    text = str(value) if type(value) is int else value  # true is an int too
    if isinstance(text, str) and _DIGITS.fullmatch(text.strip(" \t\r\n")) and int(text) <= MAX_SIZE:
        return int(text)
    raise ValueError(f"a size that is no whole number from 0 to 2^63-1: {repr(value)[:60]}")


def head_size(answer: Answer) -> int:
    """Bytes of the object that an answer without its body is about.

    Raises:
        StoreError: it does not say.
    """
    try:
        return size_of(answer.headers.get("Content-Length"))
    except ValueError as error:
        raise StoreError("failed", f"an object of {error}") from error


def check_range(start: int, end: int, answer: Answer) -> None:
    """Look whether an answer has the bytes that were asked for, up to the object's end.

    Raises:
        StoreError: it has not; `beyond_end` where the object may end before the first.
    """
    match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if answer.status != 206 or match is None:
        raise StoreError("cut", f"HTTP {answer.status} without the range that was asked for")
    first, last, size = (int(number) for number in match.groups())
    if size <= start:
        raise StoreError("beyond_end", f"the object has {size} bytes")  # Azurite answers so
    if (first, last + 1) != (start, min(end, size)) or len(answer.content) != last + 1 - first:
        raise StoreError("cut", f"{len(answer.content)} bytes where {min(end, size) - start} were asked for")
