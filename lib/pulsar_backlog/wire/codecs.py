"""Decompress a payload without trusting a single length in it; `slices` does so with one that comes in slices.

    name    stored as                                     length before compression
    NONE    the bytes                                     that of the bytes
    LZ4     one raw block, no frame, no size before it    not stored
    ZLIB    RFC 1950 header and deflate; see below        not stored
    ZSTD    frames, one after another                     may be stored, is not relied on
    SNAPPY  one raw block: varint length, elements        stored, and the block is void if it is wrong

`uncompressed_size` of the metadata is a claim, and real clients differ in what they do where it is wrong.
Here the payload is decoded for what it holds, and the lengths are compared afterwards.

Java never finishes a ZLIB stream: it ends on a sync flush (00 00 FF FF) without last block and Adler-32; C++
and Go write whole streams. So a stream may lack its end, but must reach a flush or the claimed size; an
Adler-32 that is there must agree. What follows a finished stream is left alone, as clients do.
An empty payload is stored as LZ4 00, SNAPPY 00, ZLIB nothing, ZSTD a frame of 12 bytes; whatever the codec, nothing
stored where nothing is claimed is empty. Clients call no codec where 0 bytes are claimed and deliver an empty message,
which says nothing of what is stored: it is decoded here.

Source: apache/pulsar pulsar-common/src/main/java/org/apache/pulsar/common/compression/CompressionCodec*.java
at 492eb456; stored forms as Java 4.0.8, C++ (Python 3.13.0) and Go 0.19.0 clients wrote them.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import cramjam
import numpy as np

from pulsar_backlog.errors import DecodeError

if TYPE_CHECKING:
    import pyarrow as pa

BytesLike: TypeAlias = bytes | bytearray | memoryview

PIECE_BYTES = 1 << 20
"""Output of a streaming codec that is held at once."""

INPUT_BYTES = 1 << 16
"""Input that zlib gets at once: it copies what it has not used each time its output is full."""

SYNC_FLUSH = b"\x00\x00\xff\xff"

MAX_LZ4_EXPANSION = 255
"""One more length byte of LZ4 adds at most 255 bytes of output."""

MAX_LZ4_BYTES = (1 << 31) - 1
"""LZ4 counts in 32 signed bits."""

MAX_SNAPPY_EXPANSION = 22
"""The widest Snappy element makes 64 bytes of 3."""

CODE_UNDECODABLE = "payload_undecodable"
CODE_TOO_LARGE = "payload_too_large"
CODE_UNKNOWN_CODEC = "payload_codec_unknown"


def stated_bytes(codec: str | None, uncompressed_size: int | None, actual_bytes: int) -> int:
    """What the metadata says a payload of `actual_bytes` holds before compression.

    A compressed one that states nothing is said to be empty. An uncompressed one need not state anything; what it does
    state no client looks at, but a lie makes it doubtful that these are the bytes that were sent.
    """
    if codec in (None, "NONE"):
        return uncompressed_size or actual_bytes
    return uncompressed_size or 0


def decompress(codec: str, data: BytesLike, uncompressed_size: int, limit_bytes: int) -> bytes:
    """The payload before compression, of the length it really has: compare that with `uncompressed_size`.

    Memory is bounded by twice `limit_bytes` (ZSTD: and a window of at most 128 MiB) besides `data`, whatever
    the lengths in the data say.

    Args:
        codec: `NONE`, `LZ4`, `ZLIB`, `ZSTD` or `SNAPPY`.
        data: the stored payload: joined if it was chunked, decrypted if it was encrypted.
        uncompressed_size: the metadata's claim, bytes; 0 where it makes none.
        limit_bytes: the largest result that is wanted.

    Raises:
        DecodeError: `payload_undecodable`, `payload_too_large`, `payload_codec_unknown`; none quotes payload.
    """
    pieces: list[BytesLike] = []
    length = 0
    for piece in decompressed_pieces(codec, [data], uncompressed_size, limit_bytes):
        length += len(piece)
        if length > limit_bytes:
            raise _too_large(codec, limit_bytes, f"more than {limit_bytes} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def decompressed_pieces(
    codec: str, chunks: Iterable[BytesLike], uncompressed_size: int, limit_bytes: int
) -> Iterator[BytesLike]:
    """The output piece by piece, none larger than `PIECE_BYTES` (streams) or `limit_bytes` (blocks).

    LZ4 and SNAPPY hold all slices.
    """
    if codec == "NONE":
        yield from chunks
    elif codec == "ZLIB":
        yield from _zlib_pieces(chunks, uncompressed_size)
    elif codec == "ZSTD":
        yield from _zstd_pieces(chunks, uncompressed_size)
    elif codec in {"LZ4", "SNAPPY"}:
        data = b"".join(chunks)
        if data or uncompressed_size:
            yield _lz4_block(data, limit_bytes) if codec == "LZ4" else _snappy_block(data, limit_bytes)
    else:
        raise DecodeError(
            CODE_UNKNOWN_CODEC,
            offset=0,
            field="metadata.compression",
            expected="a known codec",
            found=f"codec {codec}",
        )


def _zlib_pieces(chunks: Iterable[BytesLike], uncompressed_size: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj()
    consumed = produced = 0
    tail = b""
    for part in _cut(chunks, INPUT_BYTES):
        rest: BytesLike = part
        while rest:
            try:
                piece = inflater.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise _undecodable("ZLIB", str(error)) from error
            produced += len(piece)
            yield piece
            rest = inflater.unconsumed_tail
        if inflater.eof:
            return
        consumed += len(part)
        tail = (tail + bytes(part[-len(SYNC_FLUSH) :]))[-len(SYNC_FLUSH) :]
    if consumed and tail != SYNC_FLUSH and produced != uncompressed_size:
        raise _undecodable("ZLIB", f"the stream is cut off after {produced} bytes of output")


def _zstd_pieces(chunks: Iterable[BytesLike], uncompressed_size: int) -> Iterator[bytes]:
    source = _Source(chunks)
    import pyarrow as pa  # noqa: PLC0415 - one entry for a person seldom needs it, and it takes a while

    # cramjam 2.14 wants whole frames and room for all they hold; pyarrow goes piece by piece, frame by frame.
    with pa.CompressedInputStream(pa.PythonFile(source, mode="r"), "zstd") as stream:
        while piece := _read_zstd(stream, source):
            yield piece
    if uncompressed_size and not source.consumed:
        raise _undecodable("ZSTD", "no frame")


def _read_zstd(stream: pa.NativeFile, source: _Source) -> bytes:
    try:
        return bytes(stream.read(PIECE_BYTES))
    except OSError as error:
        if source.failed:
            raise
        raise _undecodable("ZSTD", str(error)) from error


def _lz4_block(data: bytes, limit_bytes: int) -> memoryview:
    largest = MAX_LZ4_EXPANSION * len(data)
    bound = min(largest, limit_bytes, MAX_LZ4_BYTES)
    try:
        # decompress_block pads with zeros up to the size it is told, so the true size is found out first, in
        # memory that costs nothing until it is written to. But decompress_block_into also takes a block with
        # its size before it, which no client reads: decompress_block refuses that.
        scratch = np.empty(bound, dtype=np.uint8).data
        length = cramjam.lz4.decompress_block_into(data, scratch, output_len=bound)
        del scratch
        return memoryview(cramjam.lz4.decompress_block(data, output_len=length))
    except cramjam.DecompressionError as error:
        if largest > bound:
            raise _too_large("LZ4", bound, f"more than {bound} bytes, or an invalid block") from error
        raise _undecodable("LZ4", str(error)) from error


def _snappy_block(data: bytes, limit_bytes: int) -> memoryview:
    try:
        length = cramjam.snappy.decompress_raw_len(data)
        if length > MAX_SNAPPY_EXPANSION * len(data):
            raise _undecodable("SNAPPY", f"{len(data)} bytes that say they hold {length}")
        if length > limit_bytes:
            raise _too_large("SNAPPY", limit_bytes, f"{length} bytes, over the limit of {limit_bytes}")
        output = np.empty(length, dtype=np.uint8).data
        return output[: cramjam.snappy.decompress_raw_into(data, output)]
    except cramjam.DecompressionError as error:
        raise _undecodable("SNAPPY", str(error)) from error


def _cut(chunks: Iterable[BytesLike], size: int) -> Iterator[memoryview]:
    for chunk in chunks:
        view = memoryview(chunk)
        for start in range(0, len(view), size):
            yield view[start : start + size]


class _Source(io.RawIOBase):
    """Slices as one file.

    Attributes:
        consumed: bytes given out.
        failed: whether the slices themselves could not be had, which is not the payload's fault.
    """

    def __init__(self, chunks: Iterable[BytesLike]) -> None:
        super().__init__()
        self._parts = _cut(chunks, PIECE_BYTES)
        self._rest = memoryview(b"")
        self.consumed = 0
        self.failed = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            if not self._rest:
                self._rest = next(self._parts)
        except StopIteration:
            return b""
        except BaseException:
            self.failed = True
            raise
        wanted = len(self._rest) if size < 0 else size
        part, self._rest = bytes(self._rest[:wanted]), self._rest[wanted:]
        self.consumed += len(part)
        return part


def _undecodable(codec: str, found: str) -> DecodeError:
    # Offset 0: no codec says where it stumbled.
    expected = f"a {codec} payload"
    return DecodeError(CODE_UNDECODABLE, offset=0, field="payload", expected=expected, found=found)


def _too_large(codec: str, limit_bytes: int, found: str) -> DecodeError:
    expected = f"at most {limit_bytes} bytes of {codec}"
    return DecodeError(CODE_TOO_LARGE, offset=0, field="payload", expected=expected, found=found)
