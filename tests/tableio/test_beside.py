"""Files beside the tables are the same in a folder and in a bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.addresses import forget_output_buckets
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.tableio.beside import Beside, beside
from tests.ledgers.conftest import S3Server, aws, s3_server

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty output folder or bucket."""
    return str(tmp_path) if request.param == "folder" else str(request.getfixturevalue("bucket"))


@pytest.fixture
def bucket(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty bucket."""
    aws.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    forget_output_buckets()
    name = f"out-{abs(hash(tmp_path))}"
    s3_server.fill(name, {})
    return f"s3a://{name}/eu 1"


def test_a_file_is_replaced(place: str) -> None:
    files = beside(place)
    assert not files.exists("report.html")
    for text in ("one", "zwei ü"):
        files.write("report.html", text)
        assert files.exists("report.html")
        assert files.read("report.html") == text.encode()
    assert not files.exists("report")


def test_files_of_an_earlier_time_go_and_others_stay(place: str) -> None:
    files = beside(place)
    names = ("report/part-1.html", "report/part-2.html", "report.html", "report/deeper/mine.txt")
    for name in names:
        files.write(name, name)
    files.keep_only("report", {"part-1.html"})
    assert [files.exists(name) for name in names] == [True, False, True, True]
    files.keep_only("never-made", set())


def test_a_browser_shows_a_report(bucket: str, s3_server: S3Server) -> None:
    beside(bucket).write("report.html", "<p>")
    name, _, prefix = bucket.removeprefix("s3a://").partition("/")
    assert s3_server.client().head_object(Bucket=name, Key=f"{prefix}/report.html")["ContentType"] == "text/html"


def write_all(files: Beside, texts: dict[str, str]) -> None:
    with files.folder("docs", last="index.html") as folder:
        (folder / "a").mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text)


def test_a_folder_is_worked_in_and_kept(place: str, tmp_path: Path) -> None:
    files = beside(place)
    write_all(files, {"index.html": "1", "a/b": "2", "a/c": "3"})
    with files.folder("docs", last="index.html") as folder:
        assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
            "index.html",
            "a/b",
            "a/c",
        }
        assert (folder / "a" / "b").read_text() == "2"
        (folder / "a" / "c").unlink()
        (folder / "a" / "b").write_text("4")
    assert files.read("docs/a/b") == b"4"
    assert not files.exists("docs/a/c")
    assert files.local("docs/a/b", tmp_path / "copy").read_text() == "4"
    assert not files.local("docs/a/none", tmp_path / "none").exists()


def test_work_that_failed_leaves_a_bucket_as_it_was(bucket: str) -> None:
    files = beside(bucket)
    write_all(files, {"index.html": "1"})
    with pytest.raises(KeyError), files.folder("docs", last="index.html") as folder:
        (folder / "index.html").write_text("2")
        raise KeyError
    assert files.read("docs/index.html") == b"1"


def test_payloads_are_put_there_under_their_hash(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    stored = PayloadStore(place, 2, 1 << 20).keep(b"payload")
    assert stored.file is not None and stored.inline is None
    assert beside(place).read(stored.file) == b"payload"
    assert list(scratch.iterdir()) == []
    assert PayloadStore(place, 2, 1 << 20).keep(b"pa").inline == b"pa"


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="hdfs://namenode/audits: reports, plans and files go to a folder"):
        beside("hdfs://namenode/audits")
