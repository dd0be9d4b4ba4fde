"""Buckets of S3 and what speaks like it, with the credentials that AWS's own tools find.

botocore finds them in profiles, credential files, single sign-on, roles and processes, and renews them in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote_plus, urlencode, urlsplit
from xml.etree import ElementTree as Xml

from urllib3.exceptions import HTTPError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secrets
from pulsar_backlog.ledgers.buckets.access import CONNECT_SECONDS
from pulsar_backlog.ledgers.buckets.cloud import (
    Listed,
    Page,
    Question,
    Send,
    address,
    key_path,
    listed_of,
    text_of,
    written_ms,
    xml_of,
)
from pulsar_backlog.ledgers.buckets.numbers import size_of
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.s3_parts import put_s3_parts
from pulsar_backlog.ledgers.buckets.s3_uploads import S3Uploads
from pulsar_backlog.ledgers.buckets.web import GOOD, Request, web_pool

DEFAULT_REGION = "us-east-1"
PAGE_OBJECTS = 1000
"""As many as a page may hold."""


@dataclass(frozen=True)
class S3:
    """A bucket; `endpoint` is None where the environment, the profile or AWS itself tells it."""

    bucket: str
    endpoint: str | None

    skips = True
    metadata_prefix = "x-amz-meta-"

    @property
    def root(self) -> str:
        """What stands before a key in a URI."""
        return f"s3://{self.bucket}/"

    @property
    def name(self) -> str:
        """For people: which bucket it is, and where."""
        return f"bucket {self.bucket!r} at {self.endpoint or 'AWS'}"

    @property
    def service(self) -> str:
        """Address of the service, without the bucket."""
        return self._place[0]

    @property
    def ca_file(self) -> str | None:
        """What AWS_CA_BUNDLE or the profile names."""
        bundle = self._session.get_config_variable("ca_bundle")
        return bundle if isinstance(bundle, str) else None

    @property
    def uploads(self) -> S3Uploads:
        """Its unfinished multipart uploads."""
        return S3Uploads(self._base, self.signed)

    def object_request(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] = {},
        query: Mapping[str, str] = {},
        body: bytes = b"",
        good: frozenset[int] = GOOD,
    ) -> Request:
        """A request about one object."""
        named = f"?{urlencode(sorted(query.items()), quote_via=quote)}" if query else ""  # `uploads` has no value
        url = f"{self._base}/{key_path(key)}{named}"
        return Request(method, *self.signed(url, method, headers, body), body, good)

    def put_request(self, key: str, body: bytes, content_type: str, is_new: bool) -> Request:
        """`PutObject`."""
        condition = {"If-None-Match": "*"} if is_new else {}
        return self.object_request("PUT", key, {"Content-Type": content_type, **condition}, body=body)

    def put_parts(self, send: Send, key: str, pieces: Iterator[bytes], size: int, content_type: str) -> None:
        """A multipart upload."""
        put_s3_parts(self.object_request, send, key, pieces, content_type)

    @cached_property
    def own_service(self) -> tuple[str, str] | None:
        """Endpoint and region where environment or profile name a service that is not AWS; nobody is asked."""
        region = str(self._session.get_config_variable("region") or DEFAULT_REGION)
        service = self.endpoint or str(self._session.create_client("s3", region_name=region).meta.endpoint_url)
        is_aws = (urlsplit(service).hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn"))
        return None if is_aws else (service.rstrip("/"), region)

    @property
    def is_virtual(self) -> bool:
        """Whether the profile wants the bucket's name in the host's, as some services do."""
        settings = self._session.get_scoped_config().get("s3")
        return isinstance(settings, dict) and settings.get("addressing_style") == "virtual"

    def request(self, question: Question) -> tuple[str, dict[str, str]]:
        """Address and signed headers of `ListObjectsV2`."""
        query = {
            "list-type": "2",
            "encoding-type": "url",  # keys may hold what XML cannot
            "max-keys": str(PAGE_OBJECTS),
            "prefix": question.prefix,
            "start-after": question.after if question.token is None else None,
            "continuation-token": question.token,
            "delimiter": "/" if question.by_folder else None,
        }
        return self.signed(address(self._base, query))

    def signed(
        self, url: str, method: str = "GET", headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> tuple[str, dict[str, str]]:
        """An address, and headers that say who asks."""
        from botocore.auth import S3SigV4Auth  # noqa: PLC0415 - who reads folders does without
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        credentials = self._credentials.get_frozen_credentials()
        remember_secrets(credentials.access_key, credentials.secret_key, credentials.token)
        request = AWSRequest(method, url, headers=dict(headers), data=body)
        S3SigV4Auth(credentials, "s3", self._place[1]).add_auth(request)
        return request.url, dict(request.headers.items())

    def page(self, body: bytes) -> Page:
        """What an answer lists."""
        parsed = xml_of(body, "ListBucketResult")
        read = unquote_plus if parsed.findtext("{*}EncodingType") == "url" else str

        def listed(item: Xml.Element) -> Listed | None:
            key = read(text_of(item, "{*}Key"))
            if key.endswith("/"):
                return None  # a folder that a console made; some services give it no size
            written = written_ms(item.findtext("{*}LastModified"))
            return Listed(key, size_of(text_of(item, "{*}Size")), item.findtext("{*}ETag"), written)

        objects = listed_of(parsed.iterfind("{*}Contents"), listed)
        folders = [read(folder.text or "") for folder in parsed.iterfind("{*}CommonPrefixes/{*}Prefix")]
        is_whole = parsed.findtext("{*}IsTruncated") != "true"
        return Page(objects, None if is_whole else parsed.findtext("{*}NextContinuationToken"), folders)

    @cached_property
    def _session(self) -> Any:
        from botocore.exceptions import ProfileNotFound  # noqa: PLC0415
        from botocore.session import Session  # noqa: PLC0415

        session = Session()
        try:
            session.get_scoped_config()
        except ProfileNotFound as error:
            raise UsageError(f"{error}: see AWS_PROFILE") from error
        return session

    @cached_property
    def _credentials(self) -> Any:
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        try:
            credentials = self._session.get_credentials()
        except BotoCoreError as error:
            raise StoreError("denied", f"the AWS credentials cannot be used: {error}") from error
        if credentials is None:
            raise StoreError("denied", "no AWS credentials in the environment, the profile or the files")
        return credentials

    @cached_property
    def _place(self) -> tuple[str, str]:
        """Address of the service, and region: the bucket's own where AWS tells it, whatever is configured."""
        region = self._session.get_config_variable("region") or DEFAULT_REGION
        if own := self.own_service:
            return own
        service = self._session.create_client("s3", region_name=region).meta.endpoint_url
        region = region_of(f"{service}/{quote(self.bucket)}") or region
        return self._session.create_client("s3", region_name=region).meta.endpoint_url, region

    @property
    def _base(self) -> str:
        """Address of the bucket."""
        endpoint = self._place[0]
        if not self.is_virtual:
            return f"{endpoint}/{quote(self.bucket)}"
        scheme, _, rest = endpoint.partition("://")
        return f"{scheme}://{self.bucket}.{rest}"


def region_of(bucket: str) -> str | None:
    """The region that AWS names for the bucket at this address, whoever asks; None where it does not say."""
    try:
        answer = web_pool(bucket, None, 1).request("HEAD", bucket, redirect=False, timeout=CONNECT_SECONDS)
    except HTTPError:
        return None
    return answer.headers.get("x-amz-bucket-region")
