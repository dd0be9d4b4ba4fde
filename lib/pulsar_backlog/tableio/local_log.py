"""Delta's log of a table in a local folder: a commit gets its number by a hard link, which fails where it is taken."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq

from pulsar_backlog.errors import CommitConflictError
from pulsar_backlog.output.data_files import FolderPlace
from pulsar_backlog.tableio.delta_log import DeltaLog, ListedFile
from pulsar_backlog.tableio.delta_rs import open_folder
from pulsar_backlog.tableio.places import HINT, LOG_FOLDER
from pulsar_backlog.whole_files import sync

_SYNCED_AT_ONCE = 8
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


class LocalLog(DeltaLog):
    """The log of the table in one folder, as it was when this was made."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), open_folder(folder))
        self.folder = folder

    def place(self) -> FolderPlace:
        """Where files of new rows go, under names that nobody else uses."""
        return FolderPlace(self.folder, f"part-{uuid4()}-")

    def open_file(self, path: str) -> pq.ParquetFile:
        """One of its files."""
        return pq.ParquetFile(self.folder / path)

    def settle(self, names: Sequence[str]) -> None:
        """Wait until files are on the disk, then their names: in the table's folder, among all tables, in `--out`."""
        with ThreadPoolExecutor(_SYNCED_AT_ONCE) as threads:
            list(threads.map(sync, (self.folder / name for name in names)))
        for folder in (self.folder, *self.folder.parents[:2]):
            sync(folder)

    def mentions(self, text: str) -> bool:
        """Whether a commit since this was made holds a text, or may: what cannot be read may hold any."""
        commits = (self.folder / LOG_FOLDER).glob("*.json")
        try:
            newer = [path for path in commits if path.stem.isdecimal() and int(path.stem) > self.version]
            return any(_holds(path, text) for path in newer)
        except OSError:
            return True

    def remove(self, prefix: str, but: Iterable[str]) -> None:
        """Remove the table's files whose names begin so, but these."""
        stay = set(but)
        for path in self.folder.glob(f"{prefix}*"):
            if path.name not in stay:
                path.unlink()

    def _append(self, name: str, text: str) -> None:
        log = self.folder / LOG_FOLDER
        log.mkdir(parents=True, exist_ok=True)
        part = log / f".{uuid4()}.tmp"
        try:
            part.write_text(text, "utf-8")
            sync(part)
            _take_name(part, log / name)
        finally:
            part.unlink(missing_ok=True)
        sync(log)

    def checkpoint(self) -> None:
        """Write a checkpoint of the newest version; it stays when this returns. delta-rs waits for no disk."""
        made = open_folder(self.folder)
        if made is None:
            return
        made.create_checkpoint()
        log = self.folder / LOG_FOLDER
        for path in (*log.glob(f"{made.version():020}.checkpoint*.parquet"), log / HINT, log):
            sync(path)

    def listing(self, folder: str = "") -> dict[str, ListedFile]:
        """Files right below the table's folder, or one below it, by name."""
        try:
            with os.scandir(self.folder / folder) as entries:
                files = [(entry.name, entry.stat()) for entry in entries if entry.is_file(follow_symlinks=False)]
        except FileNotFoundError:
            return {}
        return {name: ListedFile(stat.st_size, stat.st_mtime_ns // 1_000_000) for name, stat in files}

    def delete(self, names: Iterable[str], folder: str = "") -> None:
        """Delete such files, which may be gone already."""
        for name in names:
            (self.folder / folder / name).unlink(missing_ok=True)

    @contextmanager
    def _as_listed(self, listed: Mapping[str, ListedFile]) -> Iterator[None]:
        yield


def _holds(path: Path, text: str) -> bool:
    with path.open(encoding="utf-8") as lines:
        return any(text in line for line in lines)


def _take_name(part: Path, name: Path) -> None:
    """Give a finished file its name, unless another has it."""
    try:
        os.link(part, name)
    except FileExistsError as error:
        raise CommitConflictError(f"{name} is there already") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links: `claimed` lets only one of our own commands write here.
        if name.exists():
            raise CommitConflictError(f"{name} is there already") from error
        part.rename(name)
