"""Where payloads go: small ones into the row, large ones into files that are named by the SHA-256 of what they hold.

    FOLDER/payloads/ab/abcdef...   the whole payload; its name is its hash, two messages of one content are one file

Only their owner may read them. A file appears under its name only when it is whole: it is written beside under a name
of its own and then renamed, so a killed or repeated task leaves no half file under a hash.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from pulsar_backlog.private_files import private_file, private_folder

BytesLike: TypeAlias = bytes | bytearray | memoryview
FOLDER = "payloads"
UNFINISHED = ".unfinished-"


@dataclass(frozen=True, slots=True)
class StoredPayload:
    """What became of a payload: bytes and hash, and either the bytes themselves or the file, relative to the folder."""

    size_bytes: int
    sha256: str
    inline: bytes | bytearray | None
    file: str | None


@dataclass(frozen=True, slots=True)
class PayloadStore:
    """Where to put payloads.

    Attributes:
        folder: local folder (or one mounted on every executor) that gets `payloads/`.
        inline_limit_bytes: largest payload that is given back instead; -1 puts every payload into a file.
    """

    folder: str
    inline_limit_bytes: int

    def keep(self, payload: BytesLike) -> StoredPayload:
        """Store a payload that is at hand."""
        if len(payload) <= self.inline_limit_bytes:
            return StoredPayload(len(payload), hashlib.sha256(payload).hexdigest(), bytes(payload), None)
        sink = PayloadSink(self)
        sink.write(payload)
        return sink.finish()


class PayloadSink:
    """One payload on its way, piece by piece; in memory up to the inline limit, then in a file."""

    def __init__(self, store: PayloadStore) -> None:
        self._store = store
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
        """Add a piece; it may be reused afterwards."""
        self._size += len(piece)
        self._hash.update(piece)
        if self._file is not None:
            self._file.write(piece)
            return
        if self._size <= self._store.inline_limit_bytes:
            self._held += piece
            return
        self._open().write(self._held)
        self._held = bytearray()
        if self._file is not None:
            self._file.write(piece)

    def finish(self) -> StoredPayload:
        """Close it and give it its name."""
        digest = self._hash.hexdigest()
        if self._file is None and self._size <= self._store.inline_limit_bytes:
            return StoredPayload(self._size, digest, self._held, None)
        file = self._file or self._open()
        file.close()
        name = f"{FOLDER}/{digest[:2]}/{digest}"
        target = Path(self._store.folder) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._path is not None:
            self._path.replace(target)
        self._file = self._path = None
        return StoredPayload(self._size, digest, None, name)

    def discard(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self._file = self._path = None

    def _open(self) -> BinaryIO:
        self._path = private_folder(Path(self._store.folder) / FOLDER) / f"{UNFINISHED}{uuid.uuid4()}"
        self._file = private_file(self._path)
        return self._file
