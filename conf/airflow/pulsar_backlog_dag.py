"""One DAG per pipeline of `pipelines.yaml`, one SparkSubmitOperator task per job, in the file's order.

Importing reads that one file and nothing else; it needs the `pulsar_backlog` package on the path, but not
what the jobs need (Spark, numba): those belong to the Python that the Spark connection starts.

Before the first run: a Spark connection `spark_default`, and the Airflow variables `pulsar_backlog_source`
and `pulsar_backlog_out`, unless `pipelines.yaml` names source and out. Credentials come from the environment
of the worker, never from arguments.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from pulsar_backlog.config import Pipeline, home, job_argv, load_pipelines
from pulsar_backlog.options import Options

FROM_VARIABLES = Options(source="{{ var.value.pulsar_backlog_source }}", out="{{ var.value.pulsar_backlog_out }}")
# A task fails on any exit code but 0. Findings are results, not failures; so is "nothing new to do".
RESULTS_ARE_NOT_FAILURES = {"fail_on": "never", "exit_zero_when_unchanged": True}


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
            task = SparkSubmitOperator(
                task_id=job.job,
                application=str(home() / "jobs" / f"{job.job}.py"),
                application_args=job_argv(pipeline, job.job, RESULTS_ARE_NOT_FAILURES),
                conf=dict(pipeline.spark),
                properties_file=str(home() / "conf" / "spark" / "submit.conf"),
                name=f"pulsar-backlog-{name}-{job.job}",
                # What one job could not read must not keep the report away; the last job's exit code tells of it.
                trigger_rule="all_done",
            )
            if previous is not None:
                previous >> task
            previous = task
    return dag


_pipelines = load_pipelines()
for _name in _pipelines.pipelines:
    globals()[f"pulsar_backlog_{_name}"] = build(_name, _pipelines.get(_name))
