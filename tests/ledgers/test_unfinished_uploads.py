"""Multipart uploads that were never finished, as a real S3 server tells of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.buckets.s3_uploads import PAGE_UPLOADS, S3Uploads
from pulsar_backlog.ledgers.store import open_source

PART = b"x" * (5 * 1024 * 1024)


@pytest.mark.usefixtures("aws")
def test_uploads_and_the_bytes_of_their_parts(s3_server: Any) -> None:
    s3_server.fill("unfinished", {"p/done": (b"1", {})})
    client = s3_server.client()
    made = {}
    for key in ("p/a b", "p/ü", "elsewhere"):
        made[key] = client.create_multipart_upload(Bucket="unfinished", Key=key)["UploadId"]
    for number, body in ((1, PART), (2, b"end")):
        client.upload_part(Bucket="unfinished", Key="p/a b", UploadId=made["p/a b"], PartNumber=number, Body=body)
    found = list(open_source("s3://unfinished/p", s3_server.endpoint).unfinished() or ())
    assert {(one.path, one.upload_id, one.size) for one in found} == {
        ("a b", made["p/a b"], len(PART) + 3),
        ("ü", made["p/ü"], 0),
    }
    assert all(one.started_ms for one in found)


@pytest.mark.usefixtures("aws")
def test_uploads_that_cannot_be_listed(s3_server: Any) -> None:
    with pytest.raises(SourceError, match="no such"):
        list(open_source("s3://no-such-bucket-at-all", s3_server.endpoint).unfinished() or ())


def test_a_folder_has_none(tmp_path: Path) -> None:
    assert list(open_source(str(tmp_path)).unfinished() or ()) == []


def test_pages_go_on_behind_key_and_upload() -> None:
    """By the form that Amazon documents; the server of the tests gives all at once."""
    uploads = S3Uploads("http://host/box", lambda url: (url, {}))
    assert uploads.request("p/", ("p/a b", "u1"))[0] == (
        f"http://host/box?encoding-type=url&key-marker=p%2Fa%20b&max-uploads={PAGE_UPLOADS}&prefix=p%2F"
        "&upload-id-marker=u1&uploads="
    )
    body = (
        b'<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType>'
        b"<IsTruncated>true</IsTruncated><NextKeyMarker>p%2Fa+b</NextKeyMarker><NextUploadIdMarker>u2"
        b"</NextUploadIdMarker><Upload><Key>p%2Fa+b</Key><UploadId>u2</UploadId><Initiated>2026-11-22T10:00:00.000Z"
        b"</Initiated></Upload></ListMultipartUploadsResult>"
    )
    assert uploads.page(body) == ([("p/a b", "u2", 1795341600000)], ("p/a b", "u2"))
    more = b"<IsTruncated>true</IsTruncated><NextPartNumberMarker>7</NextPartNumberMarker>"
    parts = b"<ListPartsResult>" + more + b"%s</ListPartsResult>"
    assert uploads.parts_page(parts % b"<Part><Size>5</Size></Part><Part><Size>6</Size></Part>") == (11, 7)
