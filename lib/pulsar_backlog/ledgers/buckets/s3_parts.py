"""Multipart uploads of S3.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from xml.sax.saxutils import escape

from pulsar_backlog.ledgers.buckets.cloud import Send, text_of, xml_of
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.web import Request


def put_s3_parts(
    request: Callable[..., Request], send: Send, key: str, pieces: Iterator[bytes], content_type: str
) -> None:
    """Write an object by its pieces, given the cloud's `object_request`.

    Raises:
        StoreError: it cannot be written; the upload is given up.
    """
    begun = send(lambda: request("POST", key, {"Content-Type": content_type}, {"uploads": ""}))
    try:
        upload = {"uploadId": text_of(xml_of(begun.body, "InitiateMultipartUploadResult"), "{*}UploadId")}
    except ValueError as error:
        raise StoreError("failed", "the answer names no upload") from error
    try:
        parts: list[str] = []
        for number, piece in enumerate(pieces, 1):
            query = {"partNumber": str(number), **upload}
            etag = send(lambda q=query, p=piece: request("PUT", key, query=q, body=p)).headers.get("ETag", "")  # type: ignore[misc]
            parts.append(f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(etag)}</ETag></Part>")
        body = f"<CompleteMultipartUpload>{''.join(parts)}</CompleteMultipartUpload>".encode()
        done = send(lambda: request("POST", key, {"Content-Type": "application/xml"}, upload, body))
        xml_of(done.body, "CompleteMultipartUploadResult")  # a fault may come with status 200
    except BaseException:
        with suppress(StoreError):
            send(lambda: request("DELETE", key, query=upload))
        raise
