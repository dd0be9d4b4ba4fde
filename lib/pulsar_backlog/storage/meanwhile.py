"""A question that Java is asked while tasks read, so that it knows the way when it is asked in earnest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.storage.delta import gathered
from pulsar_backlog.storage.work_size import holds_results


@contextmanager
def asked_meanwhile(spark: SparkSession, question: Callable[[], DataFrame]) -> Iterator[None]:
    """Where work is small, ask a question beside the block, of the tables as they are then; nobody takes the answer.

    The first larger query of a JVM takes some four seconds of loading and compiling classes, the same again a tenth,
    and while Python workers read ledgers Java has little to do. What goes wrong is told when it is asked in earnest.
    """
    if not holds_results(spark):
        yield
        return
    with ThreadPoolExecutor(1) as beside:
        beside.submit(lambda: gathered(question()))
        yield
