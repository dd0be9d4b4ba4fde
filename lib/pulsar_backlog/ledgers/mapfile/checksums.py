"""The checksum file that Hadoop's local file system keeps beside each file: `.data.crc` of `data`.

```
[ "crc" 00 ][ bytes for each sum i32 = 512 ][ CRC-32 u32 of each so many bytes, the last may be fewer ]
```

Source: https://github.com/apache/hadoop/blob/020ef7f5bb194e5979e1526b3451c926baec430b/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/fs/ChecksumFileSystem.java
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError, SourceError
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.wire.arrays import Bytes

MAGIC = b"crc\0"
HEADER_BYTES = 8
SUM_BYTES = 4
USUAL_CHUNK_BYTES = 512
MAX_CHUNK_BYTES = 1024 * 1024
"""Most bytes that one sum may cover; Hadoop's default is 512."""

_HEAD = struct.Struct(">4si")


def crc_file_bytes(data_bytes: int, chunk_bytes: int = USUAL_CHUNK_BYTES) -> int:
    """How long the checksum file of a file of `data_bytes` is."""
    return HEADER_BYTES + SUM_BYTES * -(-data_bytes // chunk_bytes)


def read_chunk_bytes(source: Source, path: str) -> int:
    """How many bytes each sum of a checksum file covers.

    Raises:
        DecodeError: it is no checksum file.
        SourceError: it cannot be read.
    """
    head = source.read(path, 0, HEADER_BYTES).tobytes()
    if len(head) == HEADER_BYTES:
        magic, chunk = _HEAD.unpack(head)
        if magic == MAGIC and 0 < chunk <= MAX_CHUNK_BYTES:
            return int(chunk)
    expected = f"{MAGIC.hex()} and 1 to {MAX_CHUNK_BYTES}"
    raise DecodeError("crc_file_bad", offset=0, field="crc.header", expected=expected, found=head.hex() or "nothing")


class Checksums:
    """Holds what is read of a file against its sums, from one place to another, each chunk once.

    A chunk belongs to the part in which it begins. Without a checksum file nothing is held against anything; after the
    first fault of that file itself it is not looked at any more.
    """

    def __init__(self, source: Source, path: str | None, start: int, end: int) -> None:
        """Check the part of the file from `start` to `end`; `path` is that of the checksum file, or None."""
        self._source, self._path = source, path
        self._next, self._end = start, end
        self._chunk = 0
        self._own_faults: list[Fault] = []

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """The range that must be read so that every chunk in it is whole."""
        if self._path is not None and not self._chunk:
            self._open(self._path)
        if self._path is None:
            return start, end
        return start - start % self._chunk, end + -end % self._chunk

    def faults(self, data: Bytes, base: int, is_end: bool) -> Iterator[Fault]:
        """What is wrong with the chunks of `data`, which begins at `base` of the file, a place from `widened`."""
        if self._path is not None:
            try:
                yield from self._compare(self._path, data, base, is_end)
            except SourceError as error:
                self._lost("crc_file_bad", 0, "crc.file", "a checksum file", error.reason)
        yield from self._own_faults
        self._own_faults = []

    def _open(self, path: str) -> None:
        try:
            self._chunk = read_chunk_bytes(self._source, path)
        except SourceError as error:
            self._lost("crc_file_bad", 0, "crc.file", "a checksum file", error.reason)
        except DecodeError as error:
            self._lost(error.code, error.offset, error.field, error.expected, error.found)

    def _compare(self, path: str, data: Bytes, base: int, is_end: bool) -> Iterator[Fault]:
        chunk, end = self._chunk, base + data.size
        first = -(-max(self._next, base) // chunk)
        stop = min(-(-self._end // chunk), -(-end // chunk) if is_end else end // chunk)
        if stop <= first:
            return
        self._next = stop * chunk
        sums = self._sums(path, first, stop)
        missing = first + len(sums)
        view = data.data[first * chunk - base : (missing * chunk) - base]
        ours = np.fromiter((zlib.crc32(view[at : at + chunk]) for at in range(0, len(view), chunk)), np.uint32)
        for number in np.flatnonzero(ours != sums[: len(ours)]).tolist():
            place, at = (first + number) * chunk, number * chunk
            context = bytes(view[at : at + CONTEXT_BYTES])
            expected, found = f"{sums[number]:08x}", f"{ours[number]:08x}"
            yield Fault("crc_mismatch", place, place, chunk, "crc.sum", expected, found, context)
        if missing < stop:
            at = HEADER_BYTES + SUM_BYTES * missing
            expected = f"a sum for each {chunk} bytes of the file"
            self._lost("crc_file_short", at, "crc.sums", expected, f"none from its byte {missing * chunk} on")

    def _lost(self, code: str, at: int, field: str, expected: str, found: str) -> None:
        self._own_faults.append(Fault(code, at, at, 0, field, expected, found, b""))
        self._path = None

    def _sums(self, path: str, first: int, stop: int) -> npt.NDArray[np.uint32]:
        raw = self._source.read(path, HEADER_BYTES + SUM_BYTES * first, HEADER_BYTES + SUM_BYTES * stop)
        return np.frombuffer(raw[: raw.size // SUM_BYTES * SUM_BYTES].tobytes(), dtype=">u4").astype(np.uint32)
