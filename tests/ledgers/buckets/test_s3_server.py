"""The S3 server that the tests start takes every signature for one of S3."""

from __future__ import annotations

from urllib.request import Request, urlopen

from tests.ledgers.conftest import S3Server


def test_a_signature_with_slashes_is_no_name_of_a_service(s3_server: S3Server) -> None:
    s3_server.fill("signed", {})
    signature = "AWS key:a/b/c/d/e="  # five parts, as the scope of version 4 has them
    headers = {"Authorization": signature, "Content-Type": "application/octet-stream"}
    with urlopen(Request(f"{s3_server.endpoint}/signed/object", b"body", headers, method="PUT")) as answer:
        assert answer.status == 200
    assert s3_server.client().get_object(Bucket="signed", Key="object")["Body"].read() == b"body"
