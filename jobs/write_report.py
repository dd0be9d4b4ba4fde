"""The report: HTML that needs no network, result.json, and the summary on the terminal.

Reads: all tables. Writes: report.html and result.json in the output folder, and repairs.html, to which it links:
`plan_repair` and `repair apply` write that page again. Where the report is more than one page holds, the topics in full
and lists of everything lie in the folder report/ beside it, which the job keeps for itself.
Guarantees: what it collects is bounded by topics, never by entries; payloads, keys and property values do not occur.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.places import FRONT, REPAIRS
from pulsar_backlog.report.terminal.again import Saved, print_again, verdict_again
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.exit_codes import exit_code
from pulsar_backlog.runs.result_file import last_result, put_back
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terminal import surely_no_terminal, terminal

if TYPE_CHECKING:
    from pulsar_backlog.report.model import ReportModel

JOB = "write_report"
INPUTS = tuple(name for name in TABLES if name != "runs")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, lambda context: write(context, show, show_again), inputs=INPUTS)


def show(report: ReportModel, as_json: bool = False) -> None:
    """The summary: words on a terminal, JSON lines elsewhere or where they are asked for."""
    from pulsar_backlog.report.result import json_lines  # noqa: PLC0415 - as in `write`
    from pulsar_backlog.report.terminal.summary import print_summary  # noqa: PLC0415

    console = terminal()
    if console.is_terminal and not as_json:
        print_summary(report, console)
        return
    for line in json_lines(report):
        sys.stdout.write(line + "\n")


def show_again(saved: Saved, as_json: bool = False) -> None:
    """The verdict of the last report, when there was nothing new to do."""
    if not as_json and not surely_no_terminal() and (console := terminal()).is_terminal:
        print_again(saved, console)
        return
    sys.stdout.write(to_json(saved) + "\n")


def write(context: JobContext, use: Callable[[ReportModel], None], again: Callable[[Saved], None]) -> JobResult:
    """Hand the report's model to `use` and write the files; if nothing changed, hand `again` the last verdict."""
    files = beside(context.out)
    inputs: dict[str, object] = {name: context.version(name) for name in INPUTS}
    digest = fingerprint(context.options, inputs)
    last = last_result(files) if is_unchanged(context, digest) else None
    is_there = last is not None and all(map(files.exists, (FRONT, REPAIRS)))
    if last is None or not is_there:
        # Templates and DuckDB: an audit without news does without.
        from pulsar_backlog.steps.report_files import write_report  # noqa: PLC0415

        write_report(context, files, use)
        return JobResult(digest, judges_all=True)
    put_back(files, last)
    acknowledged = None if context.options.known is None else exit_code(context)
    saved = verdict_again(last, context.options.fail_on, acknowledged)
    if context.options.metrics is not None:
        from pulsar_backlog.steps.report_files import write_metrics_again  # noqa: PLC0415

        write_metrics_again(context, int(saved["exit_code"]))
    again(saved)
    return JobResult(digest, changed=False)


if __name__ == "__main__":
    run_process(main)
