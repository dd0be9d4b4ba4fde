"""`audit` and `run`: the jobs of a pipeline, one after the other in one Spark session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute, complete_options
from pulsar_backlog.commands.options import (
    ConfigOption,
    Given,
    JsonOption,
    MaybeSourceArgument,
    VerboseOption,
    job_options,
)
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import OPTIONS, Options, given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terms import (
    EXIT_CLEAN,
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_UNCHANGED,
    EXIT_USAGE,
)

_STOPPED = (EXIT_USAGE, EXIT_FAILED, EXIT_INTERRUPTED)
"""Exit codes of a job after which no other job runs."""
_LISTS = "inventory_ledgers"
"""The job that lists the source."""
_REPORTS = "write_report"
_TELLS = "notify_changes"
"""The job without which an audit goes on: its report matters more than that nobody could be told."""
_SCANS = "scan_entries"
"""The job that reads the source."""
_CHECKS = "check_quality"
"""The job that needs Great Expectations."""

if TYPE_CHECKING:
    from pulsar_backlog.config import Pipeline
    from pulsar_backlog.report.model import ReportModel
    from pulsar_backlog.report.terminal.again import Saved
    from pulsar_backlog.runs.context import JobContext
    from pulsar_backlog.runs.runs import JobResult


@job_options(*COMMAND_OPTIONS["audit"])
def audit(
    given: Given,
    source: MaybeSourceArgument = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Audit offloaded ledgers, or live topics: tables, findings and a report."""
    from pulsar_backlog.config import configured
    from pulsar_backlog.ledgers.live.service import is_service

    pipeline = configured(config).get("audit")
    if source is None and pipeline.options.source is None:
        raise UsageError("SOURCE is missing: name the folder or bucket that holds the offloaded ledgers")
    if source is not None:
        given = {**given, "source": absolute("source", source)}
    options = given_options(given).over(pipeline.options)
    if is_service(options.source or "") or options.live:
        from pulsar_backlog.runs.apart import check_apart
        from pulsar_backlog.steps.live_snapshots import with_snapshot

        check_apart(options.source, options.out)
        given = {**given, **with_snapshot(options)}
    raise typer.Exit(run_pipeline(pipeline, given, "audit", as_json=as_json))


@job_options(*OPTIONS)
def run(
    pipeline: Annotated[
        str, typer.Argument(metavar="PIPELINE", help="name in pipelines.yaml or --config", show_default=False)
    ],
    given: Given,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a pipeline of pipelines.yaml, its jobs one after the other in one Spark session."""
    from pulsar_backlog.config import configured

    raise typer.Exit(run_pipeline(configured(config).get(pipeline), given, as_json=as_json))


def run_pipeline(
    pipeline: Pipeline, given: Mapping[str, object], command: str = "run", *, as_json: bool = False
) -> int:
    """Run the jobs of a pipeline; the worst of what they found decides the exit code, 99 when nothing was new.

    Args:
        pipeline: as `Pipelines.get` returns it.
        given: options that win over the pipeline's.
        command: what holds the output folder from the first job to the last.
        as_json: whether the result is JSON lines on a terminal too.
    """
    from pulsar_backlog.config import layered_options
    from pulsar_backlog.ledgers.buckets.addresses import results_at
    from pulsar_backlog.runs.claims import claimed
    from pulsar_backlog.runs.endings import ending
    from pulsar_backlog.runs.run_folder import one_run

    who = f"pulsar-backlog {command}"

    def run_all() -> int:
        overrides = {**given, "exit_zero_when_unchanged": None}
        jobs = {
            entry.job: complete_options(entry.job, layered_options(pipeline, entry.job, overrides))
            for entry in pipeline.jobs
        }
        options = given_options(overrides).over(pipeline.options)
        with results_at(options.out, options.endpoint, options.source):
            _look_first(jobs)
            with claimed(options.out, who), one_run():
                from pulsar_backlog.forgone_modules import forgo_pandas

                forgo_pandas()
                from pulsar_backlog.spark.choice import choose

                choose(pipeline.spark)
                return _run_as_one(jobs, given, as_json)

    return ending(who, run_all)


def _look_first(jobs: Mapping[str, Options]) -> None:
    """Refuse before Spark is imported what a later job would refuse; that looks again when it runs by itself."""
    from pulsar_backlog.arguments import scope_of, source_of
    from pulsar_backlog.cluster.required_state import look_at_admin
    from pulsar_backlog.ledgers.buckets.addresses import is_output_bucket
    from pulsar_backlog.ledgers.first_look import look_at, look_at_results
    from pulsar_backlog.runs.apart import check_apart

    for job, options in jobs.items():
        check_apart(options.source, options.out)
        check_apart(options.source, options.to, "--to")
        if job in _REFUSALS:
            _REFUSALS[job](options)
    if (listing := jobs.get(_LISTS)) is not None:
        look_at_admin(listing.admin)
        look_at(source_of(listing), scope_of(listing))
    for out in {options.out or "" for options in jobs.values()}:
        if is_output_bucket(out):
            look_at_results(out)


def _refuse_export(options: Options) -> None:
    from pulsar_backlog.messages.keys import KeySource

    KeySource(options.private_keys).ring()


def _refuse_plan(options: Options) -> None:
    from pulsar_backlog.steps.plan_choices import choices_of

    choices_of(options, None)


_REFUSALS: Mapping[str, Callable[[Options], None]] = {"export_messages": _refuse_export, "plan_repair": _refuse_plan}
"""What raises `UsageError` where a job could not do what its options say."""


def _run_as_one(jobs: Mapping[str, Options], given: Mapping[str, object], as_json: bool) -> int:
    """The jobs, with a result that says until the last one that there is none yet, where they make one."""
    from pulsar_backlog.runs.result_file import attempt
    from pulsar_backlog.runs.runs import now

    if _REPORTS not in jobs:
        return _run_jobs(jobs, given, as_json)
    options = jobs[_REPORTS]
    with attempt(options.out, None, options.cluster or "", now(), makes=True) as made:
        code = _run_jobs(jobs, given, as_json)
        if made is not None and (code in _STOPPED or code == EXIT_INCOMPLETE):
            made.stop(code)
    return code


def _run_jobs(jobs: Mapping[str, Options], given: Mapping[str, object], as_json: bool) -> int:
    from pulsar_backlog.jobfiles import load_job
    from pulsar_backlog.progress import elapsing
    from pulsar_backlog.quality.rule_worker import start_rule_worker
    from pulsar_backlog.tasks.beside import begin_when_idle, do_while_waiting

    began = datetime.now(UTC)
    if _CHECKS in jobs:
        begin_when_idle(start_rule_worker)
    if _REPORTS in jobs:
        do_while_waiting(_load_report)
    if _SCANS in jobs:
        _begin_first_scan(jobs[_SCANS])
    codes: list[int] = []
    for number, (job, options) in enumerate(jobs.items(), start=1):
        # On standard error: standard output is the result's.
        label = f"[{number}/{len(jobs)}] {job}"
        sys.stderr.write(f"{label}\n")
        with elapsing(label):
            if job == _REPORTS:
                code = _run_report(options, codes, given, as_json, began)
            else:
                code = load_job(job).main(options)
        if code in _STOPPED and not (job == _TELLS and code != EXIT_INTERRUPTED):
            return int(code)
        codes.append(code)
    return _worst(codes, given)


def _load_report() -> None:
    from pulsar_backlog.report.html import load_templates
    from pulsar_backlog.steps import report_files  # noqa: F401 - so that the last job has it

    load_templates()


def _begin_first_scan(scan: Options) -> None:
    """Let what a first scan needs be imported while the source is listed: that takes a second."""
    from pulsar_backlog.spark.choice import needs_session
    from pulsar_backlog.tableio.table_logs import log_without_spark
    from pulsar_backlog.tables import TABLES
    from pulsar_backlog.tasks.pool import own_pool

    books = log_without_spark(scan.out, TABLES["scans"]) if scan.out and not needs_session() else None
    if books is not None and books.version < 0:
        own_pool().start(1)


def _worst(codes: list[int], given: Mapping[str, object]) -> int:
    for code in (EXIT_INCOMPLETE, EXIT_FINDINGS, EXIT_USAGE, EXIT_FAILED):
        if code in codes:
            return code
    unchanged = bool(codes) and all(code == EXIT_UNCHANGED for code in codes)
    return EXIT_UNCHANGED if unchanged and not given.get("exit_zero_when_unchanged") else EXIT_CLEAN


def _run_report(options: Options, codes: list[int], given: Mapping[str, object], as_json: bool, began: datetime) -> int:
    """The report last: what it shows ends with the exit code of the whole. That code is what it returns."""
    from pulsar_backlog.jobfiles import load_job
    from pulsar_backlog.runs.runs import run_job

    job = load_job(_REPORTS)
    seen: list[ReportModel] = []
    saved: list[Saved] = []

    def write(context: JobContext) -> JobResult:
        result: JobResult = job.write(replace(context, audit_started=began), seen.append, saved.append)
        return result

    code = run_job(job.JOB, job.arg_parser(), options, write, inputs=job.INPUTS)
    if saved and EXIT_INCOMPLETE in codes:
        return EXIT_INCOMPLETE  # a job could not read what it needs, and has said so
    if saved:
        job.show_again(saved[0], as_json)
        return int(saved[0]["exit_code"])
    if not seen or code in _STOPPED:
        return code
    final = seen[0].exit_code if seen[0].exit_code != EXIT_CLEAN else _worst([*codes, code], given)
    job.show(replace(seen[0], exit_code=final), as_json)
    return final if final in (EXIT_FINDINGS, EXIT_INCOMPLETE) else code
