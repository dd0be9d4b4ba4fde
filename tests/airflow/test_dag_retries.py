"""A run of the DAG by Airflow itself, whose jobs end as a table says: which are tried again, with what result."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pulsar_backlog.runs.lineage import is_wanted

pytest.importorskip("airflow.dag_processing.dagbag", reason="Airflow has an environment of its own: make test-airflow")

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 600
LINEAGE = {"OPENLINEAGE_URL": "http://127.0.0.1:1"}
"""As for Airflow's own events."""
ENDINGS = {
    "inventory_ledgers": ("0", ("success", 1)),
    "scan_entries": ("4 0", ("success", 2)),  # unreadable at first, and there by then
    "assemble_chunks": ("99", ("skipped", 1)),
    "model_consumers": ("137 137", ("failed", 2)),  # killed, both times
    "analyze_subscriptions": ("2", ("failed", 1)),  # no retry mends an option
    "decode_internals": ("0", ("success", 1)),
    "check_quality": ("1", ("success", 1)),
    "compare_audits": ("0", ("success", 1)),
    "notify_changes": ("2", ("failed", 1)),  # nobody could be told: the report is made all the same
    "write_report": ("137 0", ("success", 2)),
}
"""Exit codes of each job's starts; the state of its task in the end, and how many times it was tried."""

STAND_IN = """#!/bin/sh
for word; do case $word in *.py) job=$(basename "$word" .py);; esac; done
echo "$job" >> started
env -0 > "environment-$job"
set -- $(cat "codes/$job")
shift $(($(grep -c "^$job$" started) - 1))
exit "$1"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose tasks are tried again at once, with a `spark-submit` that ends as `ENDINGS` says."""
    made = tmp_path_factory.mktemp("airflow-retries") / "house"
    shutil.copytree(ROOT / "conf", made / "conf")
    shutil.copy(ROOT / "pipelines.yaml", made)
    dag = made / "conf" / "airflow" / "pulsar_backlog_dag.py"
    text = dag.read_text()
    assert "timedelta(minutes=5)" in text
    dag.write_text(text.replace("timedelta(minutes=5)", "timedelta(seconds=1)"))
    (made / "codes").mkdir()
    for job, (codes, _) in ENDINGS.items():
        (made / "codes" / job).write_text(codes)
    (made / "bin").mkdir()
    (made / "bin" / "spark-submit").write_text(STAND_IN)
    (made / "bin" / "spark-submit").chmod(0o755)
    return made


@pytest.fixture(scope="module")
def database(home: Path) -> Path:
    """Airflow's own, after one run."""
    environment = {
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}", "HOME": str(home),
        "AIRFLOW_HOME": str(home / "airflow"), "PULSAR_BACKLOG_HOME": str(home), "PYTHONPATH": str(ROOT / "lib"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": str(home / "conf" / "airflow"),
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "AIRFLOW_VAR_PULSAR_BACKLOG_SOURCE": "s3://ledgers", "AIRFLOW_VAR_PULSAR_BACKLOG_OUT": "s3a://audits/one",
        **LINEAGE,
    }  # fmt: skip
    for argv in (("db", "migrate"), ("dags", "test", "pulsar_backlog_audit")):
        done = subprocess.run(
            [sys.executable, "-m", "airflow", *argv],
            env=environment, cwd=home, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return home / "airflow" / "airflow.db"


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    """Of a question to Airflow's database."""
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_tasks_end_as_their_jobs_did_and_are_tried_again_where_that_may_help(database: Path) -> None:
    found = rows(database, "SELECT task_id, state, try_number FROM task_instance")
    assert {task: (state, tries) for task, state, tries in found} == {job: end for job, (_, end) in ENDINGS.items()}


def test_each_start_is_a_process_of_its_own_in_the_order_of_the_file(home: Path, database: Path) -> None:
    started = [job for job, (codes, _) in ENDINGS.items() for _ in codes.split()]
    assert (home / "started").read_text().split() == started


def test_the_report_at_the_end_makes_the_run_a_success(database: Path) -> None:
    assert rows(database, "SELECT state FROM dag_run") == [("success",)]


def test_only_tasks_that_succeeded_update_their_assets(database: Path) -> None:
    query = "SELECT a.name FROM asset_event e JOIN asset a ON a.id = e.asset_id"
    updated = {f"pulsar_backlog_audit_{job}" for job, (_, (state, _)) in ENDINGS.items() if state == "success"}
    assert {name for (name,) in rows(database, query)} == updated


@pytest.mark.parametrize("job", sorted(ENDINGS))
def test_a_job_leaves_lineage_to_airflow(home: Path, database: Path, job: str) -> None:
    """Both are given the same address, so each run would be told of twice."""
    pairs = (home / f"environment-{job}").read_text().rstrip("\0").split("\0")
    environment = dict(pair.split("=", 1) for pair in pairs)
    assert environment.items() >= LINEAGE.items()
    assert not is_wanted(environment)
    assert is_wanted({name: value for name, value in environment.items() if not name.startswith("AIRFLOW_CTX_")})
