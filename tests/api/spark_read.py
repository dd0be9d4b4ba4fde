"""A program that reads topics by the Spark data source, as anybody would: SOURCE OPTIONS OUT.

OPTIONS is JSON, those of the source; OUT becomes a folder with a file of Arrow for each kind of rows. It imports
nothing of the tests, so that it runs where there is only the package: on a cluster, on another Spark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import pulsar_backlog


def main(source: str, options: str, out: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    pulsar_backlog.register(spark)
    Path(out).mkdir()
    for rows in ("messages", "entries"):
        reader = spark.read.format("pulsar-backlog").options(**json.loads(options)).option("rows", rows)
        table = reader.load(source).toArrow()
        with pa.OSFile(f"{out}/{rows}", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
