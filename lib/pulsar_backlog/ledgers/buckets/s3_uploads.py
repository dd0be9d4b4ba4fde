"""Multipart uploads of a bucket of S3 that were never finished: what its `ListMultipartUploads` and `ListParts` say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote_plus

from pulsar_backlog.ledgers.buckets.cloud import Marker, address, text_of, written_ms, xml_of
from pulsar_backlog.ledgers.buckets.numbers import size_of
from pulsar_backlog.ledgers.buckets.patience import StoreError

PAGE_UPLOADS = 1000
"""As many as a page may hold."""


@dataclass(frozen=True)
class S3Uploads:
    """Of the bucket at `base`; `signed` gives an address with the headers that say who asks."""

    base: str
    signed: Callable[[str], tuple[str, dict[str, str]]]

    def request(self, prefix: str, after: Marker | None) -> tuple[str, dict[str, str]]:
        """Address and signed headers of `ListMultipartUploads`."""
        key, upload_id = after or (None, None)
        query = {
            "encoding-type": "url",
            "key-marker": key,
            "max-uploads": str(PAGE_UPLOADS),
            "prefix": prefix,
            "upload-id-marker": upload_id,
        }
        return self.signed(f"{address(self.base, query)}&uploads=")

    def page(self, body: bytes) -> tuple[list[tuple[str, str, int | None]], Marker | None]:
        """Key, upload and start of each, and where the next page begins."""
        parsed = xml_of(body, "ListMultipartUploadsResult")
        read = unquote_plus if parsed.findtext("{*}EncodingType") == "url" else str
        try:
            uploads = [
                (read(text_of(item, "{*}Key")), text_of(item, "{*}UploadId"), written_ms(item.findtext("{*}Initiated")))
                for item in parsed.iterfind("{*}Upload")
            ]
        except ValueError as error:
            raise StoreError("failed", f"the listing names an upload without key or id: {error}") from error
        if parsed.findtext("{*}IsTruncated") != "true":
            return uploads, None
        marker = parsed.findtext("{*}NextKeyMarker"), parsed.findtext("{*}NextUploadIdMarker")
        return uploads, (read(marker[0]), marker[1]) if marker[0] and marker[1] else None

    def parts_request(self, key: str, upload_id: str, after: int | None) -> tuple[str, dict[str, str]]:
        """Address and signed headers of `ListParts`."""
        query = {"part-number-marker": None if after is None else str(after), "uploadId": upload_id}
        return self.signed(address(f"{self.base}/{quote(key)}", query))

    def parts_page(self, body: bytes) -> tuple[int, int | None]:
        """Bytes of the parts in a page, and behind which part the next one begins."""
        parsed = xml_of(body, "ListPartsResult", "ListPartsResponse")  # Amazon's name, and what others write
        try:
            size = sum(size_of(text_of(part, "{*}Size")) for part in parsed.iterfind("{*}Part"))
            more = parsed.findtext("{*}IsTruncated") == "true"
            return size, size_of(text_of(parsed, "{*}NextPartNumberMarker")) if more else None
        except ValueError as error:
            raise StoreError("failed", f"the listing names a part without size, or no next part: {error}") from error
