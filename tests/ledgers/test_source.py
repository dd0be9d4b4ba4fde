"""Reading by ranges, local and S3 alike, and one kind of error for all that can go wrong."""

import errno
import itertools
import os
import pickle
import socket
import threading
from io import FileIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers import store
from pulsar_backlog.ledgers.folder import Folder
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.walk import walk_unit
from tests.ledgers.conftest import S3Server
from tests.ledgers.encoding import UUID, offload

STORED = offload([b"a" * 100, b"", b"b" * 300], managed_ledger=None)
DATA, INDEX = f"{UUID}-ledger-7", f"{UUID}-ledger-7-index"
NUMBERS = itertools.count()
NAMED = {"ManagedLedgerName": "tenant/space/persistent/topic", "S3ManagedLedgerOffloaderFormatVersion": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Source:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "object").write_bytes(b"0123456789")
    (tmp_path / "empty").touch()
    return open_source(str(tmp_path))


@pytest.fixture
def bucket(s3_server: S3Server, aws: pytest.MonkeyPatch) -> Source:
    name = f"bucket-{next(NUMBERS)}"
    s3_server.fill(
        name, {"pre/sub/object": (b"0123456789", {"Key": "Value"}), "pre/empty": (b"", {}), "other": (b"", {})}
    )
    return open_source(f"s3://{name}/pre", s3_server.endpoint)


@pytest.fixture(params=["folder", "bucket"])
def source(request: pytest.FixtureRequest) -> Source:
    found: Source = request.getfixturevalue(request.param)
    return found


def test_list(source: Source) -> None:
    assert sorted((stored.path, stored.size) for stored in source.list()) == [("empty", 0), ("sub/object", 10)]
    assert all(stored.etag for stored in source.list())


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 10, b"0123456789"),
        (3, 5, b"34"),
        (5, 5, b""),
        (6, 5, b""),
        (8, 50, b"89"),
        (10, 20, b""),
        (2**62, 2**62 + 9, b""),
    ],
)
def test_read(source: Source, start: int, end: int, expected: bytes) -> None:
    read = source.read("sub/object", start, end)
    assert (read.dtype, read.tobytes()) == (np.uint8, expected)


def test_read_of_an_empty_object(source: Source) -> None:
    assert source.read("empty", 0, 10).tobytes() == b""
    assert source.fetch("empty", 10).data == b""


def test_fetch_is_bounded(source: Source) -> None:
    assert source.fetch("sub/object", 10).data == b"0123456789"
    with pytest.raises(SourceError, match="more than the 9 bytes"):
        source.fetch("sub/object", 9)


@pytest.mark.parametrize("name", ["two\nlines", "part#1", "50%", "star*", "a%2Fb", "ü"])
def test_odd_file_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"0123456789")
    folder = open_source(str(tmp_path))
    [stored] = folder.list()
    assert (stored.path, folder.read(stored.path, 2, 4).tobytes()) == (name, b"23")


@pytest.mark.parametrize("path", ["/etc/hostname", "sub/../../x", "..", "nul\0"])
def test_no_way_out_of_a_folder(folder: Source, path: str) -> None:
    with pytest.raises(SourceError, match="outside the source"):
        folder.read(path, 0, 10)


@pytest.mark.parametrize("path", ["nothing", "sub", "../other"])
def test_no_such_object(source: Source, path: str) -> None:
    for read in (source.fetch, lambda p, n: source.read(p, 0, n)):
        with pytest.raises(SourceError) as caught:
            read(path, 10)
        assert caught.value.reason == ("failed" if path.startswith("..") else "not_found")
        assert caught.value.uri == source.uri(path)
        assert "\n" not in str(caught.value)


def test_a_source_travels(source: Source) -> None:
    list(source.list())
    source.read("sub/object", 0, 1)
    pickled = pickle.dumps(source)
    assert b"secret" not in pickled
    assert pickle.loads(pickled) == source
    assert pickle.loads(pickled).read("sub/object", 0, 1).tobytes() == b"0"


def test_user_metadata(folder: Source, bucket: Source) -> None:
    assert folder.user_metadata("sub/object") == {}
    assert bucket.user_metadata("sub/object")["key"] == "Value"
    assert bucket.fetch("sub/object", 10).user_metadata["key"] == "Value"


def test_scan_of_a_bucket(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    s3_server.fill(
        "scan",
        {
            f"deep/er/{DATA}": (STORED.data, NAMED),
            f"deep/er/{INDEX}": (STORED.index, NAMED),
            f"deep/er/{UUID}-ledger-8": (STORED.data, NAMED | {"S3ManagedLedgerOffloaderFormatVersion": "2"}),
            # Keys that no path can be made of, in a bucket that others use too.
            "../up": (b"?", {}),
            "a//b": (b"?", {}),
            "./x": (b"?", {}),
            "folder/": (b"", {}),
        },
    )
    inventory = take_inventory(open_source("s3://scan", s3_server.endpoint))
    assert [(copy.ledger_id, copy.topic, copy.status) for copy in inventory.copies] == [
        (7, "persistent://tenant/space/topic", "ok"),
        (8, "persistent://tenant/space/topic", "damaged"),
    ]
    assert [(finding.code, finding.count) for finding in inventory.findings] == [("S03", 3), ("S05", 1), ("S22", 1)]
    under = open_source("s3://scan/deep/", s3_server.endpoint)
    [copy, _] = take_inventory(under).copies
    assert copy.data_uri == f"er/{DATA}"
    [batch] = [batch for unit in units_of(copy) for batch in walk_unit(under, unit)]
    assert batch.length.tolist() == [100, 0, 300]


def test_missing_bucket(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no bucket 'never-made'"):
        take_inventory(open_source("s3://never-made", s3_server.endpoint))


@pytest.mark.parametrize("endpoint", ["ftp://x", "localhost:9000", "http://", "http://key:secret@localhost"])
def test_endpoint_that_is_none(endpoint: str) -> None:
    with pytest.raises(UsageError, match="endpoint") as caught:
        open_source("s3://bucket", endpoint)
    assert "secret@" not in str(caught.value)


def test_no_credentials(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    aws.delenv("AWS_ACCESS_KEY_ID")
    aws.delenv("AWS_SECRET_ACCESS_KEY")
    source = open_source("s3://bucket", s3_server.endpoint)
    with pytest.raises(UsageError, match=r"s3://bucket cannot be listed: .*no AWS credentials"):
        take_inventory(source)  # an inventory without ledgers would call all of them missing
    with pytest.raises(SourceError, match="no AWS credentials") as caught:
        source.read("object", 0, 1)
    assert caught.value.reason == "permission_denied"


def test_credentials_from_a_profile(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s3_server.fill("profiled", {"object": (b"x", {})})
    aws.delenv("AWS_ACCESS_KEY_ID")
    aws.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "credentials").write_text("[me]\naws_access_key_id=key\naws_secret_access_key=secret\n")
    aws.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    aws.setenv("AWS_PROFILE", "me")
    source = open_source("s3://profiled", s3_server.endpoint)
    assert [stored.path for stored in source.list()] == ["object"]
    assert source.read("object", 0, 1).tobytes() == b"x"
    store._opened.cache_clear()
    aws.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(UsageError, match="nobody"):
        list(open_source("s3://profiled", s3_server.endpoint).list())


class Answering(threading.Thread):
    """A server on loopback that gives its answers in turn, the last one for ever."""

    def __init__(self, *answers: bytes) -> None:
        super().__init__(daemon=True)
        self._answers = list(answers)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.join(10)


def answer(status: str, code: str) -> bytes:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()
    return response(status, body)


def response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        ("403 Forbidden", "AccessDenied", "permission_denied"),
        ("403 Forbidden", "InvalidAccessKeyId", "permission_denied"),
        ("403 Forbidden", "SignatureDoesNotMatch", "permission_denied"),
        ("400 Bad Request", "SomethingElse", "failed"),
    ],
)
def test_refusals(aws: pytest.MonkeyPatch, status: str, code: str, reason: str) -> None:
    # moto takes any credentials, so the refusal is made here, as S3 words it.
    server = Answering(answer(status, code))
    try:
        source = open_source("s3://bucket", server.endpoint)
        with pytest.raises(SourceError) as caught:
            list(source.list())
        assert caught.value.reason == reason
        with pytest.raises(SourceError) as caught:
            source.read("object", 0, 10)
        assert caught.value.reason == reason
        assert "secret" not in str(caught.value)
    finally:
        server.close()


def page(key: str) -> bytes:
    return (
        "<?xml version='1.0'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"
        f"<IsTruncated>true</IsTruncated><NextContinuationToken>{key}</NextContinuationToken>"
        f"<Contents><Key>{key}</Key><Size>3</Size><ETag>e</ETag></Contents></ListBucketResult>"
    ).encode()


def test_a_listing_that_fails_part_way_keeps_what_it_had(aws: pytest.MonkeyPatch) -> None:
    pages = [response("200 OK", page(key)) for key in ("first", "second")]
    server = Answering(*pages, answer("403 Forbidden", "AccessDenied"))
    try:
        errors: list[SourceError] = []
        listed = list(open_source("s3://bucket", server.endpoint).list(errors.append))
    finally:
        server.close()
    assert [stored.path for stored in listed] == ["first", "second"]
    assert [error.reason for error in errors] == ["permission_denied"]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What the system is asked to read soon, of an object of 100 bytes."""
    (tmp_path / "object").write_bytes(bytes(range(100)))
    parts: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _, start, size, __: parts.append((start, size)))
    return parts


def read_in_parts(folder: Path) -> None:
    source = open_source(str(folder))
    with source.ahead("object", 10, 90) as stretch:
        for start, end in ((10, 40), (40, 70), (70, 90)):
            assert stretch.read(start, end).tobytes() == bytes(range(start, end))
    assert source.read("object", 0, 10).tobytes() == bytes(range(10)), "a part alone has no next one"


def only_cached(monkeypatch: pytest.MonkeyPatch, most: int, code: int | None = None) -> None:
    """Let the page cache have no byte from `most` on, or fail to say what it has."""
    preadv = os.preadv

    def read(descriptor: int, buffers: list[memoryview], place: int, flags: int = 0) -> int:
        if not flags:
            return preadv(descriptor, buffers, place)
        assert flags == os.RWF_NOWAIT
        if code is not None or place >= most:
            raise OSError(code or errno.EAGAIN, "not now")
        return preadv(descriptor, [buffers[0][: most - place]], place)

    monkeypatch.setattr(os, "preadv", read)


@pytest.mark.parametrize(("most", "code"), [(0, None), (40, errno.EOPNOTSUPP), (13, None)])
def test_the_next_parts_of_a_stretch_are_asked_for_ahead(
    tmp_path: Path, asked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, most: int, code: int | None
) -> None:
    only_cached(monkeypatch, most, code)
    read_in_parts(tmp_path)
    assert asked == [(40, 50), (70, 20)], "nothing behind the stretch"


def test_a_stretch_is_asked_for_ahead_from_where_the_page_cache_ends(
    tmp_path: Path, asked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_cached(monkeypatch, 50)
    read_in_parts(tmp_path)
    assert asked == [(70, 20)]


def test_what_the_page_cache_has_is_not_asked_for(
    tmp_path: Path, asked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_cached(monkeypatch, 100)
    read_in_parts(tmp_path)
    assert asked == []


def test_a_stretch_is_one_file_opened_once_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "object").write_bytes(bytes(90))
    opened: list[FileIO] = []
    open_file = Folder.open_file

    def noted(self: Folder, path: str) -> FileIO:
        opened.append(open_file(self, path))
        return opened[-1]

    monkeypatch.setattr(Folder, "open_file", noted)
    with open_source(str(tmp_path)).ahead("object", 0, 90) as stretch:
        assert not opened
        for start in range(0, 90, 30):
            stretch.read(start, start + 30)
        assert [file.closed for file in opened] == [False]
    assert opened[0].closed


def test_a_stretch_is_read_into_memory_that_nobody_looks_at(tmp_path: Path) -> None:
    (tmp_path / "object").write_bytes(bytes(range(90)))
    views = (lambda part: part, lambda part: part[3:8], lambda part: memoryview(part)[1:], pa.py_buffer)
    with open_source(str(tmp_path)).ahead("object", 0, 90) as stretch:
        address = stretch.read(0, 30).ctypes.data
        assert stretch.read(30, 60).ctypes.data == address, "what was dropped gives its memory"
        for view in views:
            first = view(stretch.read(0, 30))
            before = bytes(first)
            assert stretch.read(60, 90).tobytes() == bytes(range(60, 90))
            assert bytes(first) == before, "what somebody looks at stays"
        assert stretch.read(80, 200).tobytes() == bytes(range(80, 90)), "nothing of what lay there before"


def test_several_parts_of_a_stretch_are_looked_at_together(tmp_path: Path) -> None:
    (tmp_path / "object").write_bytes(bytes(range(90)))
    with open_source(str(tmp_path)).ahead("object", 0, 90) as stretch:
        parts = [stretch.read(at, at + 9) for at in range(0, 90, 9)]
        assert [part.tobytes() for part in parts] == [bytes(range(at, at + 9)) for at in range(0, 90, 9)]
        addresses = {part.ctypes.data for part in parts}
        assert len(addresses) == 10
        parts.clear()
        assert stretch.read(0, 9).ctypes.data in addresses, "what was dropped gives its memory"
