"""Which folders an address of bookies names: `bookies:///backup/bookie-*`, with `*`, `?` and `[…]` as in a shell."""

from __future__ import annotations

import re
from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.folder import Folder

SCHEME = "bookies://"
FORM = "bookies:///FOLDER"
"""How bookies are written; the folder may have patterns."""

_PATTERN = re.compile(r"[*?\[]")


def is_bookies(source: str) -> bool:
    """Whether a source is an address of bookies."""
    return source.startswith(SCHEME)


def folders_of(source: str) -> Folder:
    """The folders that match, below the last folder of the address that has no pattern.

    Raises:
        UsageError: it is no absolute path, or no folder matches.
    """
    path = source.removeprefix(SCHEME)
    if not path.startswith("/") or "\0" in path:
        raise UsageError(
            f"{source!r} names no folder: write {FORM}, an absolute path, such as {SCHEME}/backup/bookie-*"
        )
    parts = [part for part in path.split("/") if part]
    plain = next((at for at, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    root, pattern = Path("/", *parts[:plain]), "/".join(parts[plain:])
    if not pattern:
        folders = [""] if root.is_dir() else []
    else:
        folders = sorted(str(one.relative_to(root)) for one in root.glob(pattern) if one.is_dir())
    if not folders:
        raise UsageError(f"{source!r}: no folder matches: name the folders of bookies, with their `current` below them")
    return Folder(root, tuple(folders))
