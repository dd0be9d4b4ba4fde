"""What an export keeps for a while lies where only its user may look, whatever umask and TMPDIR say."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyspark
import pytest

from pulsar_backlog.spark.jars import delta_jars
from pulsar_backlog.spark.scratch import with_private_folders
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS
from tests.auditing import Audited
from tests.cli.started import Started, started

NEEDS_SPARK = True

NEEDED = (
    "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1",
    "--conf", "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1",
)  # fmt: skip


def test_an_export(bundled: Audited, tmp_path: Path) -> None:
    out, scratch, elsewhere = tmp_path / "out", tmp_path / "scratch", tmp_path / "tmp"
    shutil.copytree(bundled.out, out)
    for folder in (scratch, elsewhere):
        folder.mkdir()
    before = os.umask(0)
    try:
        folders = {"TMPDIR": str(elsewhere), "SPARK_LOCAL_DIRS": str(scratch)}
        with started("export", out, "--cluster", "demo", "--to", tmp_path / "export", **folders) as running:
            seen = set(watch(running, scratch, elsewhere))
            assert running.process.returncode in (EXIT_CLEAN, EXIT_FINDINGS), running.process.communicate()[1]
    finally:
        os.umask(before)
    open_to_all = sorted(str(path) for path, is_private in seen if not is_private)
    assert open_to_all == []
    assert any("blockmgr-" in str(path) for path, _ in seen)
    assert list(scratch.iterdir()) == []  # all is gone with the program


@pytest.mark.parametrize(
    ("variables", "setting", "named"),
    [
        ({"TMPDIR": "tmp"}, None, ["tmp"]),
        ({"TMPDIR": "tmp"}, "chosen", ["chosen"]),
        ({"TMPDIR": "tmp", "SPARK_LOCAL_DIRS": "one,two"}, "chosen", ["one", "two"]),
    ],
)
def test_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], setting: str | None, named: list[str]
) -> None:
    def place(names: str) -> str:
        return ",".join(str(tmp_path / name) for name in names.split(","))

    monkeypatch.setenv("SPARK_LOCAL_DIRS", "")  # put back afterwards
    for name, value in variables.items():
        monkeypatch.setenv(name, place(value))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "tmp").mkdir()
    made = with_private_folders({"spark.local.dir": place(setting)} if setting else {})
    folders = [Path(folder) for folder in made["spark.local.dir"].split(",")]
    assert os.environ["SPARK_LOCAL_DIRS"] == made["spark.local.dir"]
    assert [folder.parent for folder in folders] == [tmp_path / name for name in named]
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in folders)
    assert f'"-Djava.io.tmpdir={folders[0]}"' in made["spark.driver.extraJavaOptions"]
    assert len(made["spark.python.unix.domain.socket.dir"]) <= 60


SUBMITTED = """
from pulsar_backlog.spark.session import start_session

session = start_session("scratch")
blocks = session.sparkContext._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
print("FOUND", *(file.getPath() for file in blocks.localDirs()))
session.stop()
"""


@pytest.mark.parametrize("named", [False, True])
def test_a_driver_that_spark_submit_starts(tmp_path: Path, named: bool) -> None:
    """Its blocks lie in a private folder, but where the environment of Java names one."""
    script, scratch = tmp_path / "script.py", tmp_path / "scratch"
    script.write_text(SUBMITTED)
    scratch.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(scratch),
                   "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}  # fmt: skip
    environment.pop("SPARK_LOCAL_DIRS", None)  # a session of this process names one
    environment |= {"SPARK_LOCAL_DIRS": str(scratch)} if named else {}
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    done = subprocess.run(
        [submit, "--master", "local[1]", "--jars", ",".join(map(str, delta_jars())), *NEEDED, script],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (found,) = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("FOUND")] or [[done.stderr]]
    (folder,) = (Path(one).parent for one in found)
    assert (folder == scratch) is named, found
    assert folder.parent == (tmp_path if named else scratch)
    assert list(scratch.iterdir()) == []  # all is gone with the program


def watch(running: Started, *folders: Path) -> Iterator[tuple[Path, bool]]:
    """Files and folders below these, and files that Java writes to anywhere, and whether others are kept from them."""
    while running.process.poll() is None:
        for folder in folders:
            for root, names, files in os.walk(folder):
                yield from ((Path(root, name), is_private(Path(root, name))) for name in (*names, *files))
        for pid in running.pids()["java"]:
            yield from ((path, is_private(path)) for path in written_by(pid))
        time.sleep(0.05)


def is_private(path: Path) -> bool:
    """Whether the modes of a file, or of a folder above it that this test did not make, keep others out."""
    with suppress(OSError):
        return any(stat.S_IMODE(one.stat().st_mode) & 0o077 == 0 for one in (path, *path.parents))
    return True


def written_by(pid: int) -> Iterator[Path]:
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):
            path = link.readlink()
            flags = int(Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().split()[3], 8)
            if flags & os.O_ACCMODE and path.is_file():
                yield path
