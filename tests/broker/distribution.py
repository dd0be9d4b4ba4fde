"""Pulsar's server distribution: fetched once from Maven Central, checked, unpacked into `.cache/`.

`python -m tests.broker.distribution` does it ahead of the tests (`make test-broker`).
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

from tests.maven import Artifact, fetch

VERSION = "4.0.8"
CACHE = Path(__file__).parents[2] / ".cache" / "broker"
DISTRIBUTION = Artifact(
    "org.apache.pulsar", "pulsar-server-distribution", VERSION, "bin", "tar.gz",
    "35c7d064c9e0928edbf2e708989faba0379662f98aa84ce0d4190c59efb6765e",
)  # fmt: skip


def broker_home() -> Path:
    """The unpacked distribution, fetched if need be.

    Raises:
        RuntimeError: it cannot be had, or is not the file it should be.
    """
    home = CACHE / f"apache-pulsar-{VERSION}"
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            with tarfile.open(fetch(DISTRIBUTION, Path(work))) as tar:
                tar.extractall(work, _members(tar), filter="data")
            (Path(work) / home.name).rename(home)
    return home


def _members(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """What a broker needs: jars and settings; examples and functions are a third of the archive."""
    return [member for member in tar if member.name.split("/")[1:2] in (["lib"], ["conf"])]


if __name__ == "__main__":
    sys.stdout.write(f"{broker_home()}\n")
