"""Files that are there as a whole or not at all, and to stay."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place beside `path` to write to; what was written replaces `path` when the block ends without an exception."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until what was written to a file, or named in a folder, is on the disk, so that no loss of power takes it.

    Raises:
        OSError: the disk did not take it.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that has no such promise to give
            raise
    finally:
        os.close(descriptor)


def sync_soon(path: Path) -> None:
    """Let the system begin to write a file to the disk, where it takes such advice (macOS takes none)."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            # What is not written yet begins to be, and stays in memory.
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
