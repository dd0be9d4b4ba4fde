"""What a job's exit code makes of its task, and how credentials reach it; a program stands in for spark-submit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("airflow.dag_processing.dagbag", reason="Airflow has an environment of its own: make test-airflow")

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from tests.airflow.test_dag import bag

__all__ = ["bag"]  # a fixture that tests here ask for by name

# The provider leaves the pipe from spark-submit to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SECRET = "secret-of-the-store"


@pytest.fixture
def task(bag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A task of the DAG, whose `spark-submit` writes down how it was called and ends as it is told."""
    program = tmp_path / "spark-submit"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/args\nenv > {tmp_path}/env\necho said\nexit $EXIT_CODE\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = bag.dags["pulsar_backlog_audit"].get_task("scan_entries")
    found._hook = None
    return found


@pytest.mark.parametrize(
    ("code", "findings", "raised"),
    [
        (0, "", None),
        (1, "", None),  # findings are results
        (1, "fail", AirflowFailException),  # unless they are to stop the nightly run: no retry finds fewer
        (2, "", AirflowFailException),  # no retry mends an option
        (3, "", AirflowException),
        (4, "", AirflowException),  # tried again: a bucket may be there by then
        (99, "", AirflowSkipException),
        (137, "", AirflowException),
    ],
)
def test_states(task, monkeypatch: pytest.MonkeyPatch, code: int, findings: str, raised: type | None) -> None:
    monkeypatch.setenv("EXIT_CODE", str(code))
    monkeypatch.setenv("AIRFLOW_VAR_PULSAR_BACKLOG_FINDINGS", findings)
    if raised is None:
        task.execute({})
    else:
        with pytest.raises(raised) as caught:
            task.execute({})
        assert caught.type is raised  # a failure without retries is one of the failures with


def test_a_program_that_is_not_there_is_no_exit_code(task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError):
        task.execute({})


def test_credentials_stand_in_no_argument(task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = '{"endpoint_url": "http://127.0.0.1:9"}'
    connection = f'{{"conn_type": "aws", "login": "key-id", "password": "{SECRET}", "extra": {extra}}}'
    monkeypatch.setenv("AIRFLOW_CONN_PULSAR_BACKLOG_STORE", connection)
    monkeypatch.setenv("EXIT_CODE", "0")
    task.execute({})
    environment = (tmp_path / "env").read_text().splitlines()
    assert {"AWS_ACCESS_KEY_ID=key-id", f"AWS_SECRET_ACCESS_KEY={SECRET}", "AWS_ENDPOINT_URL=http://127.0.0.1:9"} <= {
        *environment
    }
    assert SECRET not in (tmp_path / "args").read_text()
    assert "AWS_SECRET_ACCESS_KEY" not in os.environ
