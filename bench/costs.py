"""Where the time of a scan goes: core microseconds per entry, step by step, each measured with all before it."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bench.measuring import Timing
from bench.subjects import CLUSTER, Backlog
from pulsar_backlog.ledgers.walk import walk_unit
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables.entries import TABLE


def core_us_per_entry(backlog: Backlog, to_delta: Timing) -> dict[str, float]:
    """Cost of each step: reading and walking, decoding, writing Parquet with all that Spark's tasks and Delta add."""
    schema = StructType.fromDDL(TABLE.ddl())
    assert isinstance(schema, StructType)
    arrow = to_arrow_schema(schema)
    source, units = backlog.source, backlog.units()

    def walk() -> None:
        for unit in units:
            for _ in walk_unit(source, unit):
                pass

    def decode() -> None:
        for unit in units:
            for _ in scan_unit(source, unit, CLUSTER, arrow):
                pass

    upto = [_core_seconds(walk), _core_seconds(decode), min(to_delta.cpu_seconds)]
    steps = [after - before for before, after in zip([0.0, *upto], upto, strict=False)]
    names = ("read and walk", "decode to Arrow", "Parquet, tasks and commit")
    return {name: step / backlog.entries * 1e6 for name, step in zip(names, steps, strict=True)}


def _core_seconds(action: Callable[[], None]) -> float:
    """Core seconds of the second run in this process: the first one compiles."""
    action()
    began = time.process_time()
    action()
    return time.process_time() - began
