"""Delta's log of a table in a bucket: a commit is an object under a name that nobody else has, see `Bucket.put_new`.

delta-rs reads a copy of it, see `log_copy.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from pulsar_backlog.errors import CommitConflictError, SourceError, raise_error
from pulsar_backlog.ledgers.buckets.addresses import output_bucket, own_endpoint
from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.output.data_files import BucketPlace
from pulsar_backlog.tableio.delta_log import DeltaLog, ListedFile
from pulsar_backlog.tableio.delta_rs import open_folder
from pulsar_backlog.tableio.log_copy import copy_of
from pulsar_backlog.tableio.places import HINT, LOG_FOLDER

_MAX_SMALL_BYTES = 64 * 1024 * 1024
_AT_ONCE = 16
_NOW_MS = 1 << 52
"""Later than any time: a file whose age a store does not tell is new."""
_PLAIN = re.compile(r"[\w.=-]{1,200}\.parquet", re.ASCII)
"""Names that every writer of tables gives to files."""


class BucketLog(DeltaLog):
    """The log of the table at one address of a bucket, as it was when this was made.

    Raises:
        SourceError: the bucket cannot be read.
        UsageError: the log is damaged.
    """

    def __init__(self, path: str) -> None:
        self._bucket = output_bucket(path)
        self._copy = copy_of(path)
        self._copy.bring_up_to_date()
        super().__init__(path, open_folder(self._copy.folder, path))

    def place(self) -> BucketPlace:
        """Where files of new rows go, under names that nobody else uses."""
        return BucketPlace(self.path, own_endpoint(self.path), f"part-{uuid4()}-")

    def open_file(self, path: str) -> pq.ParquetFile:
        """One of its small files."""
        return pq.ParquetFile(pa.BufferReader(self._bucket.fetch(path, _MAX_SMALL_BYTES).data))

    def settle(self, names: Sequence[str]) -> None:
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
            for one in named.list(raise_error):
                if f"{prefix}{one.path}" not in stay:
                    named.remove(one.path)

    def _append(self, name: str, text: str) -> None:
        if not self._bucket.put_new(f"{LOG_FOLDER}/{name}", text.encode()):
            raise CommitConflictError(f"{self._bucket.uri(f'{LOG_FOLDER}/{name}')} is there already")

    def checkpoint(self) -> None:
        """Write a checkpoint of the newest version; it stays when this returns."""
        self._copy.bring_up_to_date()
        made = open_folder(self._copy.folder)
        if made is None:
            return
        made.create_checkpoint()
        log = self._copy.folder / LOG_FOLDER
        # The hint that names it comes last.
        for path in (*log.glob(f"{made.version():020}.checkpoint*.parquet"), log / HINT):
            self._bucket.put(f"{LOG_FOLDER}/{path.name}", path)

    def listing(self, folder: str = "") -> dict[str, ListedFile]:
        """Files right below the table's folder, or one below it, by name."""
        listed = self._below(folder).list(raise_error)
        return {one.path: ListedFile(one.size, one.modified_ms or _NOW_MS) for one in listed if "/" not in one.path}

    def delete(self, names: Iterable[str], folder: str = "") -> None:
        """Delete such files, which may be gone already."""
        below = self._below(folder)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(below.remove, names))

    def _below(self, folder: str) -> Bucket:
        return replace(self._bucket, prefix=f"{self._bucket.prefix}{folder}/") if folder else self._bucket

    @contextmanager
    def _as_listed(self, listed: Mapping[str, ListedFile]) -> Iterator[None]:
        """Beside the copy of the log lie empty files of these names and times: delta-rs looks at nothing else."""
        made = [self._copy.folder / name for name in listed if _PLAIN.fullmatch(name)]
        try:
            for path in made:
                path.touch()
                os.utime(path, (listed[path.name].modified_ms / 1000,) * 2)
            yield
        finally:
            for path in made:
                path.unlink(missing_ok=True)
