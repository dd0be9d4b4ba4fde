"""A local folder as a place of ledgers.

Listed here rather than by obstore, whose listing ends at the first folder that cannot be read or links to itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from obstore.store import LocalStore

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.values import StoredObject


@dataclass(frozen=True)
class Folder:
    """A folder and all below it; links are followed, each folder once."""

    root: Path

    @cached_property
    def store(self) -> Any:
        """The obstore store over the folder."""
        return LocalStore(self.root)

    def key(self, path: str) -> str:
        """Key of a path in the store; the store refuses `..`."""
        return path

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Regular files in a fixed order. Pipes, sockets and devices are left out: reading one may never end."""
        seen: set[tuple[int, int]] = set()
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                here = (self.root / folder).stat()
                names = sorted(
                    (entry.name for entry in (self.root / folder).iterdir()),
                )
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
                    yield StoredObject(_text(path), status.st_size, f"mtime-{status.st_mtime_ns}")
            waiting += reversed(below)

    def _failure(self, path: str, error: OSError) -> SourceError:
        uri = _text(str(self.root / path))
        if isinstance(error, PermissionError):
            return SourceError(uri, "permission_denied", "it may not be read by this user")
        if isinstance(error, FileNotFoundError):
            return SourceError(uri, "not_found", "it is a link to nothing, or was just removed")
        return SourceError(uri, "failed", error.strerror or type(error).__name__)


def _text(path: str) -> str:
    """A path that any table can hold; bytes of a name that are not UTF-8 become replacement characters."""
    return os.fsencode(path).decode("utf-8", "replace")
