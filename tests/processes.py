"""Processes of their own: fresh ones, and servers that end with the tests."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import Any

STOP_SECONDS = 30


def fresh_python(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with this path and nothing loaded, run to its end."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, *argv], env=env, capture_output=True, text=True, check=False)


def end(process: subprocess.Popen[Any]) -> None:
    """Have a process end, and wait for it."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def die_with_parent() -> None:
    """Have the kernel end this process when the tests are killed (Linux; elsewhere it stays)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
