"""Tables kept small: rows of what is long gone removed, small files joined, files that nobody reads deleted.

Reads: all tables. Of rows: `gone_ledgers`, `problems`, `changes`, `saved_states`, `runs`.
Writes: the same tables, and what it did as `maintenance` into result.json.
Guarantees: no row goes but of what was gone `--keep-days` ago; exports and repair plans stay. A file is deleted when no
version of the last `--retention-hours` reads it, so that a reader who began before goes on. Killed at any point nothing
is lost, and the next run does what is left. No audit writes to a folder meanwhile.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
from collections.abc import Callable

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.report.maintenance import Maintenance
from pulsar_backlog.report.terminal.maintenance import print_maintenance
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.result_file import add_to_result
from pulsar_backlog.runs.runs import JobResult, run_job
from pulsar_backlog.steps.maintenance import maintain
from pulsar_backlog.tableio.beside import beside, is_reached

JOB = "maintain_tables"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, lambda context: carry_out(context, print_maintenance))


def carry_out(context: JobContext, use: Callable[[Maintenance], None]) -> JobResult:
    """Do what is due, and hand what was done to `use`."""
    done = maintain(context)
    use(done)
    if done.dry_run or not done.tables:
        return JobResult("", changed=False)
    if is_reached(context.out):
        add_to_result(beside(context.out), "maintenance", done.record())
    return JobResult("", rows={one.table: one.rows_removed for one in done.tables if one.rows_removed})


if __name__ == "__main__":
    run_process(main)
