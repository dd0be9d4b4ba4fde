"""A stored payload back to what the application sent: decrypt, decompress, compare lengths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from pulsar_backlog.messages.outcomes import Unexportable, too_large
from pulsar_backlog.wire.codecs import decompress, stated_bytes
from pulsar_backlog.wire.encryption import KeyRing
from pulsar_backlog.wire.metadata import EncryptionKey
from pulsar_backlog.wire.slices import WHOLE_BYTES, opened_slices

BytesLike: TypeAlias = bytes | bytearray | memoryview

MAX_HELD_BYTES = 256 * 1024 * 1024
"""The largest batch that is opened: producers bound one before compression by the size of an entry, and larger entries
are not read either."""

SURPLUS_BYTES = 64 * 1024 * 1024
"""Output that is kept of a payload that claims to be smaller: what is more may be a bomb."""


def open_payload(
    stored: BytesLike,
    compression: str | None,
    uncompressed_size: int | None,
    encryption_keys: Sequence[EncryptionKey] | None,
    encryption_param: bytes | None,
    ring: KeyRing,
    max_message_bytes: int,
) -> BytesLike | Iterator[BytesLike]:
    """The payload of one entry (a bare message or a batch), of the length it really has; in pieces when it is large.

    Raises:
        DecodeError: it cannot be decrypted or decompressed; the pieces raise it too.
        Unexportable: `too_large`.
    """
    if encryption_keys:
        stored = ring.decrypt(stored, encryption_keys, encryption_param)
    if compression in (None, "NONE"):
        return stored
    claim = uncompressed_size or 0
    if claim > max_message_bytes:
        raise too_large(f"its metadata says that it holds {claim} bytes", max_message_bytes)
    if claim > WHOLE_BYTES:
        return opened_pieces(compression, (stored,), claim, len(stored))
    return decompress(compression or "", stored, claim, SURPLUS_BYTES)


def joined_pieces(pieces: Iterable[BytesLike], max_message_bytes: int) -> bytes:
    """A payload that has to be held whole.

    Raises:
        DecodeError: it cannot be decompressed.
        Unexportable: `too_large`.
    """
    joined = bytearray()
    for piece in pieces:
        if len(joined) + len(piece) > min(MAX_HELD_BYTES, max_message_bytes):
            raise Unexportable("too_large", f"a batch that opens to more than {len(joined)} bytes is not taken apart")
        joined += piece
    return bytes(joined)


def size_doubt(actual_bytes: int, uncompressed_size: int | None, compression: str | None) -> str | None:
    """What is wrong with the length of an opened payload, or None."""
    stated = stated_bytes(compression, uncompressed_size, actual_bytes)
    return None if actual_bytes == stated else f"it holds {actual_bytes} bytes, its metadata says {stated}"


def opened_pieces(
    compression: str | None, slices: Iterable[BytesLike], uncompressed_size: int | None, stored_bytes: int
) -> Iterator[BytesLike]:
    """The payload of a joined message piece by piece; each is good until the next is asked for. See `opened_slices`.

    Raises:
        DecodeError: it cannot be decompressed; `payload_too_large` for a Snappy block that needs to be held whole.
    """
    claim = uncompressed_size or 0
    return opened_slices(compression or "NONE", slices, claim, stored_bytes, max(claim, SURPLUS_BYTES))
