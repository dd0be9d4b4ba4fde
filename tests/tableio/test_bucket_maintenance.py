"""Upkeep of a table in a bucket: as in a folder, by a listing of the bucket and the copy of the log."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pulsar_backlog.tableio.bucket_log import BucketLog
from pulsar_backlog.tableio.maintenance import Upkeep, keep_up, upkeep_of
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.staged_files import stage
from pulsar_backlog.tableio.store import TableStore
from tests.frames.rows import table_rows
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.tableio.test_bucket_log import FINDINGS, codes, forget, keys, log_of, out
from tests.tableio.test_table_cache import finding

__all__ = ["aws", "out", "s3_server"]  # fixtures that tests here ask for by name

WEEK = 168


def needed(log: BucketLog, hours: int = WEEK, later_ms: int = 0) -> Upkeep:
    return upkeep_of(log, FINDINGS, hours, time.time_ns() // 1_000_000 + later_ms)


def store_of(out: str) -> TableStore:
    def begin() -> None:
        raise AssertionError("no session is needed")

    return TableStore(out, begin)  # type: ignore[arg-type]


def add(out: str, code: str) -> None:
    with stage(log_of(out), FINDINGS) as staged:
        staged.commit(staged.write(table_rows("findings", [finding(code)])))


def test_small_objects_become_one_and_go_when_their_time_has_come(s3_server: S3Server, out: str) -> None:
    names = [f"C0{number}" for number in range(1, 6)]
    for code in names:
        add(out, code)
    old = {name for name in keys(s3_server, out) if "/" not in name}
    kept_up = keep_up(store_of(out), log_of(out), FINDINGS, needed(log_of(out)))
    assert (len(kept_up.joined), kept_up.joined_into, kept_up.checkpoint, kept_up.unused) == (5, 1, True, {})
    assert old < set(keys(s3_server, out)), "readers go on"
    forget()
    assert codes(out) == names
    assert needed(log_of(out)).is_due is False

    s3_server.client().put_object(Bucket=out.split("/")[2], Key="eu 1/tables/findings/part-x.zstd.parquet", Body=b"x")
    assert needed(log_of(out)).unused == {}, "somebody may be about to name it"
    time.sleep(1.1)  # the store's clock has seconds
    due = needed(log_of(out), 0, 60_000)
    assert set(due.unused) == {*old, "part-x.zstd.parquet"}
    assert set(due.old_log) == {f"{version:020}.json" for version in range(5)}
    keep_up(store_of(out), log_of(out), FINDINGS, due)
    (data,) = [path for path, *_ in log_of(out).files()]
    log = [f"_delta_log/{5:020}.checkpoint.parquet", f"_delta_log/{5:020}.json", "_delta_log/_last_checkpoint"]
    assert keys(s3_server, out) == sorted([*log, data])
    forget()
    assert codes(out) == names
    store_of(out).replace(FINDINGS, [finding("C09")], Slice.of(cluster="demo"))
    forget()
    assert codes(out) == ["C09"]
    options = {"AWS_ENDPOINT_URL": s3_server.endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    table = DeltaTable(f"{out}/tables/findings".replace("s3a", "s3"), storage_options=options)
    assert table.to_pyarrow_table()["code"].to_pylist() == ["C09"]


@pytest.mark.parametrize("name", ["../escaped.parquet", "..", "a/b.parquet", "\x1b[2J.parquet"])
def test_no_name_in_the_bucket_leads_out_of_the_copy(s3_server: S3Server, out: str, name: str, tmp_path: Path) -> None:
    add(out, "C01")
    s3_server.client().put_object(Bucket=out.split("/")[2], Key=f"eu 1/tables/findings/{name}", Body=b"x")
    copy = log_of(out)._copy.folder
    beside = set(copy.parent.iterdir())
    assert needed(log_of(out), 0, 60_000).unused == {}
    assert [path.name for path in copy.iterdir()] == ["_delta_log"]
    new = set(copy.parent.iterdir()) - beside  # other processes have folders of their own here
    assert not [path for path in new if path.name.endswith(".parquet")]
