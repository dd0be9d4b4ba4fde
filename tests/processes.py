"""Processes of their own: what a command does before anything is loaded."""

from __future__ import annotations

import os
import subprocess
import sys


def fresh_python(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with this path and nothing loaded, run to its end."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, *argv], env=env, capture_output=True, text=True, check=False)
