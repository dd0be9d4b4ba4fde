"""What makes small audits fast: one compiler, and no Spark where nothing is new."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.spark import choice
from pulsar_backlog.terms import EXIT_UNCHANGED
from tests.auditing import OBJECTS, run_one, run_scan

NEEDS_SPARK = True

OPTIONS = "spark.driver.defaultJavaOptions"
ASKED = """
from pulsar_backlog.spark.choice import prefer_c1_compiler
from pulsar_backlog.spark.session import start_session
prefer_c1_compiler()
java = start_session("brief").sparkContext._jvm.java
bean = java.lang.management.ManagementFactory.getRuntimeMXBean()
print(bean.getInputArguments().contains("-XX:TieredStopAtLevel=1"))
"""


@pytest.mark.parametrize(("more_bytes", "is_brief"), [(0, True), (32 << 20, False)])
def test_a_small_source_expects_brief_work(
    more_bytes: int, is_brief: bool, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "_chosen", {})
    source = shutil.copytree(OBJECTS, tmp_path / "source")
    with (source / "what-else-lies-there").open("wb") as file:
        file.truncate(more_bytes)
    run_one("inventory_ledgers", source, tmp_path / "out")
    assert (OPTIONS in choice._chosen) == is_brief


def test_the_jvm_of_brief_work_has_one_compiler_unless_somebody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKED], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr
    monkeypatch.setattr(choice, "_chosen", {OPTIONS: "-Dmine=1"})
    choice.prefer_c1_compiler()
    assert choice._chosen == {OPTIONS: "-Dmine=1"}


def test_a_scan_without_news_asks_nothing_of_spark(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for path in sorted(OBJECTS.iterdir())[:2]:
        shutil.copy(path, source)
    run_scan(source, tmp_path / "out")
    monkeypatch.setattr(JobContext, "spark", property(lambda _: pytest.fail("the session was asked for")))
    assert run_one("scan_entries", source, tmp_path / "out").exit_code == EXIT_UNCHANGED
