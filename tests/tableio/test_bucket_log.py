"""Tables in a bucket that this program reads and writes without a JVM: as in a folder, and safe from other writers."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pulsar_backlog.errors import CommitConflictError
from pulsar_backlog.ledgers.buckets.addresses import forget_output_buckets, output_bucket
from pulsar_backlog.output.data_files import BucketPlace, write_data_file
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.bucket_log import BucketLog
from pulsar_backlog.tableio.delta_log import CHECKPOINT_COMMITS
from pulsar_backlog.tableio.log_copy import copy_of
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.staged_files import stage
from pulsar_backlog.tableio.table_cache import small_rows
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.small_tables import store_of
from tests.tableio.test_table_cache import finding, replace_three_times

NEEDS_SPARK = True

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

FINDINGS = TABLES["findings"]


@pytest.fixture
def out(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty place in a bucket."""
    aws.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    forget()
    name = f"tables-{abs(hash(tmp_path))}"
    s3_server.fill(name, {})
    return f"s3a://{name}/eu 1"


def forget() -> None:
    """As another process begins."""
    forget_output_buckets()
    copy_of.cache_clear()
    table_cache.clear()


def keys(s3_server: S3Server, out: str, table: str = "findings") -> list[str]:
    bucket, _, prefix = out.removeprefix("s3a://").partition("/")
    start = f"{prefix}/tables/{table}/"
    found = s3_server.client().list_objects_v2(Bucket=bucket, Prefix=start).get("Contents", ())
    return sorted(one["Key"].removeprefix(start) for one in found)


def log_of(out: str) -> BucketLog:
    return BucketLog(f"{out}/tables/findings")


def codes(out: str) -> list[str]:
    rows = small_rows(out, FINDINGS)
    assert rows is not None
    return sorted(rows["code"].to_pylist())


def test_slices_are_replaced_as_in_a_folder(spark: SparkSession, s3_server: S3Server, out: str, tmp_path: Path) -> None:
    here = replace_three_times(spark, tmp_path)
    store_of(spark, out).replace(FINDINGS, [finding("C01", 1), finding("C02")], Slice.of(cluster="demo"))
    store_of(spark, out).replace(FINDINGS, [finding("C03", 2, cluster="other")], Slice.of(cluster="other"))
    part = Slice.of(cluster="demo").without(ledger_id=[1])
    forget()
    store_of(spark, out).replace(FINDINGS, [finding("C04", 5), finding("C05")], part)
    forget()
    assert store_of(spark, out).frame(FINDINGS).orderBy("code").collect() == here
    assert (store_of(spark, out).version(FINDINGS), sum(rows for *_, rows in log_of(out).files())) == (2, 4)
    options = {"AWS_ENDPOINT_URL": s3_server.endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    table = DeltaTable(f"{out}/tables/findings".replace("s3a", "s3"), storage_options=options)
    assert sorted(table.to_pyarrow_table()["code"].to_pylist()) == ["C01", "C03", "C04", "C05"]


def test_a_table_that_is_not_there_has_no_rows(out: str) -> None:
    assert codes(out) == []
    assert log_of(out).version == -1


def test_of_two_writers_the_second_is_refused(spark: SparkSession, s3_server: S3Server, out: str) -> None:
    first, second = log_of(out), log_of(out)
    first.commit(FINDINGS, [])
    with pytest.raises(CommitConflictError, match="is there already"):
        second.commit(FINDINGS, [])
    assert keys(s3_server, out) == [f"_delta_log/{0:020}.json"]


def test_of_many_writers_at_once_one_has_the_name(out: str) -> None:
    bucket, won = output_bucket(out), Counter[str]()

    def write(number: int) -> None:
        for name in map(str, range(10)):
            if bucket.put_new(name, f"{number} {name}".encode()):
                won[f"{number} {name}"] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = [bucket.read(str(name), 0, 99).tobytes().decode() for name in range(10)]
    assert set(won) == set(stored)
    assert won.total() == len(stored)


def test_who_asks_again_after_a_lost_answer_has_the_name(out: str) -> None:
    bucket = output_bucket(out)
    assert [bucket.put_new("name", body) for body in (b"mine", b"mine", b"other", b"mine and more")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_what_was_written_in_vain_is_removed_and_the_others_commit_stays(
    spark: SparkSession, s3_server: S3Server, out: str
) -> None:
    schema = arrow_schema(FINDINGS)
    late = log_of(out)
    store_of(spark, out).replace(FINDINGS, [finding("C01")], Slice.of(cluster="demo"))
    with pytest.raises(CommitConflictError), stage(late, FINDINGS) as staged:
        batches = pa.Table.from_pylist([finding("C02")], schema=schema).to_batches()
        files = [
            file for batch in write_data_file(batches, staged.place, schema, FINDINGS) for file in batch.to_pylist()
        ]
        assert len(keys(s3_server, out)) == 3
        staged.commit(files)
    assert len(keys(s3_server, out)) == 2
    assert codes(out) == ["C01"]


def test_files_that_no_row_names_go_after_the_commit(s3_server: S3Server, out: str) -> None:
    schema = arrow_schema(FINDINGS)
    batches = pa.Table.from_pylist([finding("C02")], schema=schema).to_batches()
    with stage(log_of(out), FINDINGS) as staged:
        assert isinstance(staged.place, BucketPlace)
        list(write_data_file(batches, staged.place, schema, FINDINGS))  # of a task that was lost
        (file,) = write_data_file(batches, staged.place, schema, FINDINGS)
        staged.commit(file.to_pylist())
        assert len(keys(s3_server, out)) == 3
    assert keys(s3_server, out) == [f"_delta_log/{0:020}.json", file["name"][0].as_py()]
    assert codes(out) == ["C02"]


def test_the_log_is_summed_up_and_read_on_by_others(spark: SparkSession, s3_server: S3Server, out: str) -> None:
    for number in range(CHECKPOINT_COMMITS + 3):
        store_of(spark, out).replace(FINDINGS, [finding(f"C{number:02}")], Slice.of(code=f"C{number:02}"))
    assert f"_delta_log/{CHECKPOINT_COMMITS:020}.checkpoint.parquet" in keys(s3_server, out)
    forget()
    assert len(codes(out)) == CHECKPOINT_COMMITS + 3
    copied = sorted(path.name[:20] for path in (log_of(out)._copy.folder / "_delta_log").glob("*.json"))
    assert copied[0] == f"{CHECKPOINT_COMMITS:020}"  # what the checkpoint holds is not fetched


def test_a_table_made_anew_at_the_same_place_is_another(spark: SparkSession, s3_server: S3Server, out: str) -> None:
    for code in ("C01", "C02"):
        store_of(spark, out).replace(FINDINGS, [finding(code)], Slice.of(cluster="demo"))
        assert codes(out) == [code]
        bucket: Any = output_bucket(f"{out}/tables/findings")
        for key in keys(s3_server, out):
            bucket.remove(key)
    assert codes(out) == []
