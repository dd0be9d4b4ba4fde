"""Compression around cursor state: the envelope of the metadata store, and the prefix of PIP-381.

    metadata store   47 78, header length int32, header {1 compressionType, 2 uncompressedSize}, compressed body
    cursor ledger    uncompressed size int32, compressed body; NONE has the size as well (PIP-381)

All big-endian. A plain value begins 08 (cursor) or 0A, 12, 1A (ledgers), so the magic cannot be one. The ledger's
custom metadata `pulsar/cursor-compressionType` names the codec of a PIP-381 state; where it is not known bytes tell.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/MetaStoreImpl.java
and https://github.com/apache/pulsar/pull/22799
"""

from __future__ import annotations

import struct

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb

MAGIC = b"\x47\x78"
CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
"""By the number on the wire."""

MAX_STATE_BYTES = 1 << 30
"""No state is larger decompressed: a broker holds it in one Java array."""

BAD_ENVELOPE = "cursor_envelope_bad"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def opened(value: bytes) -> tuple[bytes, str | None]:
    """The message in a value of the metadata store, and the codec it was in; None when it was not compressed.

    Raises:
        DecodeError: `cursor_envelope_bad`, `payload_undecodable`, `payload_too_large`.
    """
    if not value.startswith(MAGIC):
        return value, None
    if len(value) < 6:
        raise _bad(2, "a header length", f"{len(value)} bytes in all")
    (length,) = struct.unpack_from(">i", value, 2)
    if not 0 <= length <= len(value) - 6:
        raise _bad(2, f"at most {len(value) - 6}", str(length))
    header = pb.CompressionHeader()
    try:
        header.ParseFromString(value[6 : 6 + length])
    except ProtobufError as error:
        raise _bad(6, "a compression header", "bytes that are not one") from error
    if not 0 <= header.compression_type < len(CODECS) or header.uncompressed_size < 0:
        raise _bad(6, "a known codec and a size", f"codec {header.compression_type}, size {header.uncompressed_size}")
    codec = CODECS[header.compression_type]
    return _exactly(codec, value[6 + length :], header.uncompressed_size), codec


def unprefixed(data: bytes, codec: str) -> bytes:
    """The message behind a PIP-381 size prefix.

    Raises:
        DecodeError: `cursor_envelope_bad`, `payload_undecodable`, `payload_too_large`.
    """
    if len(data) < 4:
        raise _bad(0, "a size of 4 bytes", f"{len(data)} bytes")
    (size,) = struct.unpack_from(">i", data)
    if size < 0:
        raise _bad(0, "a size", str(size))
    return _exactly(codec, data[4:], size)


def possible_codecs(data: bytes) -> tuple[str | None, ...]:
    """Codecs that a cursor-ledger state may be in whose ledger does not say, likeliest first; None is a bare one.

    A bare one begins with its field 1; a size that begins so would be 128 MiB or more. An LZ4 block may begin as any of
    the others, so it comes last.
    """
    if data[:1] == b"\x08" or len(data) < 5:
        return (None,)
    (size,) = struct.unpack_from(">I", data)
    body = data[4:]
    signs = {
        "ZSTD": body.startswith(_ZSTD_MAGIC),
        "ZLIB": body[0] == 0x78,
        "NONE": body[0] == 0x08 and len(body) == size,
        "SNAPPY": _varint_is(body, size),
        "LZ4": True,
    }
    return tuple(codec for codec, likely in signs.items() if likely)


def _exactly(codec: str, data: bytes, size: int) -> bytes:
    if size > MAX_STATE_BYTES:
        raise _bad(0, f"a size up to {MAX_STATE_BYTES}", str(size))
    body = decompress(codec, data, size, max(size, 1))
    if len(body) != size:
        raise _bad(0, f"{size} bytes decompressed", str(len(body)))
    return body


def _varint_is(data: bytes, value: int) -> bool:
    """Whether the bytes begin with this number as a varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return data.startswith(bytes([*out, value]))


def _bad(offset: int, expected: str, found: str) -> DecodeError:
    return DecodeError(BAD_ENVELOPE, offset=offset, field="envelope", expected=expected, found=found)
