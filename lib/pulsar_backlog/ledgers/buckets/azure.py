"""Containers of Azure Blob Storage, with a storage account's key, a SAS, or an identity of Microsoft Entra.

The identity is what `DefaultAzureCredential` finds: environment, workload identity, managed identity, `az login`.
Listed as in https://learn.microsoft.com/en-us/rest/api/storageservices/list-blobs and signed as in
https://learn.microsoft.com/en-us/rest/api/storageservices/authorize-with-shared-key
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.etree import ElementTree as Xml

from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secrets
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
from pulsar_backlog.ledgers.buckets.web import GOOD, Request

VERSION = "2023-11-03"
PAGE_OBJECTS = 5000
"""As many as a page may hold."""
SCOPE = "https://storage.azure.com/.default"
SUFFIX = "core.windows.net"

ACCOUNT_VARIABLES = ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")
KEY_VARIABLES = ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY")
SAS_VARIABLES = ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY")
CONNECTION_VARIABLE = "AZURE_STORAGE_CONNECTION_STRING"


@dataclass(frozen=True)
class Azure:
    """A container.

    Attributes:
        container: its name.
        host: `ACCOUNT.dfs.core.windows.net` as an `abfss://` address names it, or None.
        endpoint: address of the blob service, where it is not the account's own.
    """

    container: str
    host: str | None
    endpoint: str | None

    skips = False
    uploads = None
    ca_file = None
    metadata_prefix = "x-ms-meta-"

    @property
    def root(self) -> str:
        """What stands before a key in a URI."""
        return f"abfss://{self.container}@{self.host}/" if self.host else f"az://{self.container}/"

    @property
    def name(self) -> str:
        """For people: which container it is, and where."""
        return f"container {self.container!r} at {self.service}"

    @cached_property
    def service(self) -> str:
        """Address of the service, without the container."""
        if self.endpoint:
            return self.endpoint.rstrip("/")
        if self.host:
            return f"https://{self.host.replace('.dfs.', '.blob.', 1)}"
        if endpoint := self._connection.get("BlobEndpoint"):
            return endpoint.rstrip("/")
        scheme = self._connection.get("DefaultEndpointsProtocol", "https")
        return f"{scheme}://{self._account}.blob.{self._connection.get('EndpointSuffix', SUFFIX)}"

    def object_request(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] = {},
        query: Mapping[str, str] = {},
        body: bytes = b"",
        good: frozenset[int] = GOOD,
    ) -> Request:
        """A request about one blob."""
        path = f"{quote(self.container, safe='')}/{key_path(key)}"
        return Request(method, *self._signed(method, path, query, headers, len(body)), body, good)

    def put_request(self, key: str, body: bytes, content_type: str, is_new: bool) -> Request:
        """`Put Blob`."""
        headers = {"Content-Type": content_type, "x-ms-blob-type": "BlockBlob"}
        return self.object_request("PUT", key, headers | ({"If-None-Match": "*"} if is_new else {}), body=body)

    def put_parts(self, send: Send, key: str, pieces: Iterator[bytes], size: int, content_type: str) -> None:
        """`Put Block` for each piece, then `Put Block List`; blocks that no list names go after a week."""
        listed: list[str] = []
        for piece in pieces:
            block = base64.b64encode(f"{len(listed):08}".encode()).decode()
            query = {"comp": "block", "blockid": block}
            send(lambda q=query, p=piece: self.object_request("PUT", key, query=q, body=p))  # type: ignore[misc]
            listed.append(f"<Latest>{block}</Latest>")
        body = f"<?xml version='1.0' encoding='utf-8'?><BlockList>{''.join(listed)}</BlockList>".encode()
        headers = {"x-ms-blob-content-type": content_type}
        send(lambda: self.object_request("PUT", key, headers, {"comp": "blocklist"}, body))

    def request(self, question: Question) -> tuple[str, dict[str, str]]:
        """Address and headers of `List Blobs`."""
        query = {
            "restype": "container",
            "comp": "list",
            "maxresults": str(PAGE_OBJECTS),
            "prefix": question.prefix,
            "marker": question.token,
            "delimiter": "/" if question.by_folder else None,
        }
        return self._signed("GET", quote(self.container, safe=""), query, {}, 0)

    def _signed(
        self, method: str, path: str, query: Mapping[str, str | None], headers: Mapping[str, str], size: int
    ) -> tuple[str, dict[str, str]]:
        """An address, and headers that say who asks."""
        secret = self._secret()
        given = {"x-ms-date": format_datetime(datetime.now(UTC), usegmt=True), "x-ms-version": VERSION, **headers}
        base = f"{self.service}/{path}"
        if sas := secret.get("sas_token"):
            query = {**query, **dict(parse_qsl(sas))}
        elif "token" in secret:
            given["Authorization"] = f"Bearer {secret['token']}"
        else:
            signed = f"{method}\n\n\n{size or ''}\n\n{given.get('Content-Type', '')}\n\n\n\n"
            signed += f"{given.get('If-None-Match', '')}\n\n{given.get('Range', '')}\n"
            given["Authorization"] = self._signature(secret["access_key"], signed, urlsplit(base).path, query, given)
        return address(base, query), given

    def page(self, body: bytes) -> Page:
        """What an answer lists."""
        parsed = xml_of(body, "EnumerationResults")

        def listed(item: Xml.Element) -> Listed | None:
            properties = "Properties/"
            if item.findtext(f"{properties}ResourceType") == "directory":
                return None  # of a hierarchical namespace
            size = size_of(text_of(item, f"{properties}Content-Length"))
            written = written_ms(item.findtext(f"{properties}Last-Modified"))
            return Listed(_name(item), size, item.findtext(f"{properties}Etag"), written)

        objects = listed_of(parsed.iterfind("Blobs/Blob"), listed)
        folders = [_name(item) for item in parsed.iterfind("Blobs/BlobPrefix")]
        return Page(objects, parsed.findtext("NextMarker") or None, folders)

    def _signature(
        self, key: str, first: str, path: str, query: Mapping[str, str | None], headers: Mapping[str, str]
    ) -> str:
        """The value of `Authorization` by the account's key; `first` is what is signed before Azure's own headers."""
        own = sorted((name, value) for name, value in headers.items() if name.startswith("x-ms-"))
        signed_headers = "".join(f"{name}:{value}\n" for name, value in own)
        resource = f"/{self._account}{path}" + "".join(f"\n{n}:{v}" for n, v in sorted(query.items()) if v)
        text = first + signed_headers + resource
        try:
            secret = base64.b64decode(key, validate=True)
        except binascii.Error as error:
            raise UsageError("the key of the Azure storage account is not base64") from error
        digest = hmac.new(secret, text.encode(), hashlib.sha256).digest()
        return f"SharedKey {self._account}:{base64.b64encode(digest).decode()}"

    @cached_property
    def _connection(self) -> dict[str, str]:
        """What the connection string says, if it is about this account."""
        text = os.environ.get(CONNECTION_VARIABLE, "")
        parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
        named = self.host.split(".")[0] if self.host else None
        return parts if named is None or parts.get("AccountName") == named else {}

    @cached_property
    def _account(self) -> str:
        """Name of the storage account."""
        if self.host:
            return self.host.split(".")[0]
        if account := self._connection.get("AccountName") or _variable(ACCOUNT_VARIABLES):
            return account
        parts = urlsplit(self.endpoint or "")
        if path := parts.path.strip("/"):
            return path.split("/")[0]
        if parts.hostname and ".blob." in parts.hostname:
            return parts.hostname.split(".")[0]
        raise UsageError(
            f"az://{self.container} names no storage account: set AZURE_STORAGE_ACCOUNT, or write "
            f"abfss://{self.container}@ACCOUNT.dfs.{SUFFIX}"
        )

    def _secret(self) -> dict[str, str]:
        """Key, SAS or token; a key or SAS of another account is not tried."""
        account = _variable(ACCOUNT_VARIABLES)
        is_ours = account is None or account == self._account
        if key := self._connection.get("AccountKey") or (is_ours and _variable(KEY_VARIABLES)):
            remember_secrets(key)
            return {"access_key": key}
        sas = self._connection.get("SharedAccessSignature") or (is_ours and _variable(SAS_VARIABLES))
        if self.service.startswith("http://"):
            raise StoreError("denied", f"without TLS only the account's key may be used: {self.service}")
        if sas:
            remember_secrets(sas.lstrip("?"))
            return {"sas_token": sas.lstrip("?")}
        return {"token": self._token()}

    def _token(self) -> str:
        from azure.core.exceptions import AzureError  # noqa: PLC0415 - who reads elsewhere does without

        try:
            token = self._identity.get_token(SCOPE)
        except (AzureError, ValueError) as error:
            words = (str(error).splitlines() or [""])[0]
            raise StoreError(
                "denied", f"no Azure credentials: neither key nor SAS in the environment; {words}"
            ) from error
        remember_secrets(token.token)
        return str(token.token)

    @cached_property
    def _identity(self) -> Any:
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - who reads elsewhere does without

        logging.getLogger("azure").addHandler(logging.NullHandler())  # it warns of each way that it tries in vain
        return DefaultAzureCredential()


def _name(item: Xml.Element) -> str:
    name = text_of(item, "Name")
    element = item.find("Name")
    return unquote(name) if element is not None and element.get("Encoded") == "true" else name


def _variable(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)
