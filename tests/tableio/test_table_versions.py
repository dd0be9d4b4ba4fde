"""A table that is older than the last run left it is refused by name; what is newer, or may be deleted, is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened
from pulsar_backlog.tableio.table_versions import NAME, check_versions, record_versions
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.small_tables import write_tables

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

RUNS = [[{"run_id": "1"}], [{"run_id": "2"}], [{"run_id": "3"}]]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two tables at versions 2 and 0."""
    for rows in RUNS:
        write_tables(tmp_path, runs=rows)
    return write_tables(tmp_path, messages=[{}])


def log(out: Path, table: str) -> Path:
    return out / "tables" / table / "_delta_log"


def test_versions_are_those_of_the_logs(out: Path) -> None:
    check_versions(str(out))  # nothing is recorded of an audit that an earlier version made
    record_versions(str(out))
    assert json.loads((out / NAME).read_text()) == {"runs": 2, "messages": 0}
    check_versions(str(out))
    write_tables(out, runs=[{"run_id": "4"}], rejects=[])
    check_versions(str(out))  # a run that was killed recorded nothing


@pytest.mark.parametrize("gone", [2, 1])
def test_a_commit_that_is_gone(out: Path, gone: int) -> None:
    record_versions(str(out))
    (log(out, "runs") / f"{gone:020}.json").unlink()
    with pytest.raises(UsageError, match=f"the table runs in {out} is at version {gone - 1}, .* left it at version 2"):
        check_versions(str(out))


def test_who_only_reads_is_told_too(out: Path) -> None:
    record_versions(str(out))
    (log(out, "runs") / f"{2:020}.json").unlink()
    with (
        pytest.raises(UsageError, match="the table runs"),
        opened(str(out), "SELECT * FROM runs"),
    ):
        pass
    with opened(str(out), "SELECT * FROM messages") as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchall() == [(1,)]


def test_a_table_that_is_gone(out: Path) -> None:
    record_versions(str(out))
    shutil.rmtree(out / "tables" / "messages")
    check_versions(str(out))  # no other table counts on it, and it holds payloads
    shutil.rmtree(out / "tables" / "runs")
    with pytest.raises(UsageError, match=r"the table runs .* is gone"):
        check_versions(str(out))


def test_a_log_that_was_summed_up_and_cleaned(out: Path) -> None:
    from deltalake import DeltaTable

    DeltaTable(out / "tables" / "runs").create_checkpoint()
    record_versions(str(out))
    for commit in log(out, "runs").glob("*.json"):
        commit.unlink()
    check_versions(str(out))


def test_all_tables_put_back_together(out: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    record_versions(str(out))
    backup = tmp_path_factory.mktemp("backup") / "tables"
    shutil.copytree(out / "tables", backup)
    write_tables(out, runs=[{"run_id": "4"}])
    record_versions(str(out))
    shutil.rmtree(out / "tables")
    shutil.copytree(backup, out / "tables")
    check_versions(str(out))


def test_a_record_that_is_damaged(out: Path) -> None:
    (out / NAME).write_text("[")
    with pytest.raises(UsageError, match=r"versions\.json is damaged: audit again with a new --out"):
        check_versions(str(out))


def test_in_a_bucket(out: Path, s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    paths = [path for path in out.rglob("*") if path.is_file()]
    s3_server.fill("versions", {f"eu 1/{path.relative_to(out)}": (path.read_bytes(), {}) for path in paths})
    there = "s3a://versions/eu 1"
    check_versions(there)
    record_versions(there)
    check_versions(there)
    body = s3_server.client().get_object(Bucket="versions", Key=f"eu 1/{NAME}")["Body"].read()
    assert json.loads(body) == {"runs": 2, "messages": 0}
    s3_server.client().delete_object(Bucket="versions", Key=f"eu 1/tables/runs/_delta_log/{2:020}.json")
    with pytest.raises(UsageError, match="the table runs in s3a://versions/eu 1 is at version 1"):
        check_versions(there)
    with pytest.raises(UsageError, match="the table runs"), opened("s3://versions/eu 1", "SELECT * FROM runs"):
        pass


def test_addresses_that_only_spark_reaches() -> None:
    check_versions("hdfs://namenode/audits")
    record_versions("hdfs://namenode/audits")
    check_versions(None)
