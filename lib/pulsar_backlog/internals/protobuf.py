"""Protobuf messages of internal ledgers: parsed, and asked whether the bytes are exactly such a message."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from pulsar_backlog.errors import DecodeError

UNDECODABLE = "internal_undecodable"
MAX_TEXT = 4096
"""Characters of a name or text that a row keeps; names of topics are shorter."""

_M = TypeVar("_M", bound=Message)


def parsed(kind: type[_M], data: bytes, name: str) -> _M:
    """The message in `data`.

    Raises:
        DecodeError: `internal_undecodable`.
    """
    message = kind()
    try:
        message.ParseFromString(data)
    except ProtobufError as error:
        raise undecodable(f"a {name}", "bytes that are not one", data) from error
    return message


def is_exact(message: Message) -> bool:
    """Whether no field of it, or of a message in it, is unknown or of another wire type."""
    if len(UnknownFieldSet(message)):
        return False
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for one in value if field.is_repeated else (value,):
            if not is_exact(one):
                return False
    return True


def text_of(data: bytes) -> str:
    """Bytes of a text field as a table keeps it: of bounded length, U+FFFD for what is not UTF-8."""
    return data.decode("utf-8", "replace")[:MAX_TEXT]


def undecodable(expected: str, actual: str, context: bytes = b"", field: str = "entry", offset: int = 0) -> DecodeError:
    """The error of an entry that is not what the kind of its ledger says."""
    return DecodeError(UNDECODABLE, offset=offset, field=field, expected=expected, found=actual, context=context)
