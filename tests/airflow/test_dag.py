"""The DAG as Airflow's own DagBag reads it, and the command lines its tasks would start."""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from pathlib import Path

import pytest

from pulsar_backlog.config import load_pipelines
from pulsar_backlog.options import JOB_OPTIONS

dagbag = pytest.importorskip(
    "airflow.dag_processing.dagbag", reason="Airflow has an environment of its own: make test-airflow"
)

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def bag():
    return dagbag.DagBag(dag_folder=ROOT / "conf" / "airflow")


def command_line(task) -> str:
    """What the task would start, one argument a line, without the place of the repository."""
    command = task._get_hook()._build_spark_submit_command(task.application)
    return "".join(f"{shlex.quote(part)}\n" for part in command).replace(str(ROOT), "HOME")


def test_it_parses_without_what_jobs_need(bag) -> None:
    assert bag.import_errors == {}
    assert not {"numba", "pyarrow", "great_expectations"} & set(sys.modules)


def test_there_is_one_dag_per_pipeline(bag) -> None:
    assert {*bag.dags} == {f"pulsar_backlog_{name}" for name in load_pipelines().pipelines}
    assert bag.dags["pulsar_backlog_audit"].schedule == "0 3 * * *"
    assert bag.dags["pulsar_backlog_inventory"].schedule is None


def test_tasks_are_chained_in_the_order_of_the_file(bag) -> None:
    dag = bag.dags["pulsar_backlog_audit"]
    chain = [task.task_id for task in dag.topological_sort()]
    assert chain == [name for name in JOB_OPTIONS if name in chain]
    for before, after in itertools.pairwise(chain):
        assert dag.task_dict[after].upstream_task_ids == {before}


def test_runs_and_tasks_are_started_as_the_docs_say(bag) -> None:
    for dag_id, dag in bag.dags.items():
        assert (dag.catchup, dag.max_active_runs) == (False, 1)  # no backfill; two runs would replace the same slices
        for task in dag.tasks:
            assert (task.retries, task.trigger_rule) == (1, "all_done")
            assert [asset.name for asset in task.outlets] == [f"{dag_id}_{task.task_id}"]


def test_the_command_lines_are_golden(bag) -> None:
    rendered = {
        f"{dag_id.removeprefix('pulsar_backlog_')}.{task.task_id}.txt": command_line(task)
        for dag_id, dag in bag.dags.items()
        for task in dag.tasks
    }
    if os.environ.get("ACCEPT_GOLDEN"):  # see CONTRIBUTING.md; the diff is what is reviewed
        for name, text in rendered.items():
            (GOLDEN / name).write_text(text)
    golden = {path.name: path.read_text() for path in GOLDEN.glob("*.txt")}
    assert rendered == golden
