"""Pulsar's server and offloaders: fetched once from Maven Central, checked, unpacked into `.cache/`.

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

OFFLOADERS = Artifact(
    "org.apache.pulsar", "pulsar-offloader-distribution", VERSION, "bin", "tar.gz",
    "a73d8c48f578edbc572147351fbca742740b3fe4329f892ce80f3de717adf6c7",
)  # fmt: skip


def broker_home() -> Path:
    """The unpacked distribution, fetched if need be.

    Raises:
        RuntimeError: it cannot be had, or is not the file it should be.
    """
    # Examples and functions are a third of the archive.
    return _unpacked(DISTRIBUTION, f"apache-pulsar-{VERSION}", ("lib", "conf"))


def offloaders() -> Path:
    """The folder of the offloaders, fetched if need be.

    Raises:
        RuntimeError: as `broker_home`.
    """
    return _unpacked(OFFLOADERS, f"apache-pulsar-offloaders-{VERSION}", ("offloaders",)) / "offloaders"


def _unpacked(artifact: Artifact, name: str, folders: tuple[str, ...]) -> Path:
    """These folders of an archive."""
    home = CACHE / name
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            with tarfile.open(fetch(artifact, Path(work))) as tar:
                members = [member for member in tar if member.name.split("/")[1:2] in [[one] for one in folders]]
                tar.extractall(work, members, filter="data")
            (Path(work) / name).rename(home)
    return home


if __name__ == "__main__":
    sys.stdout.write(f"{broker_home()}\n{offloaders()}\n")
