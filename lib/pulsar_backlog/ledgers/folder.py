"""A local folder as a place of ledgers.

Not through obstore, whose listing ends at the first folder that cannot be read or links to itself, whose keys cannot
spell every file name, and whose local reads took three times as long as these (64 MiB from the page cache). Not mapped
into memory either: a file that shrinks under a mapping kills the process, here it is a short read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.stored_objects import Fetched, StoredObject, Upload
from pulsar_backlog.wire.arrays import Bytes


@dataclass(frozen=True)
class Folder:
    """A folder and all below it; links are followed, each folder once.

    Attributes:
        root: what paths are relative to.
        only: folders in it that are listed; all of it unless given.
    """

    root: Path
    only: tuple[str, ...] = ("",)

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return _text(str(self.root / path))

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Regular files in a fixed order. Pipes, sockets and devices are left out: reading one may never end."""
        seen: set[tuple[int, int]] = set()
        waiting = list(reversed(self.only))
        while waiting:
            folder = waiting.pop()
            try:
                here = (self.root / folder).stat()
                names = sorted(entry.name for entry in (self.root / folder).iterdir())
            except OSError as error:
                on_error(self._failure(folder, error))
                continue
            if (here.st_dev, here.st_ino) in seen:
                continue
            seen.add((here.st_dev, here.st_ino))
            below: list[str] = []
            for name in names:
                path = f"{folder}/{name}" if folder else name
                try:
                    status = (self.root / path).stat()
                except OSError as error:
                    on_error(self._failure(path, error))
                    continue
                if stat.S_ISDIR(status.st_mode):
                    below.append(path)
                elif stat.S_ISREG(status.st_mode):
                    written = status.st_mtime_ns
                    yield StoredObject(_text(path), status.st_size, f"mtime-{written}", written // 1_000_000)
            waiting += reversed(below)

    def unfinished(self) -> Iterator[Upload]:
        """None: what was written to a folder is a file."""
        return iter(())

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of a file, fewer where it ends before."""
        try:
            with self._file(path).open("rb", buffering=0) as file:
                size = max(0, min(end, os.fstat(file.fileno()).st_size) - start)
                buffer = np.empty(size, dtype=np.uint8)
                filled = 0
                while filled < size:  # one call gives 2 GiB at most, and may be interrupted
                    if not (got := os.preadv(file.fileno(), [buffer.data[filled:]], start + filled)):
                        break
                    filled += got
                return buffer[:filled]
        except OSError as error:
            raise self._failure(path, error) from error

    def ahead(self, path: str, start: int, end: int) -> AbstractContextManager[_File]:
        """A stretch of a file; the system reads ahead by itself."""
        del start, end
        return nullcontext(_File(self, path))

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole file; a folder keeps no user metadata."""
        data = self.read(path, 0, max_bytes + 1).tobytes()
        if len(data) > max_bytes:
            raise SourceError(self.uri(path), "failed", f"more than the {max_bytes} bytes it may have")
        return Fetched(data, {})

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """Nothing: a folder keeps no user metadata."""
        del path
        return {}

    def _file(self, path: str) -> Path:
        """The file of a path, which must lie under the root whatever it says."""
        if path.startswith("/") or ".." in PurePosixPath(path).parts or "\0" in path:
            raise SourceError(self.uri(path), "failed", "it names a place outside the source")
        return self.root / path

    def _failure(self, path: str, error: OSError) -> SourceError:
        if isinstance(error, PermissionError):
            return SourceError(self.uri(path), "permission_denied", "this user has no permission to read it")
        if isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
            return SourceError(self.uri(path), "not_found", "there is no such file, or it is a link to nothing")
        return SourceError(self.uri(path), "failed", error.strerror or type(error).__name__)


@dataclass(frozen=True)
class _File:
    """One file of a folder."""

    folder: Folder
    path: str

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of the file, fewer where it ends before."""
        return self.folder.read(self.path, start, end)


def _text(path: str) -> str:
    """A path that any table can hold; bytes of a name that are not UTF-8 become replacement characters."""
    return os.fsencode(path).decode("utf-8", "replace")
