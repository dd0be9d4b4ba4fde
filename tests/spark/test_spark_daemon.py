"""A worker begins without reading archives, and ends without a word; with PySpark's own daemon a stack trace comes."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.spark import daemon as spark_daemon

NEEDS_SPARK = True


def read_int(connection: socket.socket) -> int:
    (value,) = struct.unpack("!i", connection.recv(4, socket.MSG_WAITALL))
    return int(value)


def let_go(module: str) -> str:
    """What a daemon and its only worker say when the worker is let go before it had a task."""
    with tempfile.TemporaryDirectory() as folder:  # a path that is short enough for a socket
        return _let_go(module, folder)


def _let_go(module: str, folder: str) -> str:
    env = os.environ | {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "PYTHON_WORKER_FACTORY_SOCK_DIR": folder}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    daemon = subprocess.Popen(
        [sys.executable, "-m", module, "pyspark.worker"], env=env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert daemon.stdout is not None
    (length,) = struct.unpack("!i", daemon.stdout.read(4))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(daemon.stdout.read(length).decode())
        worker = Path(f"/proc/{read_int(connection)}")
    try:
        give_up = time.monotonic() + 60
        while worker.exists():
            assert time.monotonic() < give_up, "the worker does not end"
            time.sleep(0.01)
    finally:
        _out, said = daemon.communicate()  # the end of its input ends the daemon
    return said.decode()


def test_ours_says_nothing() -> None:
    assert let_go("pulsar_backlog.spark.daemon") == ""


def test_pysparks_own_shows_a_stack_trace() -> None:
    """When this fails, PySpark has mended it, and `spark.daemon` can go."""
    assert "BrokenPipeError" in let_go("pyspark.daemon")


def test_a_task_finds_no_importer_of_an_archive_that_its_worker_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = str(tmp_path / "some.zip")
    ZipFile(archive, "w").close()
    monkeypatch.setitem(sys.path_importer_cache, archive, zipimporter(archive))
    found: list[bool] = []
    monkeypatch.setattr(spark_daemon.worker, "main", lambda *_: found.append(archive in sys.path_importer_cache))
    spark_daemon.run_task(BufferedReader(BytesIO(b"a task")), BytesIO())
    assert found == [False]


def test_a_session_uses_it_and_workers_have_what_tasks_need(spark: SparkSession) -> None:
    def told(_: int) -> Iterator[tuple[str, list[str]]]:
        yield Path(f"/proc/{os.getppid()}/cmdline").read_text(), list(sys.modules)

    ((daemon, modules),) = spark.sparkContext.parallelize([0], 1).flatMap(told).collect()
    assert "pulsar_backlog.spark.daemon" in daemon
    assert set(spark_daemon.NEEDED) <= set(modules)
