"""Tasks in processes of this machine: every input once, exceptions and deaths, nothing that outlives who asked."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.errors import SourceError
from pulsar_backlog.spark.deaths import death_words
from pulsar_backlog.tasks import beside
from pulsar_backlog.tasks.pool import TaskPool, WorkerDeathError
from pulsar_backlog.tasks.shared import SharedValue
from tests.tasks.task_examples import (
    Multiply,
    die,
    fail,
    fail_oddly,
    fail_to_load,
    load_example,
    loads,
    memory_pool,
    modules,
    wait_a_little,
    wait_for_long,
)

PARENT = """
import sys
from pulsar_backlog.tasks.pool import TaskPool
from tests.tasks.task_examples import tell_and_wait
TaskPool(1).run(tell_and_wait, sys.argv[1:])
"""


def _runs(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def two() -> Iterator[TaskPool]:
    made = TaskPool(2)
    yield made
    made.close()


def _no_session() -> SparkSession:
    raise AssertionError("a session was asked for")


def test_every_input_is_worked_on_once_and_shared_values_go_along(two: TaskPool) -> None:
    told: list[tuple[int, int]] = []
    results = two.run(Multiply(SharedValue(_no_session, 7)), range(50), told.append)
    assert sorted(number for number, _ in results) == [7 * number for number in range(50)]
    assert told == results
    again = two.run(Multiply(SharedValue(_no_session, 2)), [5, 6])  # the task before is forgotten
    assert sorted(number for number, _ in again) == [10, 12]
    assert {pid for _, pid in again} <= {pid for _, pid in results}


def test_inputs_are_worked_on_at_once(two: TaskPool) -> None:
    assert len(set(two.run(wait_a_little, range(6)))) == 2


def test_no_process_is_started_that_has_no_task(two: TaskPool) -> None:
    first = {pid for _, pid in two.run(Multiply(SharedValue(_no_session, 7)), [1])}
    assert len(two._workers) == 1
    assert two.run(fail, []) == []
    assert len(set(two.run(wait_a_little, range(6)))) == 2
    assert first < {worker.pid for worker in two._workers}
    two.run(fail, [1])
    assert len(two._workers) == 2


def test_an_exception_of_a_task_is_raised_as_it_was(two: TaskPool) -> None:
    with pytest.raises(SourceError, match="s3://b/k: not_found: gone") as raised:
        two.run(fail, range(6))
    assert raised.value.reason == "not_found"
    assert "in fail" in raised.value.__notes__[0]
    assert sorted(two.run(fail, [1, 2])) == [1, 2]


def test_an_exception_that_pickle_does_not_know_is_told_in_its_words(two: TaskPool) -> None:
    with pytest.raises(RuntimeError, match="OfItsOwnError: 1 and 2"):
        two.run(fail_oddly, [1])


def test_a_worker_that_is_ended_from_outside_is_told_as_such(two: TaskPool) -> None:
    with pytest.raises(WorkerDeathError, match="ended by SIGKILL") as raised:
        two.run(die, range(6))
    assert "a Python worker" in (death_words([raised.value]) or "")
    assert sorted(two.run(fail, [1, 2])) == [1, 2]


def test_the_end_of_the_server_of_all_workers_is_told_too(two: TaskPool) -> None:
    two.run(fail, [1])
    assert two._server is not None
    two._server._process.kill()
    with pytest.raises(WorkerDeathError, match="ended by SIGKILL"):
        two.run(wait_a_little, range(60))
    assert sorted(two.run(fail, [1, 2])) == [1, 2]


def test_workers_are_forked_by_one_process_that_has_imported_what_they_need(two: TaskPool) -> None:
    pids = set(two.run(wait_a_little, range(6)))
    assert two._server is not None
    parents = {int(Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[1]) for pid in pids}
    assert parents == {two._server._process.pid}


def test_a_pool_is_closed_at_once_while_its_first_task_is_on_the_way() -> None:
    pool = TaskPool(1)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            pool.run(wait_for_long, [0])
        except BaseException as error:
            ended.append(error)

    thread = Thread(target=run)
    thread.start()
    while not pool._workers:
        time.sleep(0.001)
    began = time.monotonic()
    pool.close()
    thread.join()
    assert time.monotonic() - began < 5
    assert isinstance(ended[0], WorkerDeathError)


def test_workers_load_neither_spark_nor_what_libraries_do_without(two: TaskPool) -> None:
    """The import of Spark takes each of them longer than most tasks."""
    (names,) = two.run(modules, [0])
    assert "pulsar_backlog.wire.kernel" in names
    assert not {"pyspark", "pandas", "scipy.linalg"} & set(names)


@pytest.mark.parametrize(("said", "used"), [(None, "system"), ("jemalloc", "jemalloc")])
def test_workers_take_memory_as_is_settled_unless_the_user_says_otherwise(
    two: TaskPool, monkeypatch: pytest.MonkeyPatch, said: str | None, used: str
) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    if said is not None:
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", said)
    assert two.run(memory_pool, [0]) == [used]


def test_others_begin_when_a_core_has_no_task_left(two: TaskPool, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    begun_after: list[int] = []
    monkeypatch.setattr(beside, "_beginnings", set())
    beside.begin_when_idle(lambda: begun_after.append(len(done)))
    two.run(fail, [])
    assert begun_after == []
    two.run(fail, range(10, 15), done.append)
    assert begun_after == [3, 4]  # when the fourth of five is there, one process has no more to do
    two.run(fail, [1])
    assert begun_after[2:] == [5, 5]


def test_a_process_apart_loads_once_and_does_what_it_is_sent(two: TaskPool) -> None:
    two.start_dedicated(load_example)
    two.start_dedicated(load_example)
    first = two.run_dedicated(load_example, Multiply(SharedValue(_no_session, 7)), 6)
    assert first[0] == 42
    workers = {pid for _, pid in two.run(Multiply(SharedValue(_no_session, 1)), range(4))}
    assert first[1] not in workers
    assert two.run_dedicated(load_example, Multiply(SharedValue(_no_session, 2)), 6) == (12, first[1])
    assert two.run_dedicated(load_example, loads, 0) == 1


def test_this_process_does_its_own_work_while_it_waits_for_one_apart(
    two: TaskPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(beside, "_own", set())
    beside.do_while_waiting(lambda: done.append("own"))
    two.run(fail, [1, 2])
    assert done == []
    two.run_dedicated(load_example, loads, 0)
    assert done == ["own"]


def test_errors_and_deaths_of_a_process_apart_are_those_of_tasks(two: TaskPool) -> None:
    with pytest.raises(SourceError, match="s3://b/k: not_found: gone"):
        two.run_dedicated(load_example, fail, 3)
    with pytest.raises(WorkerDeathError, match="ended by SIGKILL"):
        two.run_dedicated(load_example, die, 3)
    assert two.run_dedicated(load_example, fail, 1) == 1
    with pytest.raises(SourceError, match="gone"):
        two.run_dedicated(fail_to_load, fail, 1)


def test_workers_end_soon_after_who_started_them(tmp_path: Path) -> None:
    told = tmp_path / "worker"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(told)])
    deadline = time.monotonic() + 60
    while not (told.exists() and told.read_text("ascii").endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    worker = int(told.read_text("ascii"))
    assert _runs(worker)
    parent.kill()
    parent.wait()
    while _runs(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)
