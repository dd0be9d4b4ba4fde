"""Hadoop's codecs: one section of a block, or the value of one record, back to what was compressed.

| Java class in `org.apache.hadoop.io.compress` | stored as |
|---|---|
| `DefaultCodec`, `DeflateCodec` | zlib, finished |
| `GzipCodec` | gzip |
| `BZip2Codec` | bzip2 |
| `ZStandardCodec` | Zstandard frames |
| `SnappyCodec`, `Lz4Codec` | pieces of `[ bytes i32 ]` and, until that many are there, `[ length i32 ][ raw block ]` |

Nothing here raises: what was decompressed before the fault is given out with it, because the entries in it carry their
own checksums. No length in the data is believed: memory is bounded by `limit`, and by `MAX_RAW_BYTES` besides where
there are raw blocks.

Source: https://github.com/apache/hadoop/blob/f25328373d6b64fee1bcb45231794899f59fa604/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/io/compress/BlockCompressorStream.java
and `BlockDecompressorStream.java`, `DefaultCodec.java`, `GzipCodec.java`, `BZip2Codec.java`, `ZStandardCodec.java`,
`SnappyCodec.java`, `Lz4Codec.java` beside it.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from zlib_ng import zlib_ng

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.arrays import Bytes
from pulsar_backlog.wire.codecs import decompress, decompressed_pieces

CUT_OFF = "it is cut off"
"""The fault of a stream that ends before its end: what came out is right."""

SALVAGE_BYTES = 4096
"""Compressed bytes given at once to a codec that met damage: the piece with the damage gives nothing."""

MAX_RAW_BYTES = 64 * 1024 * 1024
"""Most bytes that one raw block of Snappy or LZ4 may hold; Hadoop's writers give it 256 KiB."""

_PACKAGE = "org.apache.hadoop.io.compress."
_ZLIB_ERROR: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # its stub says that it is an instance
_ZLIB, _GZIP = 15, 31
"""Window bits that tell zlib which of the two it is."""


class Inflated(NamedTuple):
    """What came out.

    Attributes:
        data: the bytes; where there is a fault those before it.
        fault: what is wrong, or empty.
    """

    data: Bytes
    fault: str


def is_known(codec: str) -> bool:
    """Whether a codec class is read."""
    return codec in _CODECS


def is_checked(codec: str) -> bool:
    """Whether what a codec class writes carries a checksum: then it is whole where it decompresses without a fault."""
    return codec in _CHECKED


def inflate(codec: str, data: memoryview, limit: int) -> Inflated:
    """Decompress `data`, which is to hold `limit` bytes at most; bytes after its end are not looked at, as in Hadoop.

    Args:
        codec: Java class of the codec.
        data: a section or value.
        limit: the largest result that is wanted.

    Raises:
        KeyError: the codec is not known (a fault of the caller).
    """
    return _CODECS[codec](data, limit)


def _zlib(data: memoryview, limit: int, window_bits: int) -> Inflated:
    stream = zlib_ng.decompressobj(window_bits)
    try:
        inflated = stream.decompress(data, max(limit, 1))
        more = b"" if stream.eof else stream.decompress(stream.unconsumed_tail, 1)
    except _ZLIB_ERROR as error:
        salvaged = _salvaged(zlib_ng.decompressobj(window_bits), data, limit, _ZLIB_ERROR)
        return Inflated(salvaged, str(error))
    return Inflated(_array(inflated[:limit]), _end_of(stream, len(inflated) + len(more) > limit, limit))


def _bzip2(data: memoryview, limit: int) -> Inflated:
    stream = bz2.BZ2Decompressor()
    try:
        inflated = stream.decompress(data, max(limit, 1))
        more = b"" if stream.eof else stream.decompress(b"", 1)
    except (OSError, ValueError) as error:
        return Inflated(_salvaged(bz2.BZ2Decompressor(), data, limit, (OSError, ValueError)), str(error))
    return Inflated(_array(inflated[:limit]), _end_of(stream, len(inflated) + len(more) > limit, limit))


def _end_of(stream: Any, too_large: bool, limit: int) -> str:
    """What is wrong with the end of a stream that decompressed."""
    if too_large:
        return f"more than the {limit} bytes it may hold"
    return "" if stream.eof else CUT_OFF


def _salvaged(stream: Any, data: memoryview, limit: int, errors: Any) -> Bytes:
    """What comes out before the error."""
    parts, size = [], 0
    try:
        for start in range(0, len(data), SALVAGE_BYTES):
            if size >= limit:
                break
            parts.append(stream.decompress(data[start : start + SALVAGE_BYTES], limit - size))
            size += len(parts[-1])
    except errors:
        pass
    return _array(b"".join(parts))


def _zstd(data: memoryview, limit: int) -> Inflated:
    parts, size = [], 0
    try:
        for piece in decompressed_pieces("ZSTD", [data], 0, limit):
            parts.append(bytes(piece[: limit - size]))
            size += len(piece)
            if size > limit:
                return Inflated(_array(b"".join(parts)), f"more than the {limit} bytes it may hold")
    except DecodeError as error:
        return Inflated(_array(b"".join(parts)), error.found)
    return Inflated(_array(b"".join(parts)), "")


def _pieces(data: memoryview, limit: int, raw: str) -> Inflated:
    parts: list[bytes] = []
    fault = ""
    try:
        parts.extend(_raw_blocks(data, limit, raw))
    except DecodeError as error:
        fault = error.found
    return Inflated(_array(b"".join(parts)), fault)


def _raw_blocks(data: memoryview, limit: int, raw: str) -> Iterator[bytes]:
    at, produced = 0, 0
    while at < len(data):
        stated, at = _length(data, at), at + 4
        while stated:
            length, at = _length(data, at), at + 4
            if length > len(data) - at:
                raise _damaged(CUT_OFF)
            block = decompress(raw, data[at : at + length], stated, min(stated, MAX_RAW_BYTES))
            if not block:
                raise _damaged("an empty block before its end")
            yield block[: limit - produced]
            at, stated, produced = at + length, stated - len(block), produced + len(block)
            if produced > limit:
                raise _damaged(f"more than the {limit} bytes it may hold")


def _length(data: memoryview, at: int) -> int:
    length = int.from_bytes(data[at : at + 4], "big", signed=True)
    if at + 4 > len(data) or length < 0:
        raise _damaged(CUT_OFF if at + 4 > len(data) else f"a length of {length}")
    return length


def _damaged(found: str) -> DecodeError:
    return DecodeError("section_damaged", offset=0, field="section", expected="a whole section", found=found)


def _array(data: bytes) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)


_CHECKED = frozenset(f"{_PACKAGE}{name}" for name in ("DefaultCodec", "DeflateCodec", "GzipCodec", "BZip2Codec"))
_CODECS: dict[str, Callable[[memoryview, int], Inflated]] = {
    f"{_PACKAGE}DefaultCodec": lambda data, limit: _zlib(data, limit, _ZLIB),
    f"{_PACKAGE}DeflateCodec": lambda data, limit: _zlib(data, limit, _ZLIB),
    f"{_PACKAGE}GzipCodec": lambda data, limit: _zlib(data, limit, _GZIP),
    f"{_PACKAGE}BZip2Codec": _bzip2,
    f"{_PACKAGE}ZStandardCodec": _zstd,
    f"{_PACKAGE}SnappyCodec": lambda data, limit: _pieces(data, limit, "SNAPPY"),
    f"{_PACKAGE}Lz4Codec": lambda data, limit: _pieces(data, limit, "LZ4"),
}
