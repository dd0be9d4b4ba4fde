"""The two Delta jars: resolved once through Spark's own Ivy, checked, then started from the local files.

`python -m pulsar_backlog.storage.jars` does it ahead of time (`make setup`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from pulsar_backlog.errors import UsageError

JARS_VARIABLE = "PULSAR_BACKLOG_JARS"
"""Environment variable that names the folder of the jars; by default a folder in the user's cache."""

_DELTA = "4.4.0"
_ARTIFACTS = {
    f"delta-spark_4.1_2.13-{_DELTA}.jar": (
        f"io.delta:delta-spark_4.1_2.13:{_DELTA}",
        "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    ),
    f"delta-storage-{_DELTA}.jar": (
        f"io.delta:delta-storage:{_DELTA}",
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
}
# The Delta jar names a tree of 33 jars (174 MB); writing and reading tables needs only these two.
_EXCLUDES = (
    "org.antlr:antlr4-runtime,io.unitycatalog:*,io.delta:delta-kernel-api,io.delta:delta-kernel-defaults,"
    "io.delta:delta-kernel-unitycatalog,org.apache.hadoop:*,com.fasterxml.jackson.core:*,org.slf4j:*"
)
# Ivy's default settings look into ~/.m2 first and fail on a POM without its jar; Maven Central alone does not.
_IVY_SETTINGS = """<ivysettings><settings defaultResolver="central"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>
"""
_TIMEOUT_SECONDS = 300


def jars_folder() -> Path:
    """Where the jars lie or will lie."""
    named = os.environ.get(JARS_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "pulsar-backlog" / "jars"


def delta_jars() -> list[Path]:
    """Paths of the Delta jars, fetched if need be.

    Raises:
        UsageError: they cannot be had, or do not fit this Spark.
    """
    folder = jars_folder()
    for name in _ARTIFACTS:
        check_suffix(name, pyspark.__version__)
    paths = [folder / name for name in _ARTIFACTS]
    if not all(_is_sound(path) for path in paths):
        _fetch(folder)
    return paths


def unsound_jars() -> list[str]:
    """Names of the jars that would have to be fetched."""
    return [name for name in _ARTIFACTS if not _is_sound(jars_folder() / name)]


def check_suffix(jar: str, spark_version: str) -> None:
    """Refuse a Delta jar that was built for another Spark.

    Raises:
        UsageError: the jar's Spark suffix and the version disagree.
    """
    suffix = re.search(r"delta-spark_(\d+\.\d+)_", jar)
    if suffix and suffix.group(1) != ".".join(spark_version.split(".")[:2]):
        raise UsageError(
            f"{jar} is built for Spark {suffix.group(1)}, but pyspark is {spark_version}: install the locked versions"
        )


def _is_sound(path: Path) -> bool:
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == _ARTIFACTS[path.name][1]


def _fetch(folder: Path) -> None:
    """Let spark-submit resolve the artifacts into an Ivy folder, then keep the sound jars."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        said = _run_ivy(work)
        for jar in _ARTIFACTS:
            found = [path for path in work.rglob("*.jar") if path.name.endswith(jar)]
            if not found:
                raise UsageError(
                    f"the Delta jars could not be fetched from Maven Central (no {jar}): give this machine access to "
                    f"it, or put the jars into {folder} or the folder that {JARS_VARIABLE} names. {said}"
                )
            shutil.copyfile(found[0], folder / f"{jar}.part")
            (folder / f"{jar}.part").replace(folder / jar)
    broken = [jar for jar in _ARTIFACTS if not _is_sound(folder / jar)]
    if broken:
        raise UsageError(f"{folder / broken[0]} is not the file it should be (sha256 differs): delete it and retry")


def _run_ivy(work: Path) -> str:
    """Run an empty Spark program that asks for the artifacts; the last line it printed."""
    (work / "ivysettings.xml").write_text(_IVY_SETTINGS)
    (work / "nothing.py").write_text("")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [
        str(submit),
        *("--master", "local[1]"),
        *("--conf", f"spark.jars.packages={','.join(a for a, _ in _ARTIFACTS.values())}"),
        *("--conf", f"spark.jars.excludes={_EXCLUDES}"),
        *("--conf", f"spark.jars.ivy={work / 'ivy'}"),
        *("--conf", f"spark.jars.ivySettings={work / 'ivysettings.xml'}"),
        str(work / "nothing.py"),
    ]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    try:
        done = subprocess.run(  # noqa: S603 - our own command line, no shell
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"spark-submit: {error}"
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return f"spark-submit said: {lines[-1]}" if done.returncode and lines else ""


if __name__ == "__main__":
    try:
        print("\n".join(str(path) for path in delta_jars()))  # noqa: T201
    except UsageError as error:
        sys.exit(f"pulsar-backlog: {error}")
