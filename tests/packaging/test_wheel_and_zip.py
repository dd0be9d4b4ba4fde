"""What `make dist` makes, used as its users do: installed, unpacked, and as a zip for executors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
from pyspark.sql import SparkSession

def where(batches):
    import pyarrow
    import pulsar_backlog.wire.columns  # the compiled kernel must be importable from a zip
    from pulsar_backlog.wire.entry import decode_entry
    entry = bytes.fromhex("0e0116f2f2f7000000080a0170100018e8076869")
    for _ in batches:
        found = [pulsar_backlog.wire.columns.__file__, decode_entry(entry).checksum_state]
        yield pyarrow.RecordBatch.from_pydict({"found": found})

spark = SparkSession.builder.getOrCreate()
rows = spark.range(1, numPartitions=1).mapInArrow(where, "found string").collect()
print("FOUND", *[row.found for row in rows])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    # --no-build-isolation: the locked hatchling, no network
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, ROOT]
    subprocess.run(command, check=True)
    (made,) = out.glob("*.whl")
    return made


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program that sees nothing of the repository but what it is given."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME", "PYSPARK_GATEWAY_PORT")}
    return subprocess.run(
        command, cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False, timeout=300
    )


def test_the_wheel_holds_the_whole_house(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    here = {
        f"pulsar_backlog/{path.relative_to(ROOT)}"
        for folder in ("jobs", "conf")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    code = {
        str(path.relative_to(ROOT / "lib"))
        for path in (ROOT / "lib" / "pulsar_backlog").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert here | code | {"pulsar_backlog/pipelines.yaml"} <= names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "bench/", "jobs/")) for name in names)


def test_the_unpacked_wheel_is_its_own_home(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "from pulsar_backlog import config as c; print(c.home(), *sorted(c.load_pipelines().pipelines))"
    done = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    said = run(sys.executable, "-m", "pulsar_backlog.cli", "--version", cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert re.match(r"pulsar-backlog \S+ \(commit [0-9a-f]{12}", said.stdout), said
    home = str(tmp_path / "site" / "pulsar_backlog")
    assert done.stdout.split() == [home, "audit", "compare", "export", "inventory", "maintain", "repair_plan"], (
        done.stderr
    )


def test_executors_import_from_the_zip(wheel: Path, tmp_path: Path) -> None:
    archive = tmp_path / "pulsar_backlog.zip"
    shutil.copy(wheel, archive)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    done = run(
        submit,
        *("--master", "local[1]", "--py-files", archive),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
        *("--conf", "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1"),
        script,
        cwd=tmp_path,
        PYSPARK_PYTHON=sys.executable,
    )
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND")] or [done.stderr]
    assert "pulsar_backlog.zip/pulsar_backlog/wire/columns.py" in said
    assert said.endswith(" valid")
