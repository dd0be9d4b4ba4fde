"""A local folder as a place of ledgers.

Read by positions, and not mapped into memory: a file that shrinks under a mapping kills the process, here it is a short
read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from io import FileIO
from itertools import islice
from pathlib import Path, PurePosixPath

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.file_stretch import FileStretch
from pulsar_backlog.ledgers.part import Part
from pulsar_backlog.ledgers.read_ahead import ReadAhead
from pulsar_backlog.ledgers.stored_objects import TIME_TAG, Fetched, StoredObject, Upload
from pulsar_backlog.ledgers.uncached import RANGE_BYTES, RANGES_AHEAD, is_uncached, read_uncached, reading_threads
from pulsar_backlog.wire.arrays import Bytes

SORTED_NAMES = 65_536
"""Names of a folder that are held and sorted together."""

_Paths = list[str]


@dataclass(frozen=True)
class Folder:
    """A folder and all below it; links are followed, each folder once.

    Attributes:
        root: what paths are relative to.
        only: folders in it that are listed; all of it unless given.
        past_page_cache: whether stretches are read past the page cache of the system, where they are not in it.
    """

    root: Path
    only: tuple[str, ...] = ("",)
    past_page_cache: bool = False

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return _text(str(self.root / path))

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Regular files. Pipes, sockets and devices are left out: reading one may never end.

        They come in a fixed order but in folders of more than `SORTED_NAMES`, whose names are not held all at once.
        """
        seen: set[tuple[int, int]] = set()
        waiting = list(reversed(self.only))
        while waiting:
            folder = waiting.pop()
            below: _Paths = []
            try:
                here = (self.root / folder).stat()
                if (here.st_dev, here.st_ino) in seen:
                    continue
                seen.add((here.st_dev, here.st_ino))
                for name in _names(self.root / folder):
                    path = f"{folder}/{name}" if folder else name
                    if (stored := self._listed(path, below, on_error)) is not None:
                        yield stored
            except OSError as error:
                on_error(self._failure(folder, error))
            waiting += reversed(below)

    def unfinished(self) -> Iterator[Upload]:
        """None: what was written to a folder is a file."""
        return iter(())

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of a file, fewer where it ends before."""
        with self._through_page_cache(path, end) as stretch:
            return stretch.read(start, end)

    def open_file(self, path: str) -> FileIO:
        """A file to read.

        Raises:
            OSError: it cannot be opened.
            SourceError: it names a place outside the source.
        """
        return self._file(path).open("rb", buffering=0)

    def _through_page_cache(self, path: str, end: int) -> FileStretch:
        return FileStretch(partial(self.open_file, path), partial(self._failure, path), end)

    def ahead(
        self, path: str, start: int, end: int, sparing_bytes: int = 0
    ) -> AbstractContextManager[FileStretch | ReadAhead]:
        """A stretch of a file, whose next parts are read while one is decoded, by the system or past its page cache."""
        # Its middle is looked at: whoever listed the ledgers has read where its blocks begin.
        if self.past_page_cache and not sparing_bytes and self._is_uncached(path, (start + end) // 2):
            read = partial(self._read_uncached, path)
            return ReadAhead(read, start, end, RANGE_BYTES, RANGES_AHEAD, reading_threads())
        return self._through_page_cache(path, end)

    def _is_uncached(self, path: str, place: int) -> bool:
        with suppress(SourceError):  # which is told to who reads it
            return is_uncached(self._file(path), place)
        return False

    def _read_uncached(self, path: str, start: int, end: int) -> Part:
        try:
            return read_uncached(self._file(path), start, end)
        except OSError as error:
            if error.errno == errno.EINVAL:  # its disk has no such reads
                return Part(self.read(path, start, end))
            raise self._failure(path, error) from error

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

    def _listed(self, path: str, below: _Paths, on_error: Callable[[SourceError], None]) -> StoredObject | None:
        """A regular file as listed; a folder is kept for later in `below`."""
        try:
            status = os.stat(f"{self.root}/{path}")  # noqa: PTH116 - a million times, and a Path costs as much as it
        except OSError as error:
            on_error(self._failure(path, error))
            return None
        if stat.S_ISDIR(status.st_mode):
            below.append(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        written = status.st_mtime_ns
        return StoredObject(_text(path), status.st_size, f"{TIME_TAG}{written}", written // 1_000_000)

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


def _names(folder: Path) -> Iterator[str]:
    """What lies in a folder, as many at a time as are sorted."""
    with os.scandir(folder) as entries:
        names = (entry.name for entry in entries)
        while some := sorted(islice(names, SORTED_NAMES)):
            yield from some


def _text(path: str) -> str:
    """A path that any table can hold; bytes of a name that are not UTF-8 become replacement characters."""
    return os.fsencode(path).decode("utf-8", "replace")
