"""Where payloads go: small ones into the row, large ones into files that are named by the SHA-256 of what they hold.

    FOLDER/payloads/ab/abcdef...   the whole payload; its name is its hash, two messages of one content are one file

Only their owner may read them. A file appears under its name only when it is whole: it is written beside under a name
of its own and then renamed, so a killed or repeated task leaves no half file under a hash. On its way into a bucket it
is a temporary file, and there the bucket's own rights say who may read it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.buckets.addresses import output_bucket
from pulsar_backlog.messages.outcomes import Unexportable, too_large
from pulsar_backlog.private_files import private_file, private_folder

BytesLike: TypeAlias = bytes | bytearray | memoryview
FOLDER = "payloads"
UNFINISHED = ".unfinished-"

RESERVE_BYTES = 64 * 1024 * 1024
"""What a disk must have left besides the payload: for the tables, and for whoever else writes there."""

LOOK_BYTES = 64 * 1024 * 1024
"""So often the disk is looked at while a payload is written: other tasks write too."""


@dataclass(frozen=True, slots=True)
class StoredPayload:
    """What became of a payload: bytes and hash, and either the bytes themselves or the file, relative to the folder."""

    size_bytes: int
    sha256: str
    inline: bytes | bytearray | None
    file: str | None


@dataclass(frozen=True, slots=True)
class PayloadStore:
    """Where to put payloads, and how large they may be.

    Attributes:
        folder: local folder (or one mounted on every executor), or address of a bucket, that gets `payloads/`.
        inline_limit_bytes: largest payload that is given back instead; -1 puts every payload into a file.
        max_message_bytes: largest payload that is kept at all.
        endpoint: of the bucket's service, where this machine's environment names it and others' need not.
        hashed: whether anybody asks for the SHA-256 of what goes into a row; else it is "".
    """

    folder: str
    inline_limit_bytes: int
    max_message_bytes: int
    endpoint: str | None = None
    hashed: bool = True

    @property
    def is_bucket(self) -> bool:
        """Whether they go to a bucket."""
        return "://" in self.folder

    @property
    def scratch(self) -> Path:
        """Where a file lies while it is written."""
        return Path(tempfile.gettempdir()) if self.is_bucket else Path(self.folder) / FOLDER

    def keep(self, payload: BytesLike) -> StoredPayload:
        """Store a payload that is at hand.

        Raises:
            Unexportable: `too_large`, `no_room`.
        """
        if len(payload) <= min(self.inline_limit_bytes, self.max_message_bytes):
            digest = hashlib.sha256(payload).hexdigest() if self.hashed else ""
            return StoredPayload(len(payload), digest, bytes(payload), None)
        return self.keep_pieces((payload,), len(payload), len(payload))

    def keep_pieces(self, pieces: Iterable[BytesLike], expected_bytes: int, follow_bytes: int) -> StoredPayload:
        """Store a payload that comes in pieces; nothing is left of one that fails.

        Args:
            pieces: in order; each may be reused once the next is asked for.
            expected_bytes: what it says it holds.
            follow_bytes: how far it is followed where it holds more.

        Raises:
            Unexportable: `wrong_size`, `too_large`, `no_room`; or what `pieces` raise.
        """
        bound = min(follow_bytes, self.max_message_bytes)
        sink = PayloadSink(self, min(expected_bytes, bound))
        try:
            for piece in pieces:
                if sink.size_bytes + len(piece) > bound:
                    what = f"it holds more than {bound} bytes"
                    raise too_large(what, bound) if bound < follow_bytes else Unexportable("wrong_size", what)
                sink.write(piece)
            return sink.finish()
        except BaseException:
            sink.discard()
            raise


class PayloadSink:
    """One payload on its way, piece by piece; in memory up to the inline limit, then in a file."""

    def __init__(self, store: PayloadStore, expected_bytes: int) -> None:
        self._store = store
        self._expected = expected_bytes
        self._written = self._looked_at = 0
        self._hash = hashlib.sha256()
        self._size = 0
        self._held = bytearray()
        self._file: BinaryIO | None = None
        self._path: Path | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes written so far."""
        return self._size

    def write(self, piece: BytesLike) -> None:
        """Add a piece; it may be reused afterwards.

        Raises:
            Unexportable: `no_room`.
        """
        self._size += len(piece)
        self._hash.update(piece)
        if self._file is None and self._size <= self._store.inline_limit_bytes:
            self._held += piece
            return
        with self._room():
            if self._file is None:
                self._put(self._open(), self._held)
                self._held = bytearray()
            elif self._written - self._looked_at > LOOK_BYTES:
                self._look()
            if self._file is not None:
                self._put(self._file, piece)

    def finish(self) -> StoredPayload:
        """Close it and give it its name.

        Raises:
            Unexportable: `no_room`.
        """
        digest = self._hash.hexdigest()
        if self._file is None and self._size <= self._store.inline_limit_bytes:
            return StoredPayload(self._size, digest, self._held, None)
        name = f"{FOLDER}/{digest[:2]}/{digest}"
        with self._room():
            file = self._file or self._open()
            file.close()
            if self._path is not None:
                self._name(self._path, name)
        self._file = self._path = None
        return StoredPayload(self._size, digest, None, name)

    def _name(self, path: Path, name: str) -> None:
        """Bring a file that is whole to its place."""
        if not self._store.is_bucket:
            target = Path(self._store.folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
            return
        try:
            output_bucket(self._store.folder, self._store.endpoint).put(name, path)
        except SourceError as error:
            raise OSError(str(error)) from error  # no fault of the source: the task fails, and is tried again
        path.unlink()

    def discard(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            with suppress(OSError):  # what is not written yet finds no room either
                self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self._file = self._path = None

    def _look(self) -> None:
        """Raise where the disk has no room for what is to come, as far as that is known."""
        free = shutil.disk_usage(self._store.scratch).free
        if free < max(self._expected, self._size) - self._written + RESERVE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._looked_at = self._written

    def _put(self, file: BinaryIO, piece: BytesLike) -> None:
        file.write(piece)
        self._written += len(piece)

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            words = f"{self._store.folder} has no room for it ({error.strerror}): make room, or choose another --to"
            raise Unexportable("no_room", words) from None

    def _open(self) -> BinaryIO:
        folder = self._store.scratch
        if not self._store.is_bucket:
            private_folder(folder)
        self._look()
        self._path = folder / f"{UNFINISHED}{uuid.uuid4()}"
        self._file = private_file(self._path)
        return self._file
