"""Rows of the Spark data source and of the Python API side by side: the same, all columns of them, each once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import pulsar_backlog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = Path(__file__).with_name("spark_read.py")
MODULES = "modules"
"""The file that says where workers have the package from."""
ORDER = ("topic", "ledger_id", "entry_id", "batch_index", "chunk_uuid")


def rows_of_spark(session: SparkSession, source: str, rows: str, options: Mapping[str, str]) -> list[dict[str, Any]]:
    """All rows that `spark.read` gives, in the order of their places."""
    frame = session.read.format("pulsar-backlog").option("rows", rows).options(**options).load(source)
    return in_order(frame.toArrow())


def run_program(source: str, options: Mapping[str, str], out: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of a program of its own, whose workers have this process's environment."""
    own = {
        "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "--conf spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 pyspark-shell",
    }  # fmt: skip
    environment = {**os.environ, **own}
    command = [sys.executable, str(PROGRAM), source, json.dumps(options), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return rows_of_files(out)


def rows_of_files(out: Path) -> dict[str, list[dict[str, Any]]]:
    """What `spark_read.py` wrote: `messages`, `entries` and those of a `stream`."""
    found = {}
    for path in (path for path in out.iterdir() if path.name != MODULES):
        with pa.memory_map(str(path)) as file:
            found[path.name] = in_order(pa.ipc.open_file(file).read_all())
    return found


def rows_of_api(source: str, rows: str, options: Mapping[str, Any], **choices: Any) -> list[dict[str, Any]]:
    """The same of the Python API."""
    backlog = pulsar_backlog.open(source, **options)  # type: ignore[arg-type]  # by name
    reader = backlog.entries(**choices) if rows == "entries" else backlog.messages(**choices)
    return in_order(reader.read_all())


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    """Rows by place, as plain values."""
    names = [name for name in ORDER if name in table.schema.names]
    listed = table.to_pylist(maps_as_pydicts="strict")
    return sorted(listed, key=lambda row: [str(row[name]).rjust(20, "0") for name in names])
