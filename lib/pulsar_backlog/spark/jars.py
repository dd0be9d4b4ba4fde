"""Jars that Spark lacks: Delta's two, and those of `s3a://` where tables lie there. Fetched once, checked, kept.

`python -m pulsar_backlog.spark.jars` fetches Delta's ahead of time (`make setup`) and prints their paths;
`python -m pulsar_backlog.spark.jars s3a` does both, with commas between, as `spark-submit --jars` takes them and the
command `jars` prints them.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pyspark

from pulsar_backlog.errors import UsageError
from pulsar_backlog.spark.java import java_path

JARS_VARIABLE = "PULSAR_BACKLOG_JARS"
"""Environment variable that names the folder of the jars; by default a folder in the user's cache."""

_DELTA = "4.4.0"
_DELTA_SPARK = {
    "4.0": "49e899667168b9412f83cbe894ce264107d7b896d6c5e12edca4e216845c1104",
    "4.1": "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    "4.2": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
}
"""sha256 of the Delta jar for each release of Spark: these are the releases on which the program runs."""
_DELTA_STORAGE = "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"
_S3A_LIST = Path(__file__).with_name("s3a_jars.txt")
# Ivy's default settings look into ~/.m2 first and fail on a POM without its jar; Maven Central alone does not.
_IVY_SETTINGS = """<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>
"""
_IVY_MODULE = """<ivy-module version="2.0"><info organisation="pulsar-backlog" module="jars"/>
<configurations><conf name="default"/></configurations><dependencies>{dependencies}</dependencies></ivy-module>
"""
_IVY_DEPENDENCY = '<dependency org="{}" name="{}" rev="{}" conf="default->master" transitive="false"/>'
_OF_JAVA = re.compile(r"(NOTE: )?Picked up (JDK_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)\b")
"""What Java itself says first, on the error stream, where its options come from a variable."""
_TIMEOUT_SECONDS = 300


def jars_folder() -> Path:
    """Where the jars lie or will lie."""
    named = os.environ.get(JARS_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "pulsar-backlog" / "jars"


def delta_artifacts(spark_version: str) -> dict[str, str]:
    """Delta's jars for a Spark: sha256 by Maven coordinates.

    The Delta jar names a tree of 33 jars (174 MB); tables need only these two.

    Raises:
        UsageError: there is no Delta jar for this Spark.
    """
    release = release_of(spark_version)
    if release not in _DELTA_SPARK:
        *others, last = _DELTA_SPARK
        raise UsageError(
            f"pyspark is {spark_version}, for which there is no Delta {_DELTA} jar: "
            f"install one of Spark {', '.join(others)} or {last}"
        )
    return {
        f"io.delta:delta-spark_{release}_2.13:{_DELTA}": _DELTA_SPARK[release],
        f"io.delta:delta-storage:{_DELTA}": _DELTA_STORAGE,
    }


def release_of(version: str) -> str:
    """The release of Spark that a version belongs to: versions of one release fit each other, as 4.1.0 and 4.1.4."""
    return ".".join(version.split(".")[:2])


def check_releases(spark_version: str, jar: str) -> None:
    """Refuse a Spark of another release than pyspark's, or a Delta jar made for one; a jar of another name may be any.

    Args:
        spark_version: of the Spark that runs.
        jar: name of the file from which it has Delta.

    Raises:
        UsageError: they do not fit.
    """
    spark, mine = release_of(spark_version), release_of(pyspark.__version__)
    if spark != mine:
        raise UsageError(
            f"spark-submit is of Spark {spark_version}, but this Python has pyspark {pyspark.__version__}: install "
            f"pyspark {spark} here, or submit with Spark {mine}"
        )
    made_for = re.match(r"delta-spark_(\d+\.\d+)_", jar)
    if made_for and made_for[1] != spark:
        raise UsageError(
            f"{jar} is made for Spark {made_for[1]}, but the cluster runs Spark {spark_version}: give spark-submit "
            '--jars "$(pulsar-backlog jars)" of an environment with that Spark'
        )


def delta_jars() -> list[Path]:
    """Paths of the Delta jars for this Spark, fetched if need be.

    Raises:
        UsageError: they cannot be had, or there is none for this Spark.
    """
    return _sound("the Delta jars", delta_artifacts(pyspark.__version__))


def s3a_jars() -> list[Path]:
    """Paths of the jars with which Spark reads and writes `s3a://`, fetched if need be.

    Raises:
        UsageError: they cannot be had, or fit another Hadoop than that of this Spark.
    """
    check_hadoop([path.name for path in Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")])
    return _sound("the jars for s3a://", s3a_artifacts())


def check_hadoop(jars: Sequence[str]) -> None:
    """Refuse a Spark whose Hadoop is not that of the jars for `s3a://`, which would end in missing methods.

    Raises:
        UsageError: among these jars of Spark is Hadoop's of another version.
    """
    (fitting,) = (one.split(":")[2] for one in s3a_artifacts() if one.startswith("org.apache.hadoop:hadoop-aws:"))
    for jar in jars:
        hadoop = jar.removeprefix("hadoop-client-api-").removesuffix(".jar")
        if hadoop != fitting:
            raise UsageError(
                f"pyspark {pyspark.__version__} brings Hadoop {hadoop}, but the jars for s3a:// fit Hadoop {fitting} "
                "(Spark 4.1): use Spark 4.1 here, or submit to a cluster that has its own s3a"
            )


def jars_argument(*, with_s3a: bool) -> str:
    """What `spark-submit --jars` takes; fetched if need be.

    Raises:
        UsageError: they cannot be had, or do not fit this Spark.
    """
    return ",".join(map(str, [*delta_jars(), *(s3a_jars() if with_s3a else ())]))


@cache
def s3a_artifacts() -> Mapping[str, str]:
    """What `s3a_jars.txt` lists: sha256 by coordinates."""
    lines = _S3A_LIST.read_text(encoding="ascii").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def unsound_jars() -> list[str]:
    """Names of the jars that would have to be fetched.

    Raises:
        UsageError: there is no Delta jar for this Spark.
    """
    artifacts = delta_artifacts(pyspark.__version__)
    return [_file_name(one) for one in artifacts if not _is_sound(jars_folder(), one, artifacts[one])]


def _file_name(artifact: str) -> str:
    _, name, version = artifact.split(":")
    return f"{name}-{version}.jar"


def _sound(what: str, artifacts: Mapping[str, str]) -> list[Path]:
    """Paths of the jars of these coordinates; those that lack or are others are fetched."""
    folder = jars_folder()
    broken = [artifact for artifact in artifacts if not _is_sound(folder, artifact, artifacts[artifact])]
    if broken:
        _fetch(folder, what, broken)
        for artifact in broken:
            if not _is_sound(folder, artifact, artifacts[artifact]):
                path = folder / _file_name(artifact)
                raise UsageError(f"{path} is not the file it should be (sha256 differs): delete it and retry")
    return [folder / _file_name(artifact) for artifact in artifacts]


def _is_sound(folder: Path, artifact: str, sha256: str) -> bool:
    path = folder / _file_name(artifact)
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _fetch(folder: Path, what: str, artifacts: list[str]) -> None:
    """Let Ivy, which Spark brings, resolve the artifacts and nothing that they name; keep the jars."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        output = _run_ivy(work, artifacts)
        for jar in map(_file_name, artifacts):
            if not (work / jar).is_file():
                raise UsageError(
                    f"{what} could not be fetched from Maven Central (no {jar}): give this machine access to it, or "
                    f"put the jars into {folder} or the folder that {JARS_VARIABLE} names. {output}".rstrip()
                )
            (work / jar).replace(folder / jar)


def _run_ivy(work: Path, artifacts: list[str]) -> str:
    """Retrieve artifacts into a folder; the last line that was said where not all could be."""
    dependencies = "".join(_IVY_DEPENDENCY.format(*artifact.split(":")) for artifact in artifacts)
    (work / "ivysettings.xml").write_text(_IVY_SETTINGS.format(cache=work / "ivy"))
    (work / "ivy.xml").write_text(_IVY_MODULE.format(dependencies=dependencies))
    command = [
        *(str(java_path()), "-cp", str(Path(pyspark.__file__).parent / "jars" / "*"), "org.apache.ivy.Main"),
        *("-settings", str(work / "ivysettings.xml"), "-ivy", str(work / "ivy.xml")),
        *("-retrieve", str(work / "[artifact]-[revision].[ext]")),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - our own command line, no shell
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Ivy: {error}"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and not _OF_JAVA.match(line)]
    return f"Ivy said: {lines[-1].strip()}" if done.returncode and lines else ""


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["s3a"]:
            print(jars_argument(with_s3a=True))  # noqa: T201
        else:
            print("\n".join(str(path) for path in delta_jars()))  # noqa: T201
    except UsageError as error:
        sys.exit(f"pulsar-backlog: {error}")
