"""Files beside the tables: one door for what is written and read there, in a folder or in a bucket.

Reports, Data Docs, plans and the files of exports go through it. In a bucket an object is whole or not there, as a file
is that replaces another one. Credentials and endpoint are those that the environment has for a source.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pulsar_backlog.errors import SourceError, UsageError, raise_error
from pulsar_backlog.ledgers.buckets.addresses import is_output_bucket, output_bucket
from pulsar_backlog.private_files import private_file, private_folder
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.whole_files import replacing

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.buckets.bucket import Bucket

_MAX_READ_BYTES = 256 * 1024 * 1024
_PIECE_BYTES = 8 * 1024 * 1024


class Beside(Protocol):
    """What lies beside the tables of one place; names are relative to it, with `/` between their parts."""

    def uri(self, name: str) -> str:
        """Where it lies, for people."""

    def exists(self, name: str) -> bool:
        """Whether a file of that name is there."""

    def read(self, name: str) -> bytes:
        """A whole file.

        Raises:
            SourceError: it is not there, or cannot be read.
            OSError: the same in a folder.
        """

    def names(self, folder: str) -> list[str]:
        """Names of the files right below a folder; none where there is none.

        Raises:
            SourceError: it cannot be listed.
            OSError: the same in a folder.
        """

    def write(self, name: str, text: str, *, is_private: bool = False) -> None:
        """Replace a file by this text; nobody reads half of it, and in a folder only its owner a private one.

        Raises:
            SourceError: it cannot be written.
            OSError: the same in a folder.
        """

    def keep_only(self, folder: str, names: Collection[str]) -> None:
        """Remove the files right below a folder that are not among these.

        Raises:
            SourceError: one cannot be removed.
            OSError: the same in a folder.
        """

    def local(self, name: str, scratch: Path) -> Path:
        """A file on this machine: itself, or a copy at `scratch`. One that is not there has no copy either."""

    def folder(self, name: str, last: str) -> AbstractContextManager[Path]:
        """A folder on this machine to work in, with what lies under `name`.

        What it holds when the block ends without an exception lies there; the file `last` is put there last.
        """


def beside(out: str, endpoint: str | None = None) -> Beside:
    """The files of an output folder or bucket.

    Args:
        out: the folder, or the bucket's address.
        endpoint: of its service, where it is not the cloud's own or the environment's.

    Raises:
        UsageError: it is an address of another kind.
    """
    folder = local_out(out)
    if folder is not None:
        return _InFolder(folder)
    return _InBucket(output_bucket(out, endpoint))


def is_reached(out: str) -> bool:
    """Whether `beside` has an output address: a file system of the cluster's own it has not."""
    return local_out(out) is not None or is_output_bucket(out)


@dataclass(frozen=True)
class _InFolder:
    root: Path

    def uri(self, name: str) -> str:
        return str(self.root / name)

    def exists(self, name: str) -> bool:
        return (self.root / name).is_file()

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def names(self, folder: str) -> list[str]:
        try:
            return os.listdir(self.root / folder)  # noqa: PTH208 - names are all that is wanted
        except (FileNotFoundError, NotADirectoryError):
            return []

    def write(self, name: str, text: str, *, is_private: bool = False) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.root / name) as part, private_file(part) if is_private else part.open("wb") as file:
            file.write(text.encode())

    def keep_only(self, folder: str, names: Collection[str]) -> None:
        for path in (self.root / folder).glob("*"):
            if path.is_file() and path.name not in names:
                path.unlink()

    def local(self, name: str, scratch: Path) -> Path:
        return self.root / name

    @contextmanager
    def folder(self, name: str, last: str) -> Iterator[Path]:
        yield self.root / name


@dataclass(frozen=True)
class _InBucket:
    bucket: Bucket

    def uri(self, name: str) -> str:
        return self.bucket.uri(name)

    def exists(self, name: str) -> bool:
        try:
            self.bucket.user_metadata(name)
        except SourceError as error:
            if error.reason == "not_found":
                return False
            raise
        return True

    def read(self, name: str) -> bytes:
        return self.bucket.fetch(name, _MAX_READ_BYTES).data

    def write(self, name: str, text: str, *, is_private: bool = False) -> None:
        self.bucket.put(name, text.encode())

    def names(self, folder: str) -> list[str]:
        return [one.path for one in self._below(folder).list(raise_error) if "/" not in one.path]

    def keep_only(self, folder: str, names: Collection[str]) -> None:
        for path in self.names(folder):
            if path not in names:
                self._below(folder).remove(path)

    def local(self, name: str, scratch: Path) -> Path:
        try:
            _fetch(self.bucket, name, scratch)
        except SourceError as error:
            if error.reason != "not_found":
                raise
            scratch.unlink()
        return scratch

    @contextmanager
    def folder(self, name: str, last: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="pulsar-backlog-") as made:
            there = self._below(name)
            work = private_folder(Path(made) / "work")
            before = {one.path for one in there.list(raise_error)}
            for path in before:
                _fetch(there, path, _below(work, path))
            yield work
            after = {path.relative_to(work).as_posix(): path for path in work.rglob("*") if path.is_file()}
            for path in sorted(after, key=lambda path: (path == last, path)):
                there.put(path, after[path])
            for path in before - after.keys():
                there.remove(path)

    def _below(self, folder: str) -> Bucket:
        return replace(self.bucket, prefix=f"{self.bucket.prefix}{folder}/")


def copy_folder(place: str, endpoint: str | None, target: Path) -> None:
    """Copy what lies in a folder of a bucket to a new folder on this machine.

    Raises:
        UsageError: nothing lies there, or the target is there already.
        SourceError: it cannot be read.
    """
    if target.exists():
        raise UsageError(f"{target} exists already: name a new folder")
    there = output_bucket(place, endpoint)
    paths = [one.path for one in there.list(raise_error)]
    if not paths:
        raise UsageError(f"{place} holds nothing: name the folder that repair plan printed")
    for path in paths:
        _fetch(there, path, _below(target, path))


def _fetch(bucket: Bucket, path: str, target: Path) -> None:
    """Bring an object to this machine, for its owner to read, piece by piece."""
    private_folder(target.parent)
    with private_file(target) as file:
        start = 0
        while piece := bucket.read(path, start, start + _PIECE_BYTES).tobytes():
            file.write(piece)
            start += len(piece)


def _below(folder: Path, path: str) -> Path:
    """The place of an object in a folder; keys are others' words, and none leads out of it."""
    target = (folder / path).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise SourceError(path, "failed", "its name leads out of its folder")
    return target
