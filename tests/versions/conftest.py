"""`make test-matrix` runs this folder, `make test` leaves it out: it takes environments of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.versions.environments import ROOT

collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_MATRIX") else ["test_*.py"]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ours, as it is built from here."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, ROOT]
    subprocess.run(command, check=True)
    (made,) = out.glob("*.whl")
    return made
