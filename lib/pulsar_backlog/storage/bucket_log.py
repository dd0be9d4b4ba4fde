"""Delta's log of a table in a bucket: a commit is an object under a name that nobody else has, see `Bucket.put_new`.

delta-rs reads a copy of the log on this machine's disk, to which each look adds what is new: so a look is one listing,
and credentials are found as those of ledgers are, whatever delta-rs itself knows of the cloud.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from pulsar_backlog.errors import CommitConflictError, SourceError
from pulsar_backlog.ledgers.buckets.addresses import output_bucket, own_endpoint
from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.output.data_files import BucketPlace
from pulsar_backlog.private_files import private_folder
from pulsar_backlog.storage.delta_log import LOG_FOLDER, DeltaLog
from pulsar_backlog.storage.delta_rs import open_folder

_HINT = "_last_checkpoint"
_MAX_SMALL_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 8 * 1024 * 1024


class BucketLog(DeltaLog):
    """The log of the table at one address of a bucket, as it was when this was made.

    Raises:
        SourceError: the bucket cannot be read, or the log cannot.
    """

    def __init__(self, path: str) -> None:
        self._bucket = output_bucket(path)
        self._copy = _copy_of(path)
        self._copy.bring_up_to_date()
        super().__init__(path, open_folder(self._copy.folder))

    def place(self) -> BucketPlace:
        """Where files of new rows go, under names that nobody else uses."""
        return BucketPlace(self.path, own_endpoint(self.path), f"part-{uuid4()}-")

    def read(self, path: str) -> pa.Table:
        """The rows of one of its small files."""
        return pq.read_table(pa.BufferReader(self._bucket.fetch(path, _MAX_SMALL_BYTES).data), partitioning=None)

    def settle(self) -> None:
        """An object stays from the moment that it is there."""

    def mentions(self, text: str) -> bool:
        """Whether a commit since this was made holds a text, or may: what cannot be read may hold any."""
        try:
            self._copy.bring_up_to_date()
        except SourceError:
            return True
        commits = (self._copy.folder / LOG_FOLDER).glob("*.json")
        newer = (path for path in commits if path.stem.isdecimal() and int(path.stem) > self.version)
        return any(text in path.read_text("utf-8") for path in newer)

    def remove(self, prefix: str, but: Iterable[str]) -> None:
        """Remove the table's files whose names begin so, but these, as far as the bucket lets: nobody reads them."""
        stay = set(but)
        named = replace(self._bucket, prefix=f"{self._bucket.prefix}{prefix}")
        with suppress(SourceError):
            for found in named.list(_raise):
                if f"{prefix}{found.path}" not in stay:
                    named.remove(found.path)

    def _append(self, name: str, text: str) -> None:
        if not self._bucket.put_new(f"{LOG_FOLDER}/{name}", text.encode()):
            raise CommitConflictError(f"{self._bucket.uri(f'{LOG_FOLDER}/{name}')} is there already")

    def _sum_up(self) -> None:
        self._copy.bring_up_to_date()
        made = open_folder(self._copy.folder)
        if made is None:
            return
        made.create_checkpoint()
        log = self._copy.folder / LOG_FOLDER
        # The hint that names it comes last.
        for path in (*log.glob(f"{made.version():020}.checkpoint*.parquet"), log / _HINT):
            self._bucket.put(f"{LOG_FOLDER}/{path.name}", path)


class _Copy:
    """The copy of a log on this machine's disk: objects by name, as they were last seen."""

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        self.folder = folder
        self._log = replace(bucket, prefix=f"{bucket.prefix}{LOG_FOLDER}/")
        self._listed: dict[str, StoredObject] = {}
        self._fetched: dict[str, StoredObject] = {}

    def bring_up_to_date(self) -> None:
        """Fetch what is new or other than it was, and forget what is gone.

        Raises:
            SourceError: the bucket cannot be read.
        """
        listed = {one.path: one for one in self._log.list(_raise) if "/" not in one.path}
        if listed == self._listed:
            return
        log, first = self.folder / LOG_FOLDER, self._first(listed)
        wanted = {path: one for path, one in listed.items() if path == _HINT or (_is_of_log(path) and path >= first)}
        if not wanted:
            shutil.rmtree(log, ignore_errors=True)
        else:
            private_folder(log)
            for copied in log.iterdir():
                if copied.name not in wanted:
                    copied.unlink()
        for path, one in wanted.items():
            if self._fetched.get(path) != one:
                self._fetch(path, one.size)
        self._listed, self._fetched = listed, wanted

    def _first(self, listed: Mapping[str, StoredObject]) -> str:
        """What the names begin with of the newest checkpoint that is told of; what is older is of no use."""
        if _HINT not in listed:
            return ""
        with suppress(ValueError, KeyError, TypeError):
            version = int(json.loads(self._log.fetch(_HINT, _MAX_SMALL_BYTES).data)["version"])
            return f"{version:020}"
        return ""

    def _fetch(self, path: str, size: int) -> None:
        with (self.folder / LOG_FOLDER / path).open("wb") as file:
            for start in range(0, size, _PIECE_BYTES):
                file.write(self._log.read(path, start, min(start + _PIECE_BYTES, size)).tobytes())


def _is_of_log(path: str) -> bool:
    return path[:20].isdecimal() and path.endswith((".json", ".parquet"))


@cache
def _copy_of(path: str) -> _Copy:
    made = tempfile.TemporaryDirectory(prefix="pulsar-backlog-log-")
    atexit.register(made.cleanup)
    return _Copy(output_bucket(path), Path(made.name))


def _raise(error: SourceError) -> NoReturn:
    raise error
