"""A copy of Delta's log of a table in a bucket, on this machine's disk, for delta-rs.

Each look adds what is new: so a look is one listing. delta-rs asks no bucket itself: it would follow a redirect of the
store with the session token, and find other credentials than those of ledgers.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from pulsar_backlog.errors import raise_error
from pulsar_backlog.ledgers.buckets.addresses import output_bucket
from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.private_files import private_folder
from pulsar_backlog.tableio.places import HINT, LOG_FOLDER

_MAX_HINT_BYTES = 1024 * 1024
_PIECE_BYTES = 8 * 1024 * 1024


class LogCopy:
    """The copy of a log on this machine's disk: objects by name, as they were last seen.

    Attributes:
        bucket: where the table lies.
        folder: where its copy lies: a table without its data files.
    """

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        self.bucket = bucket
        self.folder = folder
        self._log = replace(bucket, prefix=f"{bucket.prefix}{LOG_FOLDER}/")
        self._listed: dict[str, StoredObject] = {}
        self._fetched: dict[str, StoredObject] = {}

    def bring_up_to_date(self) -> None:
        """Fetch what is new or other than it was, and forget what is gone.

        Raises:
            SourceError: the bucket cannot be read.
        """
        listed = {one.path: one for one in self._log.list(raise_error) if "/" not in one.path}
        if listed == self._listed:
            return
        log, first = self.folder / LOG_FOLDER, self._first(listed)
        wanted = {path: one for path, one in listed.items() if path == HINT or (_is_of_log(path) and path >= first)}
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
        """What the names begin with of the checkpoint in `_last_checkpoint`; older objects are of no use."""
        if HINT not in listed:
            return ""
        with suppress(ValueError, KeyError, TypeError):
            version = int(json.loads(self._log.fetch(HINT, _MAX_HINT_BYTES).data)["version"])
            return f"{version:020}"
        return ""

    def _fetch(self, path: str, size: int) -> None:
        with (self.folder / LOG_FOLDER / path).open("wb") as file:
            for start in range(0, size, _PIECE_BYTES):
                file.write(self._log.read(path, start, min(start + _PIECE_BYTES, size)).tobytes())


def _is_of_log(path: str) -> bool:
    return path[:20].isdecimal() and path.endswith((".json", ".parquet"))


@cache
def copy_of(path: str, endpoint: str | None = None) -> LogCopy:
    """The copy of the log of a table in a bucket; nothing is asked of it yet.

    Raises:
        UsageError: as `output_bucket`.
    """
    made = tempfile.TemporaryDirectory(prefix="pulsar-backlog-log-")
    atexit.register(made.cleanup)
    return LogCopy(output_bucket(path, endpoint), Path(made.name))
