"""One message to people about what the audit found new, back, worse, healed or gone; none where nothing changed.

Reads: `problems`, `runs`; the addresses in the environment variable PULSAR_BACKLOG_NOTIFY, which are secrets.
Writes: nothing but its run.
Guarantees: a comparison is told once; where no address took the message, the job fails, the audit goes on to its
report, and the next run sends it. It runs before the report, which judges the whole audit and so comes last.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
import sys
from collections import Counter

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.errors import UsageError
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.output.notifications import VARIABLE, addresses, send
from pulsar_backlog.report.places import FRONT
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.exit_codes import last_run
from pulsar_backlog.runs.runs import JobResult, run_job

JOB = "notify_changes"


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, tell)


def tell(context: JobContext) -> JobResult:
    """Send what the last comparison found, where it was not sent before."""
    places = addresses()
    compared, notified = last_run(context, "compare_audits"), last_run(context, JOB)
    if not places or compared is None or (notified is not None and notified > compared):
        return JobResult("", changed=False)
    # Of no use where nobody is told.
    from pulsar_backlog.report.message import MAX_LINES, is_worth_telling, message_of  # noqa: PLC0415
    from pulsar_backlog.sql.engines import query_engine  # noqa: PLC0415

    with query_engine(context, ("problems",)) as engine:
        queries = {name: engine.sql("report", name, {"changes": MAX_LINES}) for name in ("change_counts", "changes")}
        rows = engine.rows(queries)
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows["change_counts"]:
        if not row["is_acknowledged"]:
            counts[row["change"], row["severity"]] += row["problems"]
    if not is_worth_telling(counts):
        return JobResult("", changed=False)
    link = context.options.report_url or f"{context.out.rstrip('/')}/{FRONT}"
    failed = send(places, *message_of(context.cluster, counts, rows["changes"], link))
    if len(failed) == len(places):
        raise UsageError(
            f"no address in {VARIABLE} took the message about what changed; the next audit sends it again: look "
            "whether this machine reaches the services"
        )
    for number in failed:
        sys.stderr.write(f"address {number} of {VARIABLE} did not take the message about what changed\n")
    return JobResult(compared[1])


if __name__ == "__main__":
    run_process(main)
