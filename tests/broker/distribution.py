"""Pulsar's server and offloaders: fetched once from Maven Central, checked, unpacked into `.cache/`.

`python -m tests.broker.distribution` does it ahead of the tests (`make test-broker`).
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.maven import Artifact, fetch, one_process

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


@dataclass(frozen=True)
class Server:
    """What Java needs to start a broker of one release.

    Attributes:
        class_path: its jars.
        logging: settings of its log.
        takes_bookie_port: whether an option names the port of its bookie; else it looks for a free one.
    """

    class_path: str
    logging: Path
    takes_bookie_port: bool = True


def distributed() -> Server:
    """The server of the distribution.

    Raises:
        RuntimeError: as `broker_home`.
    """
    home = broker_home()
    return Server(f"{home / 'conf'}:{home / 'lib'}/*", home / "conf" / "log4j2.yaml")


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
    with one_process(CACHE):
        if home.is_dir():
            return home
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            with tarfile.open(fetch(artifact, Path(work))) as tar:
                members = [member for member in tar if member.name.split("/")[1:2] in [[one] for one in folders]]
                tar.extractall(work, members, filter="data")
            (Path(work) / name).rename(home)
    return home


if __name__ == "__main__":
    sys.stdout.write(f"{broker_home()}\n{offloaders()}\n")
