"""A stream into Delta that a test may kill: SOURCE FOLDER [go on].

It ends when all that is there is delivered, or goes on until it is killed. In the folder are the table `out`, the
`checkpoint`, and, when the query starts, `out.begun`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pulsar_backlog
from pulsar_backlog.spark.session import start_session


def main(source: str, folder: str, *goes_on: str) -> None:
    spark = start_session("stream", source)
    pulsar_backlog.register(spark)
    rows = spark.readStream.format("pulsar-backlog").option("payload", "none").load(source)
    writer = rows.writeStream.format("delta").option("checkpointLocation", f"{folder}/checkpoint")
    Path(folder, "out.begun").touch()
    triggered = writer.trigger(processingTime="100 milliseconds") if goes_on else writer.trigger(availableNow=True)
    triggered.start(f"{folder}/out").awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
