"""Which task reads which rows of a plan: tasks of about equal bytes, each with stretches of objects in order.

Rows of one stretch of an object, its bin, are read together: their bytes are mostly in one request. Only sums of bins
come to the driver.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

BIN_BYTES = 64 * 1024 * 1024
"""Stretch of an object whose messages one task reads together."""
TASK_BYTES = 256 * 1024 * 1024
"""Bytes of a task that is large enough."""
TASKS_PER_CORE = 4


def bin_of(offset: Column) -> Column:
    """Number of the stretch of an object in which an offset lies."""
    return f.floor(offset / BIN_BYTES).cast("bigint")


def pack(plan: DataFrame, cores: int) -> DataFrame:
    """The plan, its rows where they will be read: bins packed into tasks of about equal bytes, in order of place.

    The plan is made once and kept with the executors, in memory or on disk, until nobody refers to it any more.

    Args:
        plan: rows with `ledger_id`, `uri`, `offset`, `bin` and `bytes`.
        cores: of all executors.
    """
    plan = plan.localCheckpoint()
    sums = plan.groupBy("ledger_id", "bin").agg(f.sum("bytes").alias("bytes"))
    bins = [(row["ledger_id"], row["bin"], row["bytes"]) for row in sums.toLocalIterator()]
    tasks = assign_tasks(bins, cores)
    task_of_bin = plan.sparkSession.createDataFrame(tasks, "ledger_id bigint, bin bigint, task int")
    count = 1 + max((task for _, _, task in tasks), default=0)
    joined = plan.join(f.broadcast(task_of_bin), on=["ledger_id", "bin"], how="inner")
    # Spark 4.0 places tasks by their hash, where two may meet in one partition: that costs balance, no more.
    repartition = getattr(joined, "repartitionById", joined.repartition)
    return repartition(count, "task").sortWithinPartitions("ledger_id", "uri", "offset").drop("task", "bin", "bytes")


def assign_tasks(bins: Iterable[tuple[int, int, int]], cores: int) -> list[tuple[int, int, int]]:
    """Ledger, bin and task of each bin: the largest first, each to the task that has least.

    Args:
        bins: ledger, number and bytes of each.
        cores: of all executors.
    """
    by_size = sorted(bins, key=lambda item: (-item[2], item[0], item[1]))
    total = sum(size for _, _, size in by_size)
    count = max(1, min(len(by_size), max(cores * TASKS_PER_CORE, -(-total // TASK_BYTES))))
    loads = [(0, task) for task in range(count)]
    tasks = []
    for ledger_id, number, size in by_size:
        load, task = heapq.heappop(loads)
        tasks.append((ledger_id, number, task))
        heapq.heappush(loads, (load + size, task))
    return tasks
