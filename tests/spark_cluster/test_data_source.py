"""The Spark data source where executors have nothing of ours but the zip: its rows are those of the Python API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.spark_sources import MODULES, PROGRAM, rows_of_api, rows_of_files
from tests.spark_cluster.cluster import Cluster
from tests.spark_cluster.running import Bucket

CONDITION = "ledger_id IN (22, 24) AND entry_id > 0 AND publish_time > timestamp '2000-01-01' AND producer_name <> ''"


@pytest.fixture(scope="module")
def out(cluster: Cluster, source_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the program wrote that `spark-submit` sent to the cluster."""
    folder = tmp_path_factory.mktemp("read") / "out"
    done = cluster.submit(PROGRAM, source_bucket, "{}", folder, CONDITION)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def credentials(bucket: Bucket) -> Iterator[None]:
    """Those of drivers and workers, here too."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (bucket.environment | {"AWS_EC2_METADATA_DISABLED": "true"}).items():
            patch.setenv(name, value)
        yield


def test_executors_have_the_zip_alone(out: Path, cluster: Cluster) -> None:
    modules = Path((out / MODULES).read_text())
    (zipped,) = (path for path in modules.parents if path.suffix == ".zip")
    assert cluster.folder in zipped.parents  # in the folder of a worker


@pytest.mark.parametrize("rows", ["messages", "entries"])
def test_rows_under_a_filter_are_those_of_the_api(out: Path, source_bucket: str, credentials: None, rows: str) -> None:
    expected = [row for row in rows_of_api(source_bucket, rows, {}) if chosen(row)]
    assert rows_of_files(out)[rows] == expected
    assert {row["ledger_id"] for row in expected} == {22, 24}


def test_a_stream_delivers_each_message_once(out: Path, source_bucket: str, credentials: None) -> None:
    assert rows_of_files(out)["stream"] == rows_of_api(source_bucket, "messages", {})


def chosen(row: dict[str, Any]) -> bool:
    """As CONDITION has it."""
    return row["ledger_id"] in (22, 24) and row["entry_id"] > 0 and bool(row["producer_name"])
