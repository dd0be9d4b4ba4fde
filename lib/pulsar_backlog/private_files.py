"""Files and folders that hold what people sent: only their owner may look into them.

A folder is closed before anything is put into it. That also covers what others write there by rules of their own:
Spark, Delta and Parquet, in other processes, whose files are as open as the system's umask leaves them. What we write
ourselves is closed besides, as it may be moved.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from pulsar_backlog.errors import UsageError


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner may enter, and close one that is there. Folders above it are made as usual.

    Raises:
        UsageError: it cannot be made, or is somebody else's.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{path}: {error.strerror}; it must be a folder of yours, to keep messages private") from None
    return path


def private_file(path: Path) -> BinaryIO:
    """A file to write to that only its owner may read; what was there is lost.

    Raises:
        OSError: it cannot be made.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.fchmod(number, 0o600)  # one that was there keeps its mode
    return os.fdopen(number, "wb")
