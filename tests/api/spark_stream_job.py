"""A stream into Delta that a test may kill: SOURCE OUT CHECKPOINT, with all that is there delivered it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pulsar_backlog
from pulsar_backlog.spark.choice import prefer_c1_compiler
from pulsar_backlog.spark.session import start_session


def main(source: str, out: str, checkpoint: str) -> None:
    prefer_c1_compiler()
    spark = start_session("stream", source)
    pulsar_backlog.register(spark)
    rows = spark.readStream.format("pulsar-backlog").option("payload", "none").load(source)
    writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint)
    Path(f"{out}.begun").touch()
    writer.trigger(availableNow=True).start(out).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
