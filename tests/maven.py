"""Files from Maven Central, each named, fetched with the Ivy that Spark brings, and checked."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyspark

_TIMEOUT_SECONDS = 900

# No local repository: Ivy's default settings would first look into ~/.m2, where other tools leave halves.
# No POM is read: what a file needs besides is named beside it, so that the same files come whatever a repository lacks.
_SETTINGS = """<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers></ivysettings>
"""
_WANTED = """<ivy-module version="2.0" xmlns:e="http://ant.apache.org/ivy/extra">
<info organisation="tests" module="wanted"/>
<dependencies>{dependencies}</dependencies></ivy-module>
"""
_DEPENDENCY = """<dependency org="{group}" name="{name}" rev="{version}" transitive="false">{files}</dependency>
"""
_FILE = """<artifact name="{name}" type="{ext}" ext="{ext}"{classifier}/>"""


@dataclass(frozen=True)
class Artifact:
    """A file of one release, and what it must be."""

    group: str
    name: str
    version: str
    classifier: str
    ext: str
    sha256: str

    @property
    def file_name(self) -> str:
        """As Maven's repositories call it."""
        return f"{'-'.join(filter(None, (self.name, self.version, self.classifier)))}.{self.ext}"


@contextmanager
def one_process(cache: Path) -> Iterator[None]:
    """Only one process at a time fetches into a folder; others wait, and find it there."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(wanted: Artifact, work: Path) -> Path:
    """The file, in the folder `work`.

    Raises:
        RuntimeError: it cannot be had, or is not the file it should be.
    """
    fetch_all([wanted], work)
    return work / wanted.file_name


def fetch_all(wanted: Sequence[Artifact], work: Path) -> None:
    """Put the files into the folder `work`, each under its `file_name`.

    Raises:
        RuntimeError: one cannot be had, or is not the file it should be.
    """
    (work / "settings.xml").write_text(_SETTINGS.format(cache=work / "ivy"))
    (work / "wanted.xml").write_text(_WANTED.format(dependencies="".join(_dependencies(wanted))))
    command = [
        *("java", "-cp", str(Path(pyspark.__file__).parent / "jars" / "*"), "org.apache.ivy.Main"),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "wanted.xml")),
        *("-retrieve", str(work / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    missing = [one.file_name for one in wanted if not (work / one.file_name).is_file()]
    if done.returncode or missing:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "::" not in line and line.strip(". \t")]
        raise RuntimeError(f"{', '.join(missing[:5])} could not be fetched from Maven Central: {' '.join(said[-3:])}")
    for name in ("settings.xml", "wanted.xml"):
        (work / name).unlink()
    shutil.rmtree(work / "ivy", ignore_errors=True)
    for one in wanted:
        _check(one, work / one.file_name)


def _dependencies(wanted: Sequence[Artifact]) -> Iterator[str]:
    for (group, name, version), files in groupby(wanted, key=lambda one: (one.group, one.name, one.version)):
        yield _DEPENDENCY.format(group=group, name=name, version=version, files="".join(map(_file, files)))


def _file(one: Artifact) -> str:
    classifier = f' e:classifier="{one.classifier}"' if one.classifier else ""
    return _FILE.format(name=one.name, ext=one.ext, classifier=classifier)


def _check(wanted: Artifact, found: Path) -> None:
    with found.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if sha256 != wanted.sha256:
        raise RuntimeError(f"{found.name} is not the file it should be: sha256 {sha256}, expected {wanted.sha256}")
