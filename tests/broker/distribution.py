"""Pulsar's server distribution: fetched once with the Ivy that Spark brings, checked, unpacked into `.cache/`.

`python -m tests.broker.distribution` does it ahead of the tests (`make test-broker`).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pyspark

VERSION = "4.0.8"
SHA256 = "35c7d064c9e0928edbf2e708989faba0379662f98aa84ce0d4190c59efb6765e"
CACHE = Path(__file__).parents[2] / ".cache" / "broker"
ARTIFACT = "pulsar-server-distribution"
_TIMEOUT_SECONDS = 900

# No local repository: Ivy's default settings would first look into ~/.m2, where other tools leave halves.
_SETTINGS = """<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>
"""
_WANTED = f"""<ivy-module version="2.0" xmlns:e="http://ant.apache.org/ivy/extra">
<info organisation="tests" module="broker"/>
<dependencies><dependency org="org.apache.pulsar" name="{ARTIFACT}" rev="{VERSION}" transitive="false">
<artifact name="{ARTIFACT}" type="tar.gz" ext="tar.gz" e:classifier="bin"/>
</dependency></dependencies></ivy-module>
"""


def broker_home() -> Path:
    """The unpacked distribution, fetched if need be.

    Raises:
        RuntimeError: it cannot be had, or is not the file it should be.
    """
    home = CACHE / f"apache-pulsar-{VERSION}"
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            archive = _fetched(Path(work))
            _check(archive)
            with tarfile.open(archive) as tar:
                tar.extractall(work, _members(tar), filter="data")
            (Path(work) / home.name).rename(home)
    return home


def _members(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """What a broker needs: jars and settings; examples and functions are a third of the archive."""
    return [member for member in tar if member.name.split("/")[1:2] in (["lib"], ["conf"])]


def _fetched(work: Path) -> Path:
    (work / "settings.xml").write_text(_SETTINGS.format(cache=work / "ivy"))
    (work / "wanted.xml").write_text(_WANTED)
    command = [
        *("java", "-cp", str(Path(pyspark.__file__).parent / "jars" / "*"), "org.apache.ivy.Main"),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "wanted.xml")),
        *("-retrieve", str(work / "[artifact]-[revision].[ext]")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    archive = work / f"{ARTIFACT}-{VERSION}.tar.gz"
    if done.returncode or not archive.is_file():
        said = [line for line in (done.stdout + done.stderr).splitlines() if "::" not in line and line.strip(". \t")]
        raise RuntimeError(f"Pulsar {VERSION} could not be fetched from Maven Central: {' '.join(said[-3:])}")
    shutil.rmtree(work / "ivy", ignore_errors=True)
    return archive


def _check(archive: Path) -> None:
    with archive.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != SHA256:
        raise RuntimeError(f"{archive.name} is not the file it should be: sha256 {found}, expected {SHA256}")


if __name__ == "__main__":
    sys.stdout.write(f"{broker_home()}\n")
