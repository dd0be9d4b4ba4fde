"""`audit` and `run`: the jobs of a pipeline, one after the other in one Spark session."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import Given, SourceArgument, job_options
from pulsar_backlog.config import Pipeline, job_argv, load_pipelines
from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.options import OPTIONS
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.terminal.again import Saved
from pulsar_backlog.storage.runs import run_job
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_UNCHANGED, EXIT_USAGE


@job_options(
    "out", "admin", "topic", "ledger", "since", "until", "cluster", "endpoint", "store_attempts",
    "store_timeout_seconds", "store_range_bytes", "store_concurrency", "grace_seconds", "model",
    "max_ack_ranges", "max_batch_acks", "fail_on", "exit_zero_when_unchanged", required=("out",),
)  # fmt: skip
def audit(source: SourceArgument, given: Given) -> None:
    """Audit offloaded ledgers: tables, findings and a report."""
    given = {**given, "source": absolute("source", source)}
    raise typer.Exit(run_pipeline(load_pipelines().get("audit"), given))


@job_options(*OPTIONS)
def run(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="name in pipelines.yaml", show_default=False)],
    given: Given,
) -> None:
    """Run a pipeline of pipelines.yaml, its jobs one after the other in one Spark session."""
    raise typer.Exit(run_pipeline(load_pipelines().get(pipeline), given))


def run_pipeline(pipeline: Pipeline, given: Mapping[str, object]) -> int:
    """Run the jobs of a pipeline; the worst of what they found decides the exit code, 99 when nothing was new."""
    overrides = {**given, "exit_zero_when_unchanged": None}
    lines = {entry.job: job_argv(pipeline, entry.job, overrides) for entry in pipeline.jobs}
    codes: list[int] = []
    for number, (job, argv) in enumerate(lines.items(), start=1):
        # On standard error: standard output is the result's.
        sys.stderr.write(f"[{number}/{len(lines)}] {job}\n")
        code = _run_report(argv, codes, given) if job == "write_report" else load_job(job).main(argv)
        if code in (EXIT_USAGE, EXIT_FAILED):
            return int(code)
        codes.append(code)
    return _worst(codes, given)


def _worst(codes: list[int], given: Mapping[str, object]) -> int:
    for code in (EXIT_INCOMPLETE, EXIT_FINDINGS):
        if code in codes:
            return code
    unchanged = bool(codes) and all(code == EXIT_UNCHANGED for code in codes)
    return EXIT_UNCHANGED if unchanged and not given.get("exit_zero_when_unchanged") else EXIT_CLEAN


def _run_report(argv: list[str], codes: list[int], given: Mapping[str, object]) -> int:
    """The report last: what it shows ends with the exit code of the whole. That code is what it returns."""
    job = load_job("write_report")
    seen: list[ReportModel] = []
    saved: list[Saved] = []
    code = run_job(job.JOB, job.arg_parser(), argv, lambda context: job.write(context, seen.append, saved.append))
    if saved:
        job.show_again(saved[0])
        return int(saved[0]["exit_code"])
    if not seen or code in (EXIT_USAGE, EXIT_FAILED):
        return code
    final = seen[0].exit_code if seen[0].exit_code != EXIT_CLEAN else _worst([*codes, code], given)
    job.show(replace(seen[0], exit_code=final))
    return final if final in (EXIT_FINDINGS, EXIT_INCOMPLETE) else code
