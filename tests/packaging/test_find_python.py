"""The one script that finds a Python for `make`: what it takes, and what it says where there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "find_python"


def find(folder: Path, *arguments: str, pyenv: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin", "PYENV_ROOT": str(pyenv)}
    return subprocess.run([SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False)


def put(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_one_that_is_nowhere_is_one_sentence(tmp_path: Path) -> None:
    done = find(tmp_path, "3.99", pyenv=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Python 3.99 is needed: install it")


@pytest.mark.parametrize("shim", ["exit 127", "echo /elsewhere/python 3.98"])
def test_a_shim_that_does_not_run_it_is_passed_over(shim: str, tmp_path: Path) -> None:
    """As pyenv's, of a version that is not chosen."""
    put(tmp_path / "python3.99", shim)
    put(tmp_path / "pyenv" / "versions" / "3.99.2" / "bin" / "python", "echo /pyenv/3.99.2/python 3.99")
    put(tmp_path / "pyenv" / "versions" / "3.99.10" / "bin" / "python", "echo /pyenv/3.99.10/python 3.99")
    assert find(tmp_path, "3.99", pyenv=tmp_path / "pyenv").stdout == "/pyenv/3.99.10/python\n"


def test_the_newest_of_those_that_run_is_taken(tmp_path: Path) -> None:
    pyenv = tmp_path / "pyenv"
    put(tmp_path / "python3.13", "exit 127")
    put(tmp_path / "python3.12", "echo /path/python3.12 3.12")
    put(tmp_path / "python3.11", "echo /path/python3.11 3.11")
    assert find(tmp_path, pyenv=pyenv).stdout == "/path/python3.12\n"
    put(pyenv / "versions" / "3.13.0" / "bin" / "python", "echo /pyenv/3.13.0/python 3.13")
    assert find(tmp_path, pyenv=pyenv).stdout == "/pyenv/3.13.0/python\n"
