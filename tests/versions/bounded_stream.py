"""A program that streams entries in bounded batches: SOURCE MOST OUT TRIGGER. It has the package, nothing of the tests.

OUT becomes a folder with a file of Arrow for each batch. TRIGGER is `available-now`, or `all-available`, which stops a
stream without trigger when nothing more comes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import pulsar_backlog


def main(source: str, most: str, out: str, trigger: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    pulsar_backlog.register(spark)
    Path(out).mkdir()

    def write(frame: DataFrame, batch: int) -> None:
        table = frame.toArrow()
        with pa.OSFile(f"{out}/{batch}", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    stream = spark.readStream.format("pulsar-backlog").option("rows", "entries")
    rows = stream.option("max_entries_per_batch", most).load(source)
    query = rows.writeStream.foreachBatch(write).option("checkpointLocation", f"{out}-checkpoint")
    if trigger == "available-now":
        query.trigger(availableNow=True).start().awaitTermination()
    else:
        started = query.start()
        started.processAllAvailable()
        started.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
