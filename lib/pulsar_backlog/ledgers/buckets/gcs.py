"""Buckets of Google Cloud Storage, with Application Default Credentials.

google-auth finds what `gcloud`, service accounts, workload identity federation and impersonation leave; obstore by
itself knows only some of it. Listed through the JSON API, https://cloud.google.com/storage/docs/json_api/v1/objects/list
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from typing import Any
from urllib.parse import quote

from pulsar_backlog.known_secrets import remember_secrets
from pulsar_backlog.ledgers.buckets.cloud import NO_RETRIES, Listed, Page, Question, address, listed_of, written_ms
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.web import web_pool

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

    def store(self, options: Any) -> Any:
        """The obstore store over the whole bucket."""
        from obstore.store import GCSStore  # noqa: PLC0415 - who reads folders does without

        if not self._is_emulated:
            self._token()  # to miss it now, in words
        access: dict[str, Any] = {} if self._is_emulated else {"credential_provider": self._token}
        config: Any = {"base_url": self.service, "skip_signature": self._is_emulated}
        return GCSStore(self.bucket, config=config, client_options=options, retry_config=NO_RETRIES, **access)

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
        headers = {} if self._is_emulated else {"Authorization": f"Bearer {self._token()['token']}"}
        return address(f"{self.service}/storage/v1/b/{quote(self.bucket, safe='')}/o", query), headers

    def page(self, body: bytes) -> Page:
        """What an answer lists."""
        try:
            answer = json.loads(body)
        except ValueError as error:
            raise StoreError("cut", f"the listing is not JSON: {error}") from error
        if not isinstance(answer, dict):
            raise StoreError("failed", "the answer is not a listing")
        objects = listed_of(
            answer.get("items", ()),
            lambda item: Listed(
                str(item["name"]),
                int(item["size"]),
                f"generation-{item['generation']}",
                written_ms(str(item.get("updated") or "")),
            ),
        )
        return Page(objects, answer.get("nextPageToken") or None, [str(name) for name in answer.get("prefixes", ())])

    @property
    def _is_emulated(self) -> bool:
        """Whether it is asked without TLS, which Google does not offer: no token goes there."""
        return self.service.startswith("http://")

    def _token(self) -> Any:
        """A token and its end, as obstore wants them."""
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

        credentials, request, lock = self._credentials
        try:
            with lock:
                if not credentials.valid:
                    credentials.refresh(request)
        except GoogleAuthError as error:
            raise StoreError("denied", f"Google gives no token: {error}") from error
        remember_secrets(credentials.token)
        ends: datetime | None = credentials.expiry
        return {"token": credentials.token, "expires_at": ends and ends.replace(tzinfo=UTC)}

    @cached_property
    def _credentials(self) -> tuple[Any, Any, Lock]:
        import google.auth  # noqa: PLC0415 - who reads elsewhere does without
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from google.auth.transport.urllib3 import Request  # noqa: PLC0415

        request = Request(web_pool(SERVICE, None, 1))  # type: ignore[no-untyped-call]
        try:
            found, _ = google.auth.default(scopes=[WRITING_SCOPE if self.writes else SCOPE], request=request)
        except GoogleAuthError as error:
            raise StoreError("denied", f"no Google credentials: {error}") from error
        return found, request, Lock()
