"""Tables in a bucket are asked as tables in a folder are, with the credentials that the environment has."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.buckets.addresses import forget_output_buckets
from pulsar_backlog.sql.locating import Positions
from pulsar_backlog.sql.query import write_query
from pulsar_backlog.tableio.log_copy import copy_of
from tests.frames.rows import entry
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.small_tables import write_tables
from tests.sql.printed import printed

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

OUT = "audits/eu-1"
ENTRIES = [entry("t", 1, n, index=n, uuid="u" if n else None, chunk_id=n) for n in range(3)]


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> S3Server:
    folder = write_tables(tmp_path_factory.mktemp("out"), entries=ENTRIES, runs=[])
    paths = (path for path in folder.rglob("*") if path.is_file())
    s3_server.fill("audits", {f"eu-1/{path.relative_to(folder)}": (path.read_bytes(), {}) for path in paths})
    return s3_server


@pytest.fixture(autouse=True)
def _as_another_process() -> None:
    """Services and credentials are looked for anew."""
    forget_output_buckets()
    copy_of.cache_clear()


def ask(out: str, query: str, endpoint: str | None) -> str:
    return printed(out, query, endpoint=endpoint)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize("named", ["option", "environment"])
def test_a_bucket_is_asked_like_a_folder(
    bucket: S3Server, aws: pytest.MonkeyPatch, scheme: str, named: str, tmp_path: Path
) -> None:
    endpoint = bucket.endpoint if named == "option" else None
    if endpoint is None:
        aws.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
    out = f"{scheme}://{OUT}"
    assert ask(out, "SELECT topic, entries FROM topic_overview", endpoint) == "topic\tentries\nt\t3\n"
    assert ask(out, "SELECT entry_id FROM entries WHERE uuid = 'u' ORDER BY 1", endpoint) == "entry_id\n1\n2\n"
    query = "SELECT entry_id, publish_time FROM entries WHERE entry_id = 1"
    assert write_query(out, query, "parquet", tmp_path / "file", "duckdb", endpoint) == 1
    (row,) = Positions(out, endpoint=endpoint).at_index(2)
    assert (row["ledger_id"], row["entry_id"]) == (1, 2)
    assert Positions(out, endpoint=endpoint).of_uuid("none") == []


def test_credentials_may_stand_in_a_profile(bucket: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        aws.delenv(name)
    (tmp_path / "credentials").write_text("[night]\naws_access_key_id = key\naws_secret_access_key = secret\n")
    (tmp_path / "config").write_text(f"[profile night]\nregion = eu-west-1\nendpoint_url = {bucket.endpoint}\n")
    aws.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    aws.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    aws.setenv("AWS_PROFILE", "night")
    assert ask(f"s3://{OUT}", "SELECT count(*) AS n FROM entries", None) == "n\n3\n"


def test_a_bucket_without_tables(bucket: S3Server, aws: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="s3://audits/none holds no tables"):
        ask("s3://audits/none", "SELECT * FROM entries", bucket.endpoint)


def test_no_credentials_are_one_sentence(bucket: S3Server, aws: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        aws.delenv(name)
    with pytest.raises(SourceError, match=r"permission_denied: .*no AWS credentials") as caught:
        ask(f"s3://{OUT}", "SELECT * FROM entries", bucket.endpoint)
    assert len(str(caught.value).splitlines()) == 1


def test_a_place_that_only_spark_reads_is_told() -> None:
    with pytest.raises(UsageError, match="only Spark reads tables there"):
        ask("hdfs://namenode/audits", "SELECT * FROM entries", None)


def test_a_query_does_not_reach_another_bucket(bucket: S3Server, aws: pytest.MonkeyPatch) -> None:
    other = f"SELECT * FROM read_parquet('{bucket.endpoint}/audits/eu-1/x.parquet') -- entries"
    with pytest.raises(UsageError):
        ask(f"s3://{OUT}", other, bucket.endpoint)


def test_a_store_that_does_not_answer_is_one_sentence(aws: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="Connection refused") as caught:
        ask(f"s3://{OUT}", "SELECT * FROM entries", "http://127.0.0.1:9")
    assert str(caught.value).isprintable()
