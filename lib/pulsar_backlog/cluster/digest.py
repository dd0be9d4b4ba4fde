"""A digest of a folder, to see that nothing in it changed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from pulsar_backlog.cluster.folder_files import visible_files


def folder_digest(folder: str | None) -> str | None:
    """Digest of names, sizes and modification times of all files under `folder`; None without a folder.

    Hidden files are none of it: nobody reads them, and a snapshot's lock changes while nothing else does.
    """
    if folder is None:
        return None
    digest = hashlib.sha256()
    for path in visible_files(Path(folder)):
        try:
            state = os.stat(f"{folder}/{path}")  # noqa: PTH116 - a hundred thousand times, and a Path costs more than it
        except OSError:  # a link to nothing
            continue
        if stat.S_ISREG(state.st_mode):
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode(errors="replace"))
    return digest.hexdigest()
