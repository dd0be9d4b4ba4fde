"""A digest of a folder, to see that nothing in it changed."""

from __future__ import annotations

import hashlib
from pathlib import Path


def folder_digest(folder: str | None) -> str | None:
    """Digest of names, sizes and modification times of all files under `folder`; None without a folder.

    Hidden files are none of it: nobody reads them, and a snapshot's lock changes while nothing else does.
    """
    if folder is None:
        return None
    digest = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            state = path.stat()
            digest.update(
                f"{path.relative_to(folder)}\0{state.st_size}\0{state.st_mtime_ns}\n".encode(errors="replace")
            )
    return digest.hexdigest()
