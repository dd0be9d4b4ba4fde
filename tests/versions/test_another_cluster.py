"""A cluster of another Spark, or with another Python on executors, ends an audit with one sentence and its remedy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.auditing import copy_ledgers
from tests.ports import free_port
from tests.stores.servers import running
from tests.versions.environments import MATRIX, ROOT, Versions
from tests.versions.program import Program

DRIVER, OLDER, NEWER = MATRIX
"""Of Spark 4.1 and Python 3.12; of 4.0 and 3.11; of 4.2 and 3.13."""
MEMORY = ("--driver-memory", "512m", "--executor-memory", "512m")


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Versions], Program]:
    return cache(lambda versions: Program(versions, wheel, tmp_path_factory.mktemp(str(versions))))


@pytest.fixture(scope="module")
def master(
    program: Callable[[Versions], Program], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Versions], str]]:
    """The address of a cluster of these versions: a master and a worker, which is started where there is none."""
    with ExitStack() as stack:

        @cache
        def started(versions: Versions) -> str:
            folder, port, own = tmp_path_factory.mktemp("cluster"), free_port(), free_port()
            home = spark_home(program(versions))
            variables = program(versions).variables | {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m",
                                                       "SPARK_LOCAL_IP": "127.0.0.1"}  # fmt: skip
            daemon = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.{}", "--host", "127.0.0.1"]
            of_master = [part.format("master.Master") for part in daemon] + ["--port", str(port), "--webui-port", "0"]
            stack.enter_context(running(of_master, port, folder / "master.log", variables))
            of_worker = [part.format("worker.Worker") for part in daemon] + ["--port", str(own), "--webui-port", "0"]
            of_worker += ["--cores", "1", "--memory", "1g", "--work-dir", str(folder), f"spark://127.0.0.1:{port}"]
            stack.enter_context(running(of_worker, own, folder / "worker.log", variables))
            return f"spark://127.0.0.1:{port}"

        yield started


def spark_home(program: Program) -> Path:
    (home,) = program.place.glob("lib/python*/site-packages/pyspark")
    return home


def refused_audit(program: Program, master: str, folder: Path, *conf: str) -> str:
    """What an audit of one ledger says that cannot run, started as docs/cluster.md says."""
    source = copy_ledgers(folder / "objects", [5])
    python = program.place / "bin" / "python"
    settings = (f"spark.pyspark.python={python}", f"spark.pyspark.driver.python={python}", "spark.ui.enabled=false")
    command = [
        *(str(spark_home(program) / "bin" / "spark-submit"), "--master", master, *MEMORY),
        *("--properties-file", str(ROOT / "conf" / "spark" / "submit.conf")),
        *("--jars", program.run("jars").strip()),
        *(part for setting in (*settings, *conf) for part in ("--conf", setting)),
        *(str(ROOT / "conf" / "deploy" / "application.py"), "audit", str(source), "--out", str(folder / "out")),
    ]
    variables = program.variables | {"SPARK_HOME": str(spark_home(program)), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stdout
    return done.stdout  # spark-submit has all that a Python program says on its own standard output


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (NEWER, "the cluster's executors run another Spark than this driver, which has Spark 4.1"),
        (OLDER, "did not take this application"),  # its master cannot read what the driver sends
    ],
    ids=str,
)
def test_a_cluster_of_another_spark(
    other: Versions, words: str, program: Callable[[Versions], Program], master: Callable[[Versions], str],
    tmp_path: Path,
) -> None:  # fmt: skip
    said = refused_audit(program(DRIVER), master(other), tmp_path)
    assert words in said
    assert "submit with the cluster's release" in said


def test_executors_of_another_python(
    program: Callable[[Versions], Program], master: Callable[[Versions], str], tmp_path: Path
) -> None:
    other = program(OLDER).place / "bin" / "python"
    said = refused_audit(program(DRIVER), master(DRIVER), tmp_path, f"spark.pyspark.python={other}")
    assert "the cluster's executors run Python 3.11, and this driver Python 3.12: let --conf" in said
