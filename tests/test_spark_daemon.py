"""A worker that Spark lets go ends without a word; with PySpark's own daemon a stack trace comes."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest


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
    assert let_go("pulsar_backlog.spark_daemon") == ""


def test_pysparks_own_shows_a_stack_trace() -> None:
    """When this fails, PySpark has mended it, and `spark_daemon` can go."""
    assert "BrokenPipeError" in let_go("pyspark.daemon")


@pytest.mark.usefixtures("spark")
def test_a_session_uses_it() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    parents = session.sparkContext.parallelize([0], 1).map(lambda _: Path(f"/proc/{os.getppid()}/cmdline").read_text())
    assert "pulsar_backlog.spark_daemon" in parents.first()
