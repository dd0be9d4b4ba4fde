"""Spark's Python daemon, whose workers begin at once, and end without a word when Spark lets them go.

Spark closes the connection of a worker that had no task for a minute. PySpark's worker takes that for a failure, which
it can report to nobody, and a stack trace comes to the terminal in the middle of a job that is well.

Source: PythonWorkerFactory.scala, daemon.py and worker.py of apache/spark, 4.1.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from io import BufferedReader
from typing import BinaryIO

from pyspark import daemon, worker

from pulsar_backlog.workers import forget_archives

NEEDED = ("pandas", "pyarrow", "pulsar_backlog.wire.kernel")
"""What nearly every task imports, half a second of a core: here once, and not by each worker that is forked."""


def run_task(infile: BufferedReader, outfile: BinaryIO) -> None:
    """Run the next task, as `pyspark.worker.main` does, once there is one.

    Raises:
        SystemExit: Spark has closed the connection.
    """
    if not infile.peek(1):
        sys.exit(1)  # with 0 the daemon would go on waiting for a task
    forget_archives()
    worker.main(infile, outfile)


if __name__ == "__main__":
    for module in NEEDED:
        with suppress(Exception):  # a task that needs it says why it cannot be had
            import_module(module)
    daemon.worker_main = run_task
    daemon.manager()  # type: ignore[no-untyped-call]
