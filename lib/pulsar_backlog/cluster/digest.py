"""A digest of a folder, to see that nothing in it changed; and when the newest of its files was written."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from pulsar_backlog.cluster.folder_files import visible_files


@dataclass(frozen=True)
class FolderState:
    """A folder as it was found.

    Attributes:
        digest: of names, sizes and modification times of all its files; None without a folder.
        newest_time: when the newest was written, in seconds since 1970; None without files.
    """

    digest: str | None = None
    newest_time: float | None = None


def folder_digest(folder: str | None) -> str | None:
    """Digest of names, sizes and modification times of all files under `folder`; None without a folder."""
    return folder_state(folder).digest


def folder_state(folder: str | None) -> FolderState:
    """A folder as it is now.

    Hidden files are none of it: nobody reads them, and a snapshot's lock changes while nothing else does.
    """
    if folder is None:
        return FolderState()
    digest, newest = hashlib.sha256(), None
    for path in visible_files(Path(folder)):
        try:
            state = os.stat(f"{folder}/{path}")  # noqa: PTH116 - a hundred thousand times, and a Path costs more than it
        except OSError:  # a link to nothing
            continue
        if stat.S_ISREG(state.st_mode):
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode(errors="replace"))
            newest = state.st_mtime if newest is None or state.st_mtime > newest else newest
    return FolderState(digest.hexdigest(), newest)
