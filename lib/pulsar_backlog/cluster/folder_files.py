"""The files of a folder of saved state, listed as strings: of large clusters there are a hundred thousand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def visible_files(folder: Path, unlisted: Callable[[OSError], object] | None = None) -> list[str]:
    """Paths below a folder of all that is no folder and has no hidden name, in the order of `Path`.

    Links to folders are not followed.

    Args:
        folder: where to look, with its subfolders.
        unlisted: gets the error of each subfolder that cannot be listed.
    """
    root = str(folder)
    paths = []
    for place, _, names in os.walk(root, onerror=unlisted):
        below = place[len(root) :].strip("/")
        paths += [f"{below}/{name}" if below else name for name in names if not name.startswith(".")]
    has_folders = any("/" in path for path in paths)
    return sorted(paths, key=(lambda path: path.split("/")) if has_folders else None)
