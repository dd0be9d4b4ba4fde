"""Servers of object stores for tests: fetched once from package registries, checked by lock files, into `.cache/`.

`python -m tests.stores.installed` does it ahead of the tests (`make test-stores`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.maven import Artifact, fetch

CACHE = Path(__file__).parents[2] / ".cache" / "stores"
HERE = Path(__file__).parent
S3PROXY = Artifact(
    "org.gaul", "s3proxy", "4.1.0", "jar-with-dependencies", "jar",
    "a4d025969aaf796616ed4b1e2491d87d455ce84bb28cb9db086b2e6aaa68b48d",
)  # fmt: skip
FAKE_GCS_SERVER = "github.com/fsouza/fake-gcs-server"
LEAST_NODE, LEAST_GO = (18, 0), (1, 26)
_TIMEOUT_SECONDS = 1200


def s3proxy() -> Path:
    """The jar of s3proxy, an S3 server that checks signatures, and knows conditions of writes since its release 4."""
    jar = CACHE / f"s3proxy-{S3PROXY.version}.jar"
    if not jar.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            fetch(S3PROXY, Path(work)).rename(jar)
    return jar


def azurite() -> Path:
    """The blob service of Azurite, a script for Node."""
    folder = _installed("azurite", ("package.json", "package-lock.json"), _install_azurite)
    return folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


def fake_gcs_server() -> Path:
    """The program of fake-gcs-server."""
    return _installed("fake_gcs_server", ("go.mod", "go.sum"), _install_fake_gcs_server) / "fake-gcs-server"


def _installed(name: str, locks: tuple[str, ...], install: Callable[[Path], None]) -> Path:
    """The folder of what these lock files say, made anew when they change."""
    digest = hashlib.sha256(b"".join((HERE / name / lock).read_bytes() for lock in locks)).hexdigest()[:16]
    folder = CACHE / f"{name}-{digest}"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            made = Path(work) / "made"
            made.mkdir()
            for lock in locks:
                shutil.copy(HERE / name / lock, made)
            install(made)
            made.rename(folder)
    return folder


def _install_azurite(folder: Path) -> None:
    _need("node", "--version", LEAST_NODE)
    _run(["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], folder, {})


def _install_fake_gcs_server(folder: Path) -> None:
    _need("go", "version", LEAST_GO)
    # The symbols for debuggers would be most of the program.
    command = ["go", "install", "-mod=readonly", "-ldflags=-s -w", FAKE_GCS_SERVER]
    _run(command, folder, {"GOBIN": str(folder), "GOTOOLCHAIN": "local", "GOFLAGS": ""})


def _need(program: str, ask: str, least: tuple[int, int]) -> None:
    """Raises RuntimeError where the program is missing or too old."""
    wanted = f"{program} {'.'.join(map(str, least))} or later is needed for make test-stores"
    if shutil.which(program) is None:
        raise RuntimeError(f"{wanted}; there is none on the PATH")
    said = subprocess.run([program, ask], capture_output=True, text=True, timeout=60, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < least:
        raise RuntimeError(f"{wanted}; found {said.strip()!r}")


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())[-600:]
        raise RuntimeError(f"{' '.join(command)} failed: {said}")


if __name__ == "__main__":
    try:
        for path in (s3proxy(), azurite(), fake_gcs_server()):
            sys.stdout.write(f"{path}\n")
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
