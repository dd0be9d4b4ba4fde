"""The runtime jars of a Pulsar 5.0.0-M1 broker and its clients: fetched once from Maven Central, checked, in `.cache/`.

No server distribution of it is published. `jars.lock` names each jar by its coordinates and SHA-256: what Ivy resolved
for `pulsar-broker` and `pulsar-client-v5` once. It is not resolved anew, since the outcome depends on which POMs a
repository has that day. `python -m tests.broker5.distribution` fetches them ahead of the tests (`make test-broker5`).
All of them run on the Java of the other tests.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from tests.maven import Artifact, fetch_all

VERSION = "5.0.0-M1"
CACHE = Path(__file__).parents[2] / ".cache" / "broker5"
LOCK = Path(__file__).with_name("jars.lock")


def jars() -> Path:
    """The folder of the jars, fetched if need be.

    Raises:
        RuntimeError: they cannot be had, or are not the files they should be.
    """
    home = CACHE / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            folder = Path(work) / "jars"
            folder.mkdir()
            fetch_all([_artifact(line) for line in LOCK.read_text().splitlines()], folder)
            for nar in folder.glob("*.nar"):  # a jar by another name
                nar.rename(nar.with_suffix(".jar"))
            folder.rename(home)
    return home


def _artifact(line: str) -> Artifact:
    """One line of the lock: SHA-256, two spaces, `group:name:version:classifier:extension`."""
    sha256, coordinates = line.split("  ")
    return Artifact(*coordinates.split(":"), sha256)


if __name__ == "__main__":
    sys.stdout.write(f"{jars()}\n")
