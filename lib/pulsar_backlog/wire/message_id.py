"""Message ids as applications save them: serialized, or as clients print them.

    MessageIdData   1 ledgerId u64   2 entryId u64   3 partition i32 = -1   4 batch_index i32 = -1   5 ack_set i64*
                    6 batch_size i32   7 first_chunk_message_id MessageIdData

    22:3                        ledger:entry                    bookie tools, this program
    22:3:-1                     ledger:entry:partition          Java, single message or chunk
    22:3:0                      the same                        Go, of a batch too; see `MessageId.partition`
    22:3:-1:0                   ledger:entry:partition:batch    Java, message of a batch
    22:3:0                      ledger:entry:batch              pulsar-admin topics peek-messages, of a batch
    (22,3,-1,0)                 ledger,entry,partition,batch    Python and C++
    22:0:-1;22:3:-1             first chunk;last chunk          Java and Go, chunked message since 2.10 and 0.10
    (22,0,-1,-1);(22,3,-1,-1)   the same                        Python and C++

`toByteArray`, `serialize` and `Serialize` of clients give the bytes of a MessageIdData, without a length before them.
Field 7 is there only on ids of chunked messages made by clients since 2.10 (PIP-107); older ones name the last chunk.
Source: apache/pulsar pulsar-common/src/main/proto/PulsarApi.proto and
pulsar-client/src/main/java/org/apache/pulsar/client/impl/{MessageIdImpl,BatchMessageIdImpl,ChunkMessageIdImpl}.java
at 492eb456; apache/pulsar-client-go pulsar/impl_message.go (String); ids that real readers printed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_backlog.errors import UsageError

_COLONS = re.compile(r"(\d{1,19}):(\d{1,19})(?::(-1|\d{1,9}))?(?::(-1|\d{1,9}))?", re.ASCII)
_COMMAS = re.compile(r"\(\s*(\d{1,19})\s*,\s*(\d{1,19})\s*(?:,\s*(-1|\d{1,9})\s*)?(?:,\s*(-1|\d{1,9})\s*)?\)", re.ASCII)
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_VARINT, _BYTES = 0, 2
_WIDTHS = {1: 8, 5: 4}
_MAX_DEPTH = 2


@dataclass(frozen=True, slots=True)
class MessageId:
    """One message's place.

    Attributes:
        ledger_id: ledger; of the last chunk of a chunked message.
        entry_id: entry.
        partition: partition of the topic; None when not partitioned or not said. Go counts what one consumer reads,
            so 0 is also a topic without partitions, and any partition that is read by its own name.
        batch_index: place in the batch; None when it is no batch or not said.
        first_chunk: (ledger id, entry id) of the first chunk; None on ids that do not say.
    """

    ledger_id: int
    entry_id: int
    partition: int | None = None
    batch_index: int | None = None
    first_chunk: tuple[int, int] | None = None


def parse_message_id(text: str) -> MessageId:
    """A message id in any of the forms above; serialized ones in base64 (plain or URL-safe) or hex.

    Raises:
        UsageError: it is none of them.
    """
    plain = text.strip()
    if ":" in plain or plain.startswith("("):
        return _printed(plain, text)
    for data in _serialized(plain):
        try:
            return decode_message_id(data)
        except ValueError:
            continue
    raise _not_an_id(text)


def decode_message_id(data: bytes) -> MessageId:
    """The id in the bytes of a MessageIdData.

    Raises:
        ValueError: the bytes are not one.
    """
    return _decoded(data, 0)


def _printed(plain: str, text: str) -> MessageId:
    first, separator, last = plain.rpartition(";")
    match, head = _place(last), _place(first)
    if match is None or (separator and head is None):
        raise _not_an_id(text)
    return MessageId(
        int(match[1]),
        int(match[2]),
        _or_none(int(match[3] or -1)),
        _or_none(int(match[4] or -1)),
        (int(head[1]), int(head[2])) if head else None,
    )


def _place(text: str) -> re.Match[str] | None:
    """Ledger, entry, partition and batch index of one place, however it is punctuated."""
    return _COMMAS.fullmatch(text.strip()) or _COLONS.fullmatch(text.strip())


def _serialized(plain: str) -> Iterator[bytes]:
    """What the text may stand for; hex first, because all hex is base64 too."""
    if _HEX.fullmatch(plain):
        yield bytes.fromhex(plain)
    try:
        padded = plain.rstrip("=") + "=" * (-len(plain.rstrip("=")) % 4)
        yield base64.b64decode(padded.translate(str.maketrans("-_", "+/")), validate=True)
    except binascii.Error:
        return


def _decoded(data: bytes, depth: int) -> MessageId:
    fields: dict[int, int] = {}
    first_chunk: tuple[int, int] | None = None
    for number, wire_type, value in _fields(data):
        if number == 7 and isinstance(value, bytes) and depth < _MAX_DEPTH:
            first = _decoded(value, depth + 1)
            first_chunk = (first.ledger_id, first.entry_id)
        elif wire_type == _VARINT and isinstance(value, int):
            fields[number] = value
    ledger_id, entry_id = fields.get(1), fields.get(2)
    if ledger_id is None or entry_id is None or max(ledger_id, entry_id) >= 1 << 63:
        raise ValueError("ledger or entry is not there, or out of range")
    return MessageId(ledger_id, entry_id, _or_none(_int32(fields.get(3))), _or_none(_int32(fields.get(4))), first_chunk)


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            yield number, wire_type, value
            continue
        length = _WIDTHS.get(wire_type)
        if wire_type == _BYTES:
            length, at = _varint(data, at)
        if number == 0 or length is None or at + length > len(data):
            raise ValueError("not a protobuf message")
        yield number, wire_type, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value < 1 << 64:
            return value, at
        if byte < 0x80:
            break
    raise ValueError("a number is cut off or too long")


def _int32(value: int | None) -> int:
    """A protobuf int32, which is written as 64 bits when negative; -1 when absent."""
    if value is None:
        return -1
    return value - (1 << 64) if value >= 1 << 63 else value


def _or_none(value: int) -> int | None:
    return None if value < 0 else value


def _not_an_id(text: str) -> UsageError:
    shown = text if len(text) <= 60 else f"{text[:60]}..."
    return UsageError(
        f"{shown!r} is not a message id: write LEDGER:ENTRY[:PARTITION[:BATCH]], what a client printed, or a "
        "serialized id in base64 or hex"
    )
