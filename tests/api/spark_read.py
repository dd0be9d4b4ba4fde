"""A program that reads topics by the Spark data source, as anybody would: SOURCE OPTIONS OUT [CONDITION].

OPTIONS is JSON, those of the source. OUT becomes a folder with a file of Arrow for each kind of rows, those of which
the condition holds; one for the messages of a stream; and `modules`, the place that workers have the package from. It
imports nothing of the tests, so that it runs where there is only the package: on a cluster, on another Spark.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import pulsar_backlog


def main(source: str, given: str, out: str, condition: str = "true") -> None:
    spark = SparkSession.builder.getOrCreate()
    pulsar_backlog.register(spark)
    options = json.loads(given)
    Path(out).mkdir()
    for rows in ("messages", "entries"):
        reader = spark.read.format("pulsar-backlog").options(**options).option("rows", rows)
        write(reader.load(source).where(condition), Path(out, rows))
    write(streamed(spark, source, options), Path(out, "stream"))
    (modules,) = spark.range(1).mapInArrow(modules_of_worker, "path STRING").collect()
    Path(out, "modules").write_text(modules.path)
    spark.stop()


def streamed(spark: SparkSession, source: str, options: dict[str, str]) -> DataFrame:
    """All that is there, by a stream into files."""
    place = tempfile.mkdtemp(prefix="streamed-")
    rows = spark.readStream.format("pulsar-backlog").options(**options).load(source)
    query = rows.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
    query.trigger(availableNow=True).start(f"{place}/rows").awaitTermination()
    return spark.read.schema(StructType(rows.schema.fields)).parquet(f"{place}/rows")


def modules_of_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"path": [str(Path(pulsar_backlog.__file__).resolve())]})


def write(frame: DataFrame, path: Path) -> None:
    table = frame.toArrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
