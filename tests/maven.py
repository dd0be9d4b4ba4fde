"""One file from Maven Central, fetched with the Ivy that Spark brings, and checked."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pyspark

_TIMEOUT_SECONDS = 900

# No local repository: Ivy's default settings would first look into ~/.m2, where other tools leave halves.
_SETTINGS = """<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>
"""
_WANTED = """<ivy-module version="2.0" xmlns:e="http://ant.apache.org/ivy/extra">
<info organisation="tests" module="wanted"/>
<dependencies><dependency org="{group}" name="{name}" rev="{version}" transitive="false">
<artifact name="{name}" type="{ext}" ext="{ext}" e:classifier="{classifier}"/>
</dependency></dependencies></ivy-module>
"""


@dataclass(frozen=True)
class Artifact:
    """A file of one release, and what it must be."""

    group: str
    name: str
    version: str
    classifier: str
    ext: str
    sha256: str


def fetch(wanted: Artifact, work: Path) -> Path:
    """The file, somewhere in the folder `work`.

    Raises:
        RuntimeError: it cannot be had, or is not the file it should be.
    """
    (work / "settings.xml").write_text(_SETTINGS.format(cache=work / "ivy"))
    (work / "wanted.xml").write_text(_WANTED.format(**vars(wanted)))
    command = [
        *("java", "-cp", str(Path(pyspark.__file__).parent / "jars" / "*"), "org.apache.ivy.Main"),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "wanted.xml")),
        *("-retrieve", str(work / "[artifact]-[revision].[ext]")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    found = work / f"{wanted.name}-{wanted.version}.{wanted.ext}"
    if done.returncode or not found.is_file():
        said = [line for line in (done.stdout + done.stderr).splitlines() if "::" not in line and line.strip(". \t")]
        raise RuntimeError(f"{found.name} could not be fetched from Maven Central: {' '.join(said[-3:])}")
    shutil.rmtree(work / "ivy", ignore_errors=True)
    with found.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if sha256 != wanted.sha256:
        raise RuntimeError(f"{found.name} is not the file it should be: sha256 {sha256}, expected {wanted.sha256}")
    return found
