"""Reading a SequenceFile: its header, and the part that is in memory, held against the checksum file as it comes."""

from __future__ import annotations

import numpy as np

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.mapfile.checksums import Checksums
from pulsar_backlog.ledgers.mapfile.codecs import is_known
from pulsar_backlog.ledgers.mapfile.header import MAX_HEADER_BYTES, USUAL_HEADER_BYTES, Header, decode_header
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.wire.arrays import Bytes


class Window:
    """A stretch of one part of a file.

    Attributes:
        path: of the file.
        base: place of `buffer[0]` in the file.
        buffer: its bytes; not to be written to.
        end: where the part ends, or the file where that is before.
        faults: what the checksums say of the bytes that were in memory so far.
    """

    def __init__(self, source: Source, path: str, start: int, end: int, size: int, checksums: Checksums) -> None:
        """Look at `path` from `start` to `end`, about `size` bytes at once."""
        self._source, self._size = source, size
        self.path = path
        self._checksums = checksums
        self.base, self.end = start, end
        self.buffer: Bytes = np.empty(0, dtype=np.uint8)
        self.faults: list[Fault] = []

    def has(self, position: int, needed: int) -> bool:
        """Whether the bytes from `position` on are in memory."""
        return self.base <= position and position + needed <= self.base + self.buffer.size

    def load(self, position: int, needed: int) -> bool:
        """Bring `needed` bytes from `position` on into memory, as far as the part has them; whether it has them all.

        Positions only ascend, but for what lies in memory. The buffer is another one afterwards.

        Raises:
            SourceError: the file cannot be read.
        """
        wanted = min(needed, max(self.end - position, 0))
        if not self.has(position, wanted):
            end = min(self.end, position + max(self._size, wanted))
            start, stop = self._checksums.widened(position, end)
            self.buffer = np.empty(0, dtype=np.uint8)  # never two windows in memory
            buffer = self._source.read(self.path, start, stop)
            is_end = start + buffer.size < stop
            self.faults += self._checksums.faults(buffer, start, is_end)
            self.base, self.buffer = position, buffer[position - start : end - start]
            if is_end:
                self.end = min(self.end, max(start + buffer.size, position))
        return self.has(position, needed)

    def raw(self, position: int, size: int) -> bytes:
        """Bytes from `position` on, as far as they are in memory."""
        start = max(0, position - self.base)
        return self.buffer[start : start + size].tobytes()

    def view(self, position: int, size: int) -> memoryview:
        """The same without a copy; all of them must be in memory."""
        start = position - self.base
        return self.buffer.data[start : start + size]

    def find(self, needle: bytes, position: int, limit: int | None = None) -> int:
        """Where `needle` stands next from `position` on, or `limit` where it does not before that.

        Without a limit that is the end of the part.
        """
        while position < min(limit or self.end, self.end):
            self.load(position, len(needle))
            at = self.buffer[position - self.base :].tobytes().find(needle)
            if at >= 0:
                return min(position + at, limit or self.end)
            following = self.base + self.buffer.size
            position = max(following - len(needle) + 1, position + 1)
        return limit or self.end


def read_header(source: Source, path: str, value_class: str) -> Header:
    """The header of a SequenceFile, by a codec that is read here.

    Raises:
        DecodeError: it is none that is read here.
        SourceError: the file cannot be read.
    """
    data = source.read(path, 0, USUAL_HEADER_BYTES).tobytes()
    try:
        header = decode_header(data, value_class)
    except DecodeError as error:
        if error.code != "sequence_too_short" or len(data) < USUAL_HEADER_BYTES:
            raise
        header = decode_header(source.read(path, 0, MAX_HEADER_BYTES).tobytes(), value_class)
    if header.codec is not None and not is_known(header.codec):
        expected = "a codec that is read here"
        raise DecodeError(
            "sequence_bad_codec", offset=0, field="header.codec", expected=expected, found=ascii(header.codec[:200])
        )
    return header
