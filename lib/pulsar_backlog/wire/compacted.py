"""One entry of a compacted ledger: where a message stands in its topic, and its entry.

    [ id size i32 ][ MessageIdData ][ n i32 ][ entry, n bytes ]

Numbers are big-endian. The id is the original position; ids ascend with gaps. The entry is the stored one, with its
broker metadata; of a batch those members that were dropped are `compacted_out`, and the checksum is made anew. The
ledger is an ordinary one of BookKeeper, never offloaded: the cursor `__compaction` names it in its property
`CompactedTopicLedger`.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/client/impl/RawMessageImpl.java
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.wire.message_id import decode_message_id

CODE_BAD_ID = "compacted_bad_id"
CODE_BAD_LENGTH = "compacted_bad_length"

_I32 = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class CompactedEntry:
    """A message of a compacted topic: its position in the log, its entry, and where in the record that begins."""

    ledger_id: int
    entry_id: int
    entry: bytes
    entry_offset: int


def decode_compacted(data: bytes) -> CompactedEntry:
    """Read one entry of a compacted ledger.

    Raises:
        DecodeError: `compacted_bad_id` or `compacted_bad_length`, with the offset from the entry's start.
    """
    id_size = _length(data, 0, "id_size")
    raw = data[4 : 4 + id_size]
    try:
        message_id = decode_message_id(raw)
    except ValueError as error:
        raise DecodeError(
            CODE_BAD_ID, offset=4, field="id", expected="a message id", found=str(error), context=raw[:CONTEXT_BYTES]
        ) from error
    at = 4 + id_size
    size = _length(data, at, "entry_size")
    if at + 4 + size != len(data):
        raise _bad_length(data, at, "entry_size", str(len(data) - at - 4), size)
    return CompactedEntry(message_id.ledger_id, message_id.entry_id, data[at + 4 :], at + 4)


def _length(data: bytes, at: int, field: str) -> int:
    remaining = len(data) - at - 4
    size = _I32.unpack_from(data, at)[0] if remaining >= 0 else -1
    if not 0 <= size <= remaining:
        raise _bad_length(data, at, field, f"0 to {max(remaining, 0)}", size)
    return int(size)


def _bad_length(data: bytes, at: int, field: str, expected: str, found: int) -> DecodeError:
    context = data[at : at + CONTEXT_BYTES]
    return DecodeError(CODE_BAD_LENGTH, offset=at, field=field, expected=expected, found=str(found), context=context)
