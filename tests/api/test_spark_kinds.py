"""The Spark data source on every kind of storage that stands still: its rows are those of the Python API."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import pulsar_backlog
from pulsar_backlog.api.spark_source import PUSHDOWN
from tests.api.spark_sources import rows_of_api, rows_of_spark, run_program
from tests.auditing import DATA, OBJECTS
from tests.ledgers.conftest import S3Server, aws, s3_server

NEEDS_SPARK = True

__all__ = ["aws", "s3_server"]

BOOKIE = DATA / "bookies" / "source"
KINDS = {
    "objects": OBJECTS,
    "mapfiles": DATA / "mapfiles" / "source",
    "segments": DATA / "pulsar5" / "objects",
    "segments in mapfiles": DATA / "pulsar5" / "mapfiles",
    "bookie": BOOKIE,
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(PUSHDOWN, "false")
    pulsar_backlog.register(spark)
    yield spark
    spark.conf.set(PUSHDOWN, str(before))


def same_rows(session: SparkSession, source: str, options: dict[str, Any], visible: Any) -> None:
    found = rows_of_spark(session, source, "messages", {**options, "visible": visible})
    assert found == rows_of_api(source, "messages", options, visible=visible)
    assert found
    stored = rows_of_spark(session, source, "entries", options)
    assert stored == rows_of_api(source, "entries", options)
    assert stored


@pytest.mark.parametrize("visible", ["committed", "stored"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_api(session: SparkSession, kind: str, visible: str) -> None:
    same_rows(session, str(KINDS[kind]), {}, visible)


def test_several_bookies_are_read_as_one(session: SparkSession, tmp_path: Path) -> None:
    for name in ("bookie-1", "bookie-2"):
        shutil.copytree(BOOKIE, tmp_path / name)
    source = f"bookies://{tmp_path}/bookie-*"
    same_rows(session, source, {}, "committed")
    assert len(rows_of_spark(session, source, "entries", {})) == len(rows_of_api(str(BOOKIE), "entries", {}))


def test_a_bucket(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s3_server.fill("kinds", {f"pre/{path.name}": (path.read_bytes(), {}) for path in OBJECTS.iterdir()})
    options = {"endpoint": s3_server.endpoint}
    found = run_program("s3://kinds/pre", options, tmp_path / "out")
    for rows in ("messages", "entries"):
        assert found[rows] == rows_of_api("s3://kinds/pre", rows, options)
        assert without_places(found[rows]) == without_places(rows_of_api(str(OBJECTS), rows, {}))
    assert found["stream"] == found["messages"]


def without_places(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ("uri", "payload_file")} for row in rows]
