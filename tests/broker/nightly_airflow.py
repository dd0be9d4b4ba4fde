"""A night by Airflow: its DAG runs each job of the audit, and task states are read from its database.

A program stands in for spark-submit: it runs the job by the driver's Python, which starts Spark where there is work for
it. That saves the start of a JVM for each of twenty jobs; `tests/spark_cluster/test_the_dag.py` has the real one.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pulsar_backlog.spark.jars import jars_folder
from tests.broker.repairing import ROOT
from tests.spark_cluster.running import make_programs

AIRFLOW = ROOT / ".venv-airflow" / "bin"
DAG = "pulsar_backlog_audit"
LIMIT_SECONDS = 1800
"""A machine may be busy; nothing here waits for this long when all is well."""
_SUBMIT = """#!/bin/sh
until [ -f "$1" ] && [ "${1%.py}" != "$1" ]; do shift; done
exec "$(dirname "$0")/python" "$@"
"""
_STATES = (
    "SELECT task_id, state FROM task_instance WHERE run_id = (SELECT run_id FROM dag_run ORDER BY id DESC LIMIT 1)"
)


@dataclass(frozen=True)
class Scheduler:
    """An Airflow of its own, whose pipeline `audit` has these options.

    Attributes:
        home: its folder; holds jobs, conf and pipelines.yaml.
        environment: of its processes.
    """

    home: Path
    environment: Mapping[str, str]

    def night(self, admin: Path) -> dict[str, str]:
        """Run the DAG once with this snapshot; the state of each task."""
        variables = {"AIRFLOW_VAR_PULSAR_BACKLOG_ADMIN": str(admin)}
        done = self._airflow("dags", "test", DAG, **variables)
        with closing(sqlite3.connect(self.home / "airflow" / "airflow.db")) as database:
            states = dict(database.execute(_STATES).fetchall())
        assert states, (done.stdout + done.stderr)[-4000:]
        return states

    def start(self) -> None:
        """Make its database."""
        done = self._airflow("db", "migrate")
        assert done.returncode == 0, done.stderr[-4000:]

    def _airflow(self, *line: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [AIRFLOW / "airflow", *line], cwd=self.home, env={**self.environment, **more}, capture_output=True,
            text=True, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip


def scheduler(
    home: Path, source: Path, out: Path, options: Mapping[str, object], environment: Mapping[str, str]
) -> Scheduler:
    """An Airflow in `home` that audits `source` into `out`; a night with news fails its last task."""
    for name in ("jobs", "conf"):
        shutil.copytree(ROOT / name, home / name)
    (home / "lib").symlink_to(ROOT / "lib")
    make_programs(home)
    submit = home / ".venv" / "bin" / "spark-submit"
    submit.unlink(missing_ok=True)
    submit.write_text(_SUBMIT)
    submit.chmod(0o755)
    (home / "airflow" / "dags").mkdir(parents=True)
    shutil.copy(home / "conf" / "airflow" / "pulsar_backlog_dag.py", home / "airflow" / "dags")
    text = (ROOT / "pipelines.yaml").read_text()
    changed = text.replace('    schedule: "0 3 * * *"\n', f"    options: {json.dumps(options)}\n", 1)
    assert changed != text
    (home / "pipelines.yaml").write_text(changed)
    python = str(home / ".venv" / "bin" / "python")
    made = Scheduler(home, {
        "PATH": f"{AIRFLOW}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
        "PULSAR_BACKLOG_JARS": str(jars_folder()),
        "PYTHONPATH": str(ROOT / "lib"), "PULSAR_BACKLOG_HOME": str(home),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "AIRFLOW_HOME": str(home / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_VAR_PULSAR_BACKLOG_SOURCE": str(source), "AIRFLOW_VAR_PULSAR_BACKLOG_OUT": str(out),
        "AIRFLOW_VAR_PULSAR_BACKLOG_PYTHON": python, "AIRFLOW_VAR_PULSAR_BACKLOG_DRIVER_PYTHON": python,
        "AIRFLOW_VAR_PULSAR_BACKLOG_FINDINGS": "fail",
        **environment,
    })  # fmt: skip
    made.start()
    return made
