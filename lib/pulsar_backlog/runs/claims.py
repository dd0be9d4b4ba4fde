"""Local folders that a command writes to: looked at before any work, and held by one command at a time.

The lock is the kernel's (flock), so that it goes with its process however that ends, `kill -9` too, and none is ever
stale; the file beside it only tells the next one who holds it. A bucket has no lock: there Delta refuses the later of
two commits, and the one who lost is told so.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import LOCK_NAME

MIN_FREE_BYTES = 16_000_000
"""Less room than this is not worth beginning with: the tables of the smallest audit take a quarter of it."""

_claims: set[Path] = set()
"""Folders that this process holds: a job runs inside the command that holds them for it."""

_MAX_INFO_BYTES = 4096


@contextmanager
def claimed(place: str | None, command: str, option: str = "--out") -> Iterator[None]:
    """Hold a folder for writing while the block runs, in this process and for all that it calls; it is made if need be.

    Args:
        place: the folder; an address of a bucket and None are nothing to hold.
        command: who holds it, for whoever comes second; without options, which may be private.
        option: what names the folder on the command line.

    Raises:
        UsageError: it cannot be written to, there is no room, or another process holds it.
    """
    folder = local_out(place) if place else None
    if folder is None or folder.resolve() in _claims:
        yield
        return
    descriptor = _opened(folder, option)
    try:
        check_room(folder, option)
        _check_parts(folder, option)
        _lock(descriptor, folder, option)
        _claims.add(folder.resolve())
        _tell(descriptor, command)
        yield
    finally:
        if folder.resolve() in _claims:
            _claims.remove(folder.resolve())
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def check_room(folder: Path, option: str) -> None:
    """Look whether there is room to begin with.

    Raises:
        UsageError: there is not.
    """
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        raise UsageError(
            f"the disk of {folder} has only {free / 1e6:,.0f} MB left, and {MIN_FREE_BYTES / 1e6:,.0f} MB is the "
            f"least that a run needs: make room, or choose another {option}"
        )


def _opened(folder: Path, option: str) -> int:
    """The lock's file, which is made: nothing shows better that the folder can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(_refusal(option, folder, folder, error)) from error


def _check_parts(folder: Path, option: str) -> None:
    """What is there already must be writable too: an audit by root leaves folders that its user cannot change."""
    of_tables = [folder / "tables" / name for name in TABLES]
    for part in (folder / "tables", *of_tables, *(table / "_delta_log" for table in of_tables)):
        if not _is_there(part) or (part.is_dir() and os.access(part, os.W_OK | os.X_OK)):
            continue
        kind = errno.ENOTDIR if not part.is_dir() else errno.EACCES
        if os.statvfs(part).f_flag & os.ST_RDONLY:
            kind = errno.EROFS
        raise UsageError(_refusal(option, folder, part, OSError(kind, os.strerror(kind))))


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def _refusal(option: str, folder: Path, part: Path, error: OSError) -> str:
    """Why `part` of `folder` cannot be written to, and what to do."""
    nearest = next(path for path in (part, *part.parents) if _is_there(path))
    remedy = f"choose another {option}"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        words = f"{nearest} is a file, but a folder is needed there"
    elif error.errno == errno.EROFS:
        words = f"{nearest} lies on a read-only file system"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        words, remedy = f"the disk is full ({os.strerror(error.errno)})", f"make room, or {remedy}"
    elif error.errno in (errno.EACCES, errno.EPERM):
        words = f"{nearest} belongs to {_owner(nearest)}, and this user may not write there"
        remedy = f"let its owner do it, or {remedy}"
    else:
        words = f"it cannot be written to ({error.strerror or type(error).__name__})"
    return f"{option} {folder}: {words}: {remedy}"


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, OSError):
        return "another user"


def _lock(descriptor: int, folder: Path, option: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(os.pread(descriptor, _MAX_INFO_BYTES, 0))
        raise UsageError(
            f"{folder} is being written to by another run{holder}: wait until it ends, or choose another {option}"
        ) from None
    except OSError as error:  # some network file systems
        words = f"{folder}: its file system has no locks ({error.strerror}): make sure that no other run writes there"
        sys.stderr.write(f"{words}\n")


def _holder(info: bytes) -> str:
    """Who holds a folder, in words; nothing where that cannot be read, as while it is being written."""
    try:
        holder = json.loads(info)
        return f": {holder['command']}, process {holder['pid']} on {holder['host']}, since {holder['since']}"
    except (ValueError, TypeError, KeyError):
        return ""


def _tell(descriptor: int, command: str) -> None:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    holder = {"command": command, "pid": os.getpid(), "host": socket.gethostname(), "since": since}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)
