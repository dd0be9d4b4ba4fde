"""Multipart uploads that were never finished, page by page, with an end whatever a server says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from pulsar_backlog.ledgers.buckets.cloud import Marker, Uploads
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.stored_objects import Upload

MAX_PAGES_OF_KEY = 100
"""Pages that name one key: a hundred thousand uploads of one object are a listing that does not go on."""

Answer = Callable[[Callable[[], tuple[str, dict[str, str]]]], bytes]
"""The body that a signed request is answered with, after retries."""


def unfinished_uploads(uploads: Uploads, answer: Answer, prefix: str) -> Iterator[Upload]:
    """The uploads below a prefix, by key.

    Raises:
        StoreError: they cannot be listed, or their listing has no end.
    """
    after: Marker | None = None
    pages_of_key = 0
    while True:
        page, following = uploads.page(answer(partial(uploads.request, prefix, after)))
        for key, upload_id, started_ms in page:
            yield Upload(key[len(prefix) :], upload_id, started_ms, _bytes_of_parts(uploads, answer, key, upload_id))
        if following is None or (after and following[0] < after[0]) or following == after:
            return
        pages_of_key = pages_of_key + 1 if after and following[0] == after[0] else 0
        if pages_of_key >= MAX_PAGES_OF_KEY:
            raise StoreError("failed", f"the listing of uploads does not go on behind the object {following[0]!r}")
        after = following


def _bytes_of_parts(uploads: Uploads, answer: Answer, key: str, upload_id: str) -> int | None:
    """Bytes of the parts of an upload; None where they may not be listed, or it has ended meanwhile."""
    total, after = 0, None
    try:
        while True:
            size, following = uploads.parts_page(answer(partial(uploads.parts_request, key, upload_id, after)))
            total += size
            if following is None or following <= (after or 0):
                return total
            after = following
    except StoreError:
        return None
