"""The Java that Spark starts, looked at before: what Spark itself says of a wrong one is a page of traces.

Source: https://spark.apache.org/docs/4.1.0/index.html ("Spark runs on Java 17/21"); bin/spark-class of apache/spark,
which takes JAVA_HOME where it is set and the java on the PATH where not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pulsar_backlog.errors import UsageError

SUPPORTED = (17, 21)
"""Java versions on which Spark 4.0 to 4.2 run; the Makefile asks for the same."""

_TIMEOUT_SECONDS = 30
_REMEDY = f"install Java {' or '.join(map(str, SUPPORTED))} and set JAVA_HOME to its folder"


def java_path() -> Path:
    """The program that Spark would start; it need not be there."""
    home = os.environ.get("JAVA_HOME")
    return Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")


def check_java() -> int:
    """The version of the Java that Spark would start and can run on.

    Raises:
        UsageError: there is none, it does not run, or Spark does not run on its version.
    """
    home, java = os.environ.get("JAVA_HOME"), java_path()
    if home and not java.is_file():
        raise UsageError(f"JAVA_HOME is {home}, where there is no bin/java: {_REMEDY}")
    if not java.is_file():
        raise UsageError(f"Java was not found: {_REMEDY}")
    words = _version_words(java)
    match = re.search(r'^\S+ version "(?:1\.)?(\d+)', words, re.MULTILINE)
    if match is None:
        raise UsageError(f"{java} does not run: {_REMEDY}; it says: {words.strip().partition(chr(10))[0][:200]}")
    if int(match[1]) not in SUPPORTED:
        raise UsageError(f"{java} is Java {match[1]}, on which Spark does not run: {_REMEDY}")
    return int(match[1])


def check_start(spark_home: str, settings: Mapping[str, str]) -> None:
    """Start Java as Spark does, with the flags and modules that its launcher adds, and end it.

    Raises:
        UsageError: it does not start.
    """
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    done = _run([Path(spark_home, "bin", "spark-submit"), *conf, "--version"])
    if done.returncode:
        raise UsageError(f"{java_path()} does not start as Spark starts it: {_REMEDY}; it says: {_first_line(done)}")


def _first_line(done: subprocess.CompletedProcess[str]) -> str:
    """What Java says went wrong."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("NOTE:")]
    return next((line for line in lines if "Exception" in line), lines[0] if lines else "nothing")[:200]


def _run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - the program that Spark is about to start anyway
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _version_words(java: Path) -> str:
    done = _run([java, "-version"])
    return done.stderr + done.stdout
