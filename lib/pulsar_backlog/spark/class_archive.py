"""Spark's classes made ready for a quick start: a class data sharing archive of the JVM, made once by `make setup`.

Each command starts a JVM that loads and verifies some 20,000 classes; from an archive they are mapped into memory
instead. The JVM itself checks that an archive fits it and the jars, and does without one that does not: nothing but
time depends on it.

    python -m pulsar_backlog.spark.class_archive    makes it, about a minute and 190 MB beside the Delta jars

Source: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyspark

from pulsar_backlog.spark.jars import delta_jars, jars_folder
from pulsar_backlog.spark.java import java_path

RECORD_VARIABLE = "PULSAR_BACKLOG_RECORD_CLASSES"
"""Environment variable that names the archive which the session's JVM writes when it ends."""

SILENT = "-Xlog:disable -Xlog:all=error:stderr"
"""An archive that does not fit is no news to anybody."""
_TIMEOUT_SECONDS = 120


def archive_of(jars: Sequence[Path]) -> Path | None:
    """The archive of this JVM, this Spark and these jars; None where there is none, or only a part of one.

    Its name ends with its size: a JVM checks what it maps, but dies of a file that is shorter than it was.
    """
    for path in jars_folder().glob(_name(jars, "*")):
        if path.stem.rpartition("-")[2] == str(path.stat().st_size):
            return path
    return None


def _name(jars: Sequence[Path], size: object) -> str:
    return f"classes-{_place(jars)}-{_state(jars)}-{size}.jsa"


def _place(jars: Sequence[Path]) -> str:
    """Where Java, Spark and the jars lie: each place has one archive."""
    return _digest(java_path().resolve(), pyspark.__file__, *jars)


def _state(jars: Sequence[Path]) -> str:
    """What lies there: a JVM refuses an archive when a jar has another size or another time than it had then."""
    files = sorted([java_path().resolve(), *Path(pyspark.__file__).parent.glob("jars/*.jar"), *jars])
    there = ((path.name, path.stat()) for path in files if path.exists())
    return _digest(*((name, status.st_size, status.st_mtime_ns) for name, status in there))


def _digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:12]


def java_options(jars: Sequence[Path]) -> str:
    """Options that use the archive; empty where there is none."""
    if recorded := os.environ.get(RECORD_VARIABLE):
        return f'"-XX:ArchiveClassesAtExit={recorded}" {SILENT}'
    archive = archive_of(jars)
    return f'"-XX:SharedArchiveFile={archive}" -XX:+VerifySharedSpaces {SILENT}' if archive is not None else ""


def make_archive() -> Path | None:
    """Let a session write the archive, unless there is one; None where none came of it, which does no harm."""
    jars = delta_jars()
    if (made := archive_of(jars)) is not None:
        return made
    with tempfile.TemporaryDirectory(dir=jars_folder()) as folder:
        part = Path(folder) / "classes.jsa"
        command = [sys.executable, "-m", "pulsar_backlog.spark.class_archive", "record", folder]
        environment = os.environ | {RECORD_VARIABLE: str(part)}
        try:
            done = subprocess.run(  # noqa: S603 - our own command line, no shell
                command, stdout=subprocess.PIPE, text=True, timeout=_TIMEOUT_SECONDS, env=environment, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        if not _ends(int(done.stdout.split()[-1])) or not part.is_file():
            return None
        for old in jars_folder().glob(f"classes-{_place(jars)}-*.jsa"):
            old.unlink()  # of another state; a JVM that runs keeps what it has mapped
        return part.replace(jars_folder() / _name(jars, part.stat().st_size))


def _record(folder: str) -> int:
    """Do a little of what jobs do, so that their classes are loaded; the process id of the JVM."""
    from pulsar_backlog.spark.session import start_session  # noqa: PLC0415 - the session asks this module

    spark = start_session("classes", folder)
    table = f"{folder}/table"
    made = spark.range(2000).selectExpr("id", "id % 7 AS k", "cast(id AS string) AS s")
    made.write.format("delta").save(table)
    rows = spark.read.format("delta").load(table)
    joined = rows.join(rows.groupBy("k").count(), on="k").filter("id > 5").orderBy("id")
    joined.mapInArrow(lambda batches: batches, joined.schema).collect()
    made.filter("k = 3").write.format("delta").mode("overwrite").option("replaceWhere", "k = 3").save(table)
    jvm = spark._jvm
    pid = int(jvm.java.lang.ProcessHandle.current().pid()) if jvm is not None else 0
    spark.stop()
    return pid


def _ends(pid: int) -> bool:
    """Whether the JVM comes to its end, which it does some time after the program: it writes while it ends."""
    until = time.monotonic() + _TIMEOUT_SECONDS
    while (running := Path(f"/proc/{pid}").exists()) and time.monotonic() < until:
        time.sleep(0.2)
    return not running


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        print(_record(sys.argv[2]))  # noqa: T201
    else:
        print(make_archive() or "no class archive could be made; Spark starts a little slower")  # noqa: T201
