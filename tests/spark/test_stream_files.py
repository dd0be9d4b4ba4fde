"""Files that were sent to Spark lie where the planner of streams looks, also those that are sent later."""

from __future__ import annotations

from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from pulsar_backlog.spark.stream_files import FOLDER, link_files_for_streams

NEEDS_SPARK = True


def test_planners_of_streams_find_what_was_sent(spark: SparkSession, tmp_path: Path) -> None:
    link_files_for_streams(spark)
    link_files_for_streams(spark)
    module = tmp_path / "sent_for_streams.py"
    module.write_text("sent = True\n")
    spark.sparkContext.addFile(str(module))
    root = Path(SparkFiles.getRootDirectory())
    assert (root / FOLDER / module.name).read_text() == module.read_text()
