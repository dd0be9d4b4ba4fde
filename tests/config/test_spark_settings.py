"""conf/spark/submit.conf says for spark-submit what the code says for a session of its own, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from pulsar_backlog.config import load_pipelines
from pulsar_backlog.spark import jars, session
from pulsar_backlog.tableio import work_size

SETTINGS = dict(
    line.split(None, 1)
    for line in (Path(__file__).parents[2] / "conf/spark/submit.conf").read_text().splitlines()
    if line and not line.startswith("#")
)


def test_it_holds_what_a_cluster_must_have() -> None:
    assert SETTINGS == session.REQUIRED_SETTINGS


def test_what_fits_the_work_is_left_to_the_jobs() -> None:
    chosen = SETTINGS.keys() | {key for one in load_pipelines().pipelines.values() for key in one.spark}
    assert not chosen & work_size.WORK_SETTINGS.keys()


@pytest.mark.parametrize(
    ("size", "partitions"),
    [
        (0, 4),  # nothing is there yet, or its size is not known
        (4 * work_size.PARTITION_BYTES, 4),
        (4 * work_size.PARTITION_BYTES + 1, 5),
        (40 * work_size.PARTITION_BYTES, 40),
    ],
)
def test_a_shuffle_grows_with_the_work(size: int, partitions: int) -> None:
    assert work_size.partitions_for(size) == partitions


def test_the_jars_of_s3a_are_those_of_this_spark() -> None:
    (hadoop,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    version = hadoop.stem.rpartition("-")[2]
    listed = jars.s3a_artifacts()
    assert f"org.apache.hadoop:hadoop-aws:{version}" in listed
    assert all(len(sha256) == 64 for sha256 in listed.values())
    own = {path.name.rpartition("-")[0] for path in Path(pyspark.__file__).parent.glob("jars/*.jar")}
    assert not own & {artifact.split(":")[1] for artifact in listed}
