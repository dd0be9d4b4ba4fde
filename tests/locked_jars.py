"""Jars of a server of which no distribution is published: named one by one in a `jars.lock`, fetched once, checked.

They are not resolved anew, since the outcome depends on which POMs a repository has that day.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from tests.maven import Artifact, fetch_all, one_process


def locked_jars(lock: Path, cache: Path) -> Path:
    """The folder of the jars that a lock names, fetched into `cache` if need be.

    A line of a lock is a SHA-256, two spaces, and `group:name:version:classifier:extension`.

    Raises:
        RuntimeError: they cannot be had, or are not the files they should be.
    """
    home = cache / hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    with one_process(cache):
        if home.is_dir():
            return home
        with tempfile.TemporaryDirectory(dir=cache) as work:
            folder = Path(work) / "jars"
            folder.mkdir()
            fetch_all([_artifact(line) for line in lock.read_text().splitlines()], folder)
            for nar in folder.glob("*.nar"):  # a jar by another name
                nar.rename(nar.with_suffix(".jar"))
            folder.rename(home)
    return home


def _artifact(line: str) -> Artifact:
    sha256, coordinates = line.split("  ")
    return Artifact(*coordinates.split(":"), sha256)
