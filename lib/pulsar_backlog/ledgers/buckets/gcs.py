"""Buckets of Google Cloud Storage, with Application Default Credentials.

google-auth finds what `gcloud`, service accounts, workload identity federation and impersonation leave. Listed through
the JSON API, https://cloud.google.com/storage/docs/json_api/v1/objects/list
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from pulsar_backlog.known_secrets import remember_secrets
from pulsar_backlog.ledgers.buckets.cloud import (
    Listed,
    Page,
    Question,
    Send,
    address,
    key_of,
    key_path,
    listed_of,
    written_ms,
)
from pulsar_backlog.ledgers.buckets.numbers import size_of
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.web import GOOD, Request, web_pool

PAGE_OBJECTS = 1000
"""As many as a page may hold."""
SERVICE = "https://storage.googleapis.com"
EMULATOR_VARIABLE = "STORAGE_EMULATOR_HOST"
"""Where Google's own libraries look for an emulator."""
SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
WRITING_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_FIELDS = "nextPageToken,prefixes,items(name,size,generation,updated)"


@dataclass(frozen=True)
class Gcs:
    """A bucket; without an endpoint at Google, or at the emulator that the environment names.

    Attributes:
        writes: whether its tokens are to write too.
    """

    bucket: str
    endpoint: str | None
    writes: bool = False

    skips = True
    uploads = None
    ca_file = None
    metadata_prefix = "x-goog-meta-"

    @property
    def root(self) -> str:
        """What stands before a key in a URI."""
        return f"gs://{self.bucket}/"

    @property
    def name(self) -> str:
        """For people: which bucket it is, and where."""
        return f"bucket {self.bucket!r} at {self.service}"

    @property
    def service(self) -> str:
        """Address of the service, without the bucket."""
        named = self.endpoint or os.environ.get(EMULATOR_VARIABLE) or SERVICE
        return (named if "://" in named else f"http://{named}").rstrip("/")

    def object_request(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] = {},
        query: Mapping[str, str] = {},
        body: bytes = b"",
        good: frozenset[int] = GOOD,
    ) -> Request:
        """A request about one object, of the XML API, whose answers tell user metadata by headers."""
        url = address(f"{self.service}/{quote(self.bucket, safe='')}/{key_path(key)}", query)
        return Request(method, url, {**headers, **self._access}, body, good)

    def put_request(self, key: str, body: bytes, content_type: str, is_new: bool) -> Request:
        """`objects.insert`."""
        condition = {"ifGenerationMatch": "0"} if is_new else {}
        return self._insert("POST", key, {"uploadType": "media", **condition}, {"Content-Type": content_type}, body)

    def put_parts(self, send: Send, key: str, pieces: Iterator[bytes], size: int, content_type: str) -> None:
        """A resumable upload, see https://cloud.google.com/storage/docs/performing-resumable-uploads .

        Its session is asked for where it was begun, wherever the answer says that it goes on.
        """
        begun = {"X-Upload-Content-Type": content_type, "X-Upload-Content-Length": str(size)}
        resumable = {"uploadType": "resumable"}
        location = send(lambda: self._insert("POST", key, resumable, begun)).headers.get("Location", "")
        session = dict(parse_qsl(urlsplit(location).query)).get("upload_id")
        if session is None:
            raise StoreError("failed", "the answer names no upload")
        start = 0
        for piece in pieces:
            headers = {"Content-Range": f"bytes {start}-{start + len(piece) - 1}/{size}"}
            query = {**resumable, "upload_id": session}
            send(lambda h=headers, q=query, p=piece: self._insert("PUT", key, q, h, p, GOOD | {308}))  # type: ignore[misc]
            start += len(piece)

    def _insert(
        self,
        method: str,
        key: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes = b"",
        good: frozenset[int] = GOOD,
    ) -> Request:
        url = f"{self.service}/upload/storage/v1/b/{quote(self.bucket, safe='')}/o"
        return Request(method, address(url, {"name": key, **query}), {**headers, **self._access}, body, good)

    @property
    def _access(self) -> dict[str, str]:
        """Headers that say who asks."""
        return {} if self._is_emulated else {"Authorization": f"Bearer {self._token()}"}

    def request(self, question: Question) -> tuple[str, dict[str, str]]:
        """Address and headers of `objects.list`."""
        query = {
            "maxResults": str(PAGE_OBJECTS),
            "prefix": question.prefix,
            "startOffset": question.after,  # that key too, which the caller leaves out
            "pageToken": question.token,
            "delimiter": "/" if question.by_folder else None,
            "fields": _FIELDS,
        }
        return address(f"{self.service}/storage/v1/b/{quote(self.bucket, safe='')}/o", query), self._access

    def page(self, body: bytes) -> Page:
        """What an answer lists."""
        try:
            answer = json.loads(body)
        except ValueError as error:
            raise StoreError("cut", f"the listing is not JSON: {error}") from error
        except RecursionError as error:
            raise StoreError("failed", "the listing is JSON of too many levels") from error
        if not isinstance(answer, dict):
            raise StoreError("failed", "the answer is not a listing")
        objects = listed_of(
            answer.get("items", ()),
            lambda item: Listed(
                key_of(item["name"]),
                size_of(item["size"]),
                f"generation-{size_of(item['generation'])}",
                written_ms(str(item.get("updated") or "")),
            ),
        )
        try:
            folders = [key_of(name) for name in answer.get("prefixes", ())]
            token = key_of(answer["nextPageToken"]) if answer.get("nextPageToken") else None
        except (TypeError, ValueError) as error:
            raise StoreError("failed", f"the listing names no folders or token: {error!r}"[:200]) from error
        return Page(objects, token, folders)

    @property
    def _is_emulated(self) -> bool:
        """Whether it is asked without TLS, which Google does not offer: no token goes there."""
        return self.service.startswith("http://")

    def _token(self) -> str:
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

        credentials, request, lock = self._credentials
        try:
            with lock:
                if not credentials.valid:
                    credentials.refresh(request)
        except GoogleAuthError as error:
            raise StoreError("denied", f"Google gives no token: {error}") from error
        remember_secrets(credentials.token)
        return str(credentials.token)

    @cached_property
    def _credentials(self) -> tuple[Any, Any, Lock]:
        import google.auth  # noqa: PLC0415 - who reads elsewhere does without
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from google.auth.transport.urllib3 import Request  # noqa: PLC0415

        request = Request(web_pool(SERVICE, None, 1))  # type: ignore[no-untyped-call]
        try:
            credentials, _ = google.auth.default(scopes=[WRITING_SCOPE if self.writes else SCOPE], request=request)
        except GoogleAuthError as error:
            raise StoreError("denied", f"no Google credentials: {error}") from error
        return credentials, request, Lock()
