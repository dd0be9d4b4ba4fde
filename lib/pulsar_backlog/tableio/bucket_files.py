"""Files of a table in a bucket, as pyarrow reads files: what it takes of a file system of fsspec's kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.tableio.bucket_readers import Readers


class BucketFiles:
    """Files by their names below a bucket's prefix.

    Args:
        bucket: where they lie.
        sizes: bytes of each, as the table's log has them.
        readers: who waits for the end of all reads. What is read holds these files, see there.
    """

    protocol = "pulsar-backlog"

    def __init__(self, bucket: Bucket, sizes: Mapping[str, int], readers: Readers) -> None:
        self._bucket = bucket
        self._sizes = sizes
        self._readers = readers
        readers.add(self)

    def isfile(self, path: str) -> bool:
        """Whether the log names it."""
        return path in self._sizes

    def info(self, path: str) -> dict[str, Any]:
        """What the log says of it.

        Raises:
            FileNotFoundError: nothing.
        """
        if path not in self._sizes:
            raise FileNotFoundError(path)
        return {"name": path, "size": self._sizes[path], "type": "file"}

    def open(self, path: str, mode: str = "rb") -> _File:
        """One of them, to be read."""
        return _File(self, path, self._sizes[path])

    def read(self, path: str, start: int, end: int) -> bytes:
        """Bytes of one of them.

        Raises:
            OSError: the connection for which they are read was closed.
            SourceError: they cannot be read.
        """
        if self._readers.ended:
            raise OSError("nobody reads this any more")
        return _Bytes(self, self._bucket.read(path, start, end))


class _Bytes(bytes):
    """Bytes that hold the files that they are of."""

    files: BucketFiles

    def __new__(cls, files: BucketFiles, data: Any) -> _Bytes:
        made = super().__new__(cls, data)
        made.files = files
        return made


class _File:
    def __init__(self, files: BucketFiles, path: str, size: int) -> None:
        self._files = files
        self._path = path
        self._size = size
        self._at = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        data = self._files.read(self._path, self._at, end) if end > self._at else b""
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + {0: 0, 1: self._at, 2: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
