"""One DAG per pipeline of `pipelines.yaml`, one SparkSubmitOperator task per job, in the file's order.

Importing reads that one file and nothing else; it needs the `pulsar_backlog` package on the path, but not
what the jobs need (Spark, numba): those belong to the Python that the tasks start.

Before the first run: a connection `spark_default`, and the Airflow variables below; docs/cluster.md tells more.
Credentials of buckets come from the connection `pulsar_backlog_store` where there is one, else from the worker's
environment: tasks hand them to spark-submit in its environment, never in arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.exceptions import AirflowException, AirflowNotFoundException
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Asset, BaseHook, Variable
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from pulsar_backlog.config import Pipeline, home, job_argv, load_pipelines
from pulsar_backlog.options import Options

STORE = "pulsar_backlog_store"
"""Connection of type `aws`: login and password are access key and secret; extras `aws_session_token`, `endpoint_url`
and `region_name`, as in Airflow's own."""


def _variable(name: str, default: str = "") -> str:
    return f"{{{{ var.value.get('pulsar_backlog_{name}', '{default}') }}}}"


FROM_VARIABLES = Options(
    source="{{ var.value.pulsar_backlog_source }}",
    out="{{ var.value.pulsar_backlog_out }}",
    admin=_variable("admin"),
    audit_a=_variable("audit_a"),
    audit_b=_variable("audit_b"),
)
"""Where `pipelines.yaml` names none; without `pulsar_backlog_admin` no subscription is looked at."""
SENT_ALONG = {
    "py_files": _variable("py_files"),  # dist/pulsar_backlog-VERSION.zip
    "jars": _variable("jars"),  # what `pulsar-backlog jars s3a` prints
}
ENVIRONMENT = {
    "spark.archives": _variable("archives"),  # environment.tar.gz#environment, where executors have no environment
    "spark.pyspark.python": _variable("python", "python3.11"),  # ./environment/bin/python of the archive
    "spark.pyspark.driver.python": _variable("driver_python", "python3.11"),
}
FINDINGS = "pulsar_backlog_findings"
"""Variable: `fail` lets a task fail whose job found what `fail_on` names; otherwise findings are results."""

_CLEAN, _FINDINGS, _USAGE, _INCOMPLETE, _UNCHANGED = 0, 1, 2, 4, 99


class JobOperator(SparkSubmitOperator):
    """A job whose exit code decides the state of its task.

    0: success. 1 (findings): success, or failed for good. 2 (an option, the configuration): failed for good. 4
    (something was unreadable) and all others: failed, and tried again. 99 (nothing new): skipped.
    """

    def execute(self, context: Any) -> None:
        """Run the job."""
        with _environment(self.conf["spark.pyspark.driver.python"]):
            code = self._code(context)
        if code == _UNCHANGED:
            raise AirflowSkipException(f"{self.task_id}: nothing new to do")
        if code == _USAGE:
            raise AirflowFailException(f"{self.task_id}: an option or the environment must be changed, see above")
        if code == _FINDINGS and Variable.get(FINDINGS, default="") == "fail":
            raise AirflowFailException(f"{self.task_id}: findings, as pipelines.yaml asks with fail_on")
        if code not in (_CLEAN, _FINDINGS):
            what = "something could not be read" if code == _INCOMPLETE else f"exit code {code}"
            raise AirflowException(f"{self.task_id}: {what}, see above")
        out = self.application_args[self.application_args.index("--out") + 1]
        self.log.info("Tables, and after the last task the report (report.html, result.json), lie in %s", out)

    def _code(self, context: Any) -> int:
        try:
            super().execute(context)
        except AirflowException:
            process = getattr(self._hook, "_submit_sp", None)
            if process is None or not process.returncode:
                raise  # it was not even started
            return int(process.returncode)
        return _CLEAN


@contextmanager
def _environment(python: str) -> Iterator[None]:
    """What spark-submit needs in the environment of this task's process: the store's credentials, and a path.

    Args:
        python: of the driver. Airflow has a package `pyspark` without Spark, which spark-submit would take for its own
            where Airflow's `python3` comes first; what lies beside the driver's Python comes first here.
    """
    before = dict(os.environ)
    os.environ.update(_credentials())
    if Path(python).is_absolute():
        os.environ["PATH"] = f"{Path(python).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _credentials() -> dict[str, str]:
    """The store's, by variable; none where there is no connection."""
    try:
        found = BaseHook.get_connection(STORE)
    except AirflowNotFoundException:
        return {}
    extra = found.extra_dejson
    given = {
        "AWS_ACCESS_KEY_ID": found.login,
        "AWS_SECRET_ACCESS_KEY": found.password,
        "AWS_SESSION_TOKEN": extra.get("aws_session_token"),
        "AWS_ENDPOINT_URL": extra.get("endpoint_url"),
        "AWS_REGION": extra.get("region_name"),
    }
    return {name: value for name, value in given.items() if value}


def build(name: str, pipeline: Pipeline) -> DAG:
    """The DAG of one pipeline."""
    pipeline = pipeline.model_copy(update={"options": pipeline.options.over(FROM_VARIABLES)})
    with DAG(
        dag_id=f"pulsar_backlog_{name}",
        description=pipeline.description,
        schedule=pipeline.schedule,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,  # a run audits what lies in the source now, whatever its date
        max_active_runs=1,  # two runs would replace the same slices
        default_args={"retries": 1, "retry_delay": timedelta(minutes=5)},  # a killed job can start again
        tags=["pulsar-backlog"],
    ) as dag:
        previous = None
        for job in pipeline.jobs:
            task = JobOperator(
                task_id=job.job,
                application=str(home() / "jobs" / f"{job.job}.py"),
                application_args=job_argv(pipeline, job.job, {}),
                conf=ENVIRONMENT | dict(pipeline.spark),
                properties_file=str(home() / "conf" / "spark" / "submit.conf"),
                name=f"pulsar-backlog-{name}-{job.job}",
                outlets=[Asset(f"pulsar_backlog_{name}_{job.job}")],  # a DAG of yours may wait for it
                # What one job could not read must not keep the report away; the last job's exit code tells of it.
                trigger_rule="all_done",
                **SENT_ALONG,
            )
            if previous is not None:
                previous >> task
            previous = task
    return dag


_pipelines = load_pipelines()
for _name in _pipelines.pipelines:
    globals()[f"pulsar_backlog_{_name}"] = build(_name, _pipelines.get(_name))
