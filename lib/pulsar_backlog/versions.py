"""Which version runs: of the program, the commit it was built from, and of every package it stands on."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from pulsar_backlog import __version__

COMMIT_FILE = Path(__file__).with_name("commit.txt")
"""Written into a wheel when it is built; in a checkout git is asked."""

PACKAGES = (
    "pyspark", "delta-spark", "deltalake", "duckdb", "sqlglot", "great-expectations", "protobuf", "fastavro",
    "pyruhvro", "pandas", "numpy", "numba", "pyarrow", "pulsar-client", "urllib3", "botocore", "google-auth",
    "azure-identity", "google-crc32c", "cramjam", "zlib-ng", "cryptography", "rocksdict", "pyroaring", "pydantic",
    "pyyaml", "typer", "rich", "jinja2", "apprise", "openlineage-python", "prometheus-client",
)  # fmt: skip
"""The dependencies of pyproject.toml, in its order."""

_TIMEOUT_SECONDS = 5


def version_lines() -> Iterator[str]:
    """What a bug report should say of versions, a line each."""
    commit = build_commit()
    yield f"pulsar-backlog {__version__}" + (f" (commit {commit})" if commit else "")
    yield f"python {platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in PACKAGES:
        yield f"{name} {package_version(name) or 'is not installed'}"


def package_version(name: str) -> str | None:
    """The version of a package that is installed; None where it is not."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def build_commit() -> str | None:
    """The commit of this code, `-dirty` where it was changed since; None where nobody knows."""
    if COMMIT_FILE.is_file():
        return COMMIT_FILE.read_text(encoding="utf-8").strip() or None
    root = Path(__file__).parents[2]
    return described(root) if (root / ".git").exists() else None


def described(root: Path) -> str | None:
    """The commit of a checkout; None where git does not say."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(  # noqa: S603 - our own command line, no shell
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
