"""What a store lists and gives: objects, unfinished uploads, whole objects with their user metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TIME_TAG = "mtime-"
"""How a version tag begins that is a time of writing, where a store gives no other."""


@dataclass(frozen=True)
class StoredObject:
    """One object of the source as listed.

    Attributes:
        path: key relative to the source.
        size: bytes.
        etag: version tag, or None when the store gives none (then the modification time stands in).
        modified_ms: when it was written, milliseconds, or None when the store does not say.
    """

    path: str
    size: int
    etag: str | None
    modified_ms: int | None = None

    @property
    def has_time_as_tag(self) -> bool:
        """Whether only its time of writing tells it from what it was."""
        return self.etag is not None and self.etag.startswith(TIME_TAG)


@dataclass(frozen=True)
class Upload:
    """A multipart upload that was neither finished nor given up: its parts are paid for, and no listing shows them.

    Attributes:
        path: key it is for, relative to the source.
        upload_id: what the store calls it.
        started_ms: when it began, milliseconds, or None when the store does not say.
        size: bytes of its parts, or None when they could not be listed.
    """

    path: str
    upload_id: str
    started_ms: int | None
    size: int | None


@dataclass(frozen=True)
class Fetched:
    """A whole object: its bytes, and its user metadata with lower-case keys (empty in a local folder)."""

    data: bytes
    user_metadata: Mapping[str, str]
